import numpy as np
import pytest

from bdnn.encoding import Column, Encoder
from bdnn.encoding.table import list_rows
from bdnn.errors import DataError, ModelError
from tests.datasets.reading import table

COLORS = "age,color,y\n1,red,0\n2,blue,1\n3,red,1\n"


def learn(text, target=-1, **options):
    read = table(text)
    return Encoder.learn(read, read.position(target), **options)


def test_one_hot():
    encoder = learn(COLORS)
    assert encoder.feature_names == ("age", "color=blue", "color=red")
    X, notes = encoder.features(table(COLORS))
    assert X.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert encoder.places() == [[0], [1, 2]]
    assert notes == ["took no input from the column 'y'"]


def test_target_anywhere():
    encoder = learn("y,a,b\n0,1,2\n1,3,4\n", target="y")
    assert encoder.feature_names == ("a", "b")


def test_columns_by_name():
    X, notes = learn(COLORS).features(table("color,name,age\nred,Ann,7\nblue,Bob,8\n"))
    assert X.tolist() == [[7, 0, 1], [8, 1, 0]]
    assert notes == ["took no input from the column 'name'"]


@pytest.mark.parametrize("target", [1, 3])
def test_columns_by_place(target):
    encoder = learn("1,2,0\n3,4,1\n5,6,0\n", target=target)
    features = [[2, 0], [4, 1], [6, 0]] if target == 1 else [[1, 2], [3, 4], [5, 6]]
    with_target, notes = encoder.features(table("1,2,0\n3,4,1\n5,6,0\n"), target - 1)
    assert with_target.tolist() == features
    assert notes == [f"ignored column {target}, the place of the target"]
    X, notes = encoder.features(table("7,8\n9,0\n"))
    assert X.tolist() == [[7, 8], [9, 0]]
    assert notes == []


def test_names_on_one_side_only():
    X, notes = learn(COLORS).features(table("4,red\n5,blue\n6,red\n"))
    assert X.tolist() == [[4, 0, 1], [5, 1, 0], [6, 0, 1]]
    assert notes == ["took the columns by their place, for want of names to compare"]


def test_numbers_as_categories():
    """A column that was text in training is text later, even if it then looks like numbers."""
    encoder = learn("size,y\n1,0\n2,1\nbig,0\n2,1\n")
    assert encoder.feature_names == ("size=1", "size=2", "size=big")
    X, _ = encoder.features(table("size\n2\n1\n"))
    assert X.tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(("rule", "fill"), [("mean", 3.0), ("median", 2.0), ("most-frequent", 1.0)])
def test_filling(rule, fill):
    text = "a,b,y\n1,x,0\n1,,1\n,z,0\n3,z,1\n7,x,0\n"
    encoder = learn(text, missing=rule)
    assert encoder.columns[0].fill == fill
    assert encoder.columns[1].fill == "x"  # as frequent as z, and first
    X, _ = encoder.features(table(text))
    assert X[2].tolist() == [fill, 0, 1]
    assert X[1].tolist() == [1, 1, 0]
    later, _ = encoder.features(table("a,b\nNA,?\n"))
    assert later.tolist() == [[fill, 1, 0]]


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
    read = table(ROWS.replace(old, new))
    with pytest.raises(DataError, match=message):
        Encoder.learn(read, 2).features(read)


def test_stray_text_in_the_first_row():
    with pytest.raises(DataError, match="the text 'z' in row 1: correct it, or say --header"):
        learn(ROWS.replace("a,b,y", "z,8,9"))


def test_decimal_comma():
    with pytest.raises(DataError, match="decimal comma such as '1,5': write them with a point"):
        learn("1,5;2;0\n2,25;3;1\n3;4;0\n")


def test_column_without_values():
    with pytest.raises(DataError, match=r"column 'b' of t.csv has no values at all"):
        learn("a,b,y\n1,,0\n2,,1\n", missing="mean")


def test_names_are_no_categories():
    text = "name,y\n" + "".join(f"person {i},{i % 2}\n" for i in range(300))
    with pytest.raises(DataError, match="300 different texts, more than the 200"):
        learn(text)


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
        learn(COLORS).features(table(text))


def test_unknown_rule():
    with pytest.raises(ModelError, match="missing must be 'mean'"):
        learn(COLORS, missing="zero")


def test_features_are_scaled_by_their_own_numbers():
    encoder = learn(COLORS).scaled_by([2.0, 0.5, 0.5], [1.0, 2.0, 4.0], 0.25)
    X, _ = encoder.features(table(COLORS))
    assert encoder.transform(X).tolist() == [[-1, -1, 2], [0, 1, -2], [1, -1, 2]]
    assert [number.value for number in encoder.numbers] == [None, "blue", "red"]
    for j in range(3):
        assert np.array_equal(encoder.transform_feature(j, X[:, j]), encoder.transform(X)[:, j])


def test_features_without_names():
    encoder = Encoder.of_features(2)
    assert encoder.columns == (Column("x1"), Column("x2"))
    assert (encoder.header, Encoder.of_features(2, ("a", "b")).header) == (False, True)


def test_rows_in_words():
    assert list_rows(np.array([0, 1, 0], dtype=bool)) == "row 2"
    assert list_rows(np.array([1, 1], dtype=bool)) == "rows 1 and 2"
    assert list_rows(np.ones(6, dtype=bool)) == "rows 1, 2, 3, 4, 5 and 6"
    assert list_rows(np.ones(30, dtype=bool)) == "rows 1, 2, 3, 4, 5, 6 and 24 more"
