import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder, Inputs, Number, learn_columns, note_gaps, read_codes
from bdnn.encoding.table import list_rows
from bdnn.errors import DataError, ModelError
from bdnn.network.architecture import WeightSet
from tests.datasets.reading import table

TERNARY = WeightSet.parse("ternary")
COLORS = "age,color,y\n1,red,0\n2,blue,1\n3,red,1\n"


def learn(text, target=-1, encode="scaled", **options):
    read = table(text)
    inputs = Inputs(encode, **{"scale": None, **options})
    columns, codes = learn_columns(read, inputs, target=read.position(target))
    return Encoder.learn(codes, columns, inputs, weights=TERNARY, header=read.header)


def test_texts_are_numbers_of_their_own():
    encoder = learn(COLORS)
    assert encoder.names == ("age", "color")
    assert encoder.input_names == ("age", "color = blue", "color = red")
    codes, notes = read_codes(encoder, table(COLORS))
    assert codes.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert encoder.transform(codes).tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert encoder.column_of.tolist() == [0, 1, 1]
    assert notes == ["took no input from the column 'y'"]


def test_target_anywhere():
    assert learn("y,a,b\n0,1,2\n1,3,4\n", target="y").names == ("a", "b")


def test_columns_by_name():
    codes, notes = read_codes(learn(COLORS), table("color,name,age\nred,Ann,7\nblue,Bob,8\n"))
    assert codes.tolist() == [[7, 1], [8, 0]]
    assert notes == ["took no input from the column 'name'"]


@pytest.mark.parametrize("target", [1, 3])
def test_columns_by_place(target):
    encoder = learn("1,2,0\n3,4,1\n5,6,0\n", target=target)
    features = [[2, 0], [4, 1], [6, 0]] if target == 1 else [[1, 2], [3, 4], [5, 6]]
    with_target, notes = read_codes(encoder, table("1,2,0\n3,4,1\n5,6,0\n"), target - 1)
    assert with_target.tolist() == features
    assert notes == [f"column {target} is left out, as the place of the target in training"]
    codes, notes = read_codes(encoder, table("7,8\n9,0\n"))
    assert codes.tolist() == [[7, 8], [9, 0]]
    assert notes == []


def test_names_on_one_side_only():
    codes, notes = read_codes(learn(COLORS), table("4,red\n5,blue\n6,red\n"))
    assert codes.tolist() == [[4, 1], [5, 0], [6, 1]]
    assert notes == ["took the columns by their place, for want of names to compare"]


def test_numbers_as_categories():
    """A column that was text in training is text later, even if it then looks like numbers."""
    encoder = learn("size,y\n1,0\n2,1\nbig,0\n2,1\n")
    assert encoder.columns[0].values == ("1", "2", "big")
    codes, _ = read_codes(encoder, table("size\n2\n1\n2.0\n"))
    assert codes.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize("cell", ["2", "2.0", "02"])
def test_a_column_of_numbers_that_is_named_a_category(cell):
    encoder = learn(f"zip,y\n{cell},0\n10,1\n2.50,0\n", categories=["zip"])
    assert encoder.columns[0].values == ("10", "2", "2.5")
    assert read_codes(encoder, table("zip\n2\n"))[0].tolist() == [[1]]


def test_truth_values():
    encoder = learn("a,b,y\nTrue,true,0\nFALSE,false,1\n,true,1\n", encode="both")
    assert [column.kind for column in encoder.columns] == ["boolean", "boolean"]
    codes, _ = read_codes(encoder, table("a,b\nfalse,1\n?,0\n"))
    np.testing.assert_array_equal(codes, [[0, 1], [np.nan, 0]])
    assert encoder.bits == (Bit(0, "ge", 1.0), Bit(0, "missing"), Bit(1, "ge", 1.0))
    assert encoder.input_names[2:] == ("a", "a is missing", "b")
    with pytest.raises(DataError, match="is true or false, got 'maybe' in row 2: correct"):
        read_codes(encoder, table("a,b\nfalse,1\nmaybe,0\n"))


@pytest.mark.parametrize(("rule", "fill"), [("mean", 3.0), ("median", 2.0), ("most-frequent", 1.0)])
def test_filling(rule, fill):
    text = "a,b,y\n1,x,0\n1,,1\n,z,0\n3,z,1\n7,x,0\n"
    encoder = learn(text, missing=rule)
    assert (encoder.columns[0].fill, encoder.columns[0].missing) == (fill, "fill")
    assert encoder.columns[1].fill == "x"  # as frequent as z, and first
    later, notes = read_codes(encoder, table("a,b\nNA,?\n"))
    assert np.isnan(later).all()
    assert notes == []
    assert encoder.transform(later).tolist() == [[fill, 1, 0]]


def test_missing_values_have_a_bit_of_their_own():
    text = "a,b,c,y\n1,x,1,0\n1,,2,1\n,z,3,0\n3,z,4,1\n7,x,5,0\n2,x,5,0\n"
    encoder = learn(text, encode="cuts", cuts=2)
    assert [column.missing for column in encoder.columns] == ["bit", "bit", "none"]
    assert encoder.input_names == (
        *("a >= 2", "a >= 3", "a is missing"),
        *("b = x", "b = z", "b is missing", "c >= 3", "c >= 5"),
    )
    codes = np.array([[np.nan, np.nan, np.nan], [3.0, -1.0, 3.0]])
    # Nothing but the bit is on; a column that had no gaps counts as its median, 3.5.
    assert encoder.transform(codes).tolist() == [[0, 0, 1, 0, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0, 1, 0]]
    assert note_gaps(encoder, codes) == [
        "filled 1 missing values of column 'c', which had none in training, with 3.5"
    ]
    some = encoder.subset(np.array([0, 3]))
    assert some.transform(codes).tolist() == [[0, 0], [1, 0]]
    assert some.columns == encoder.columns


def test_rows_without_weight_do_not_count():
    codes = np.array([[1.0], [2.0], [100.0], [np.nan]])
    columns = Encoder.of_features(1).columns
    weight = np.array([1.0, 3.0, 0.0, 0.0])
    encoder = Encoder.learn(codes, columns, Inputs("cuts"), weights=TERNARY, sample_weight=weight)
    assert encoder.bits == (Bit(0, "ge", 2.0),)
    assert encoder.columns[0].missing == "none"


def test_rare_and_constant_texts_have_no_bit():
    codes = np.array([[0.0, 0.0, 0.0]] * 5 + [[1.0, 0.0, 1.0]] + [[-1.0, 0.0, 2.0]] * 4)
    columns = [Column(name, "category", ("u", "v", "w")) for name in "abc"]
    encoder = Encoder.learn(codes, columns, Inputs("cuts"), weights=TERNARY)
    assert encoder.input_names == ("a = u", "c = u", "c = w")


def test_the_most_frequent_texts_are_told_apart():
    text = "name,y\n" + "".join(f"person {i % 70},{i % 2}\n" for i in range(300))
    encoder = learn(text)
    assert len(encoder.columns[0].values) == 64
    assert "person 19" in encoder.columns[0].values  # 20 of them are there once more
    codes, notes = read_codes(encoder, table("name\nsomeone\nperson 3\n"))
    assert codes[0] == -1
    assert codes[1] >= 0
    assert notes == [
        "column 'name' holds 1 values that were not learned, such as 'someone': they count as none "
        "of the known ones"
    ]
    assert not encoder.transform(codes)[0].any()


def test_fewer_cuts_where_there_are_too_many_bits():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(100, 3))
    columns = Encoder.of_features(3).columns
    encoder = Encoder.learn(codes, columns, Inputs("cuts", max_bits=20), weights=TERNARY)
    assert encoder.n_bits == 12
    with pytest.raises(ModelError, match="3 columns need at least 3 bits, more than max_bits"):
        Encoder.learn(codes, columns, Inputs("cuts", max_bits=2), weights=TERNARY)


ROWS = "a,b,y\n" + "".join(f"{i},{i * i},{i % 2}\n" for i in range(20))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n3,9,", "\n3,,", r"column 'b' of t.csv has no value in row 4: remove"),
        ("\n3,9,", "\n3,NaN,", r"has no value in row 4"),
        ("\n3,9,", "\n3,inf,", r"column 'b' of t.csv is infinite in row 4: correct"),
        ("\n3,9,", "\n3,-1e999,", r"is infinite in row 4"),
        ("\n3,9,", "\n3,1e300,", r"is beyond 1e\+100 in row 4"),
        ("\n3,9,", "\n3,abc,", r"has numbers but the text 'abc' in row 4: correct or empty it"),
        ("\n3,9,", '\n3,"1,5",', r"the text '1,5' in row 4"),
    ],
)
def test_bad_cells(old, new, message):
    with pytest.raises(DataError, match=message):
        learn(ROWS.replace(old, new), missing="error")


def test_stray_text_in_the_first_row():
    with pytest.raises(DataError, match="the text 'z' in row 1: correct it, or say --header"):
        learn(ROWS.replace("a,b,y", "z,8,9"))


def test_decimal_comma():
    with pytest.raises(DataError, match="decimal comma such as '1,5': write them with a point"):
        learn('"1,5",2,0\n"2,25",3,1\n3,4,0\n')
    codes, notes = read_codes(learn("1,5;2;0\n2,25;3;1\n3;4;0\n"), table("-0,5;2\n,25;3\n7;4\n"))
    assert codes.tolist() == [[-0.5, 2], [0.25, 3], [7, 4]]
    assert notes == ["numbers are read with a decimal comma: -0,5 is -0.5"]


def test_dates_are_no_inputs():
    text = "day,a,y\n2024-01-02,1,0\n2024-02-03,2,1\n"
    with pytest.raises(DataError, match=r"dates or times.*Inputs\(drop=\['day'\]\) or --drop"):
        learn(text)
    assert learn(text, drop=["day"]).names == ("a",)
    assert learn(text, drop=[0]).names == ("a",)


def test_column_without_values():
    with pytest.raises(DataError, match=r"column 'b' of t.csv has no values at all: drop it"):
        learn("a,b,y\n1,,0\n2,,1\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,color\n1,green\n2,red\n3,green\n", "holds 'green' in rows 1 and 3, which did not"),
        ("age,color\n1,red\nold,red\n", "column 'age' of t.csv has numbers but the text 'old'"),
        ("age,color\n1,red\n2,\n", "column 'color' of t.csv has no value in row 2"),
        ("age,y\n1,1\n2,0\n", "lacks the column 'color' that the model needs"),
        ("a,b\n1,1\n2,0\n", "lacks the columns 'age', 'color'"),
        ("1,red,0,5\n2,blue,1,6\n", "has 4 columns where the model needs 2"),
    ],
)
def test_prediction_table_that_does_not_fit(text, message):
    with pytest.raises(DataError, match=message):
        read_codes(learn(COLORS, missing="error", unknown="error"), table(text))


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "zero"},
        {"encode": "bits"},
        {"unknown": "other"},
        {"cuts": 0},
        {"cuts": 2.0},
        {"max_bits": 10**9},
        {"drop": "a"},
        {"categories": [1.5]},
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(ModelError, match=f"{next(iter(options))} must be"):
        Inputs(**options)


def test_a_column_to_drop_that_is_not_there():
    with pytest.raises(DataError, match="drop names the column 'size', which"):
        learn(COLORS, drop=["size"])


def test_constant_columns_tell_nothing_apart():
    with pytest.raises(DataError, match="every column is constant"):
        learn("a,y\n1,0\n1,1\n", encode="cuts")


def test_features_are_scaled_by_their_own_numbers():
    encoder = learn(COLORS).scaled_by([2.0, 0.5, 0.5], [1.0, 2.0, 4.0], 0.25)
    codes, _ = read_codes(encoder, table(COLORS))
    assert encoder.transform(codes).tolist() == [[-1, -1, 2], [0, 1, -2], [1, -1, 2]]
    assert [number.value for number in encoder.numbers] == [None, "blue", "red"]
    features = encoder.features(codes)
    for j in range(3):
        scaled = encoder.transform_feature(j, features[:, j])
        assert np.array_equal(scaled, encoder.transform(codes)[:, j])


def test_features_without_names():
    encoder = Encoder.of_features(2)
    assert encoder.columns == (Column("x1"), Column("x2"))
    assert encoder.numbers == (Number(0), Number(1))
    assert (encoder.header, Encoder.of_features(2, ("a", "b")).header) == (False, True)


def test_rows_in_words():
    assert list_rows(np.array([0, 1, 0], dtype=bool)) == "row 2"
    assert list_rows(np.array([1, 1], dtype=bool)) == "rows 1 and 2"
    assert list_rows(np.ones(6, dtype=bool)) == "rows 1, 2, 3, 4, 5 and 6"
    assert list_rows(np.ones(30, dtype=bool)) == "rows 1, 2, 3, 4, 5, 6 and 24 more"
