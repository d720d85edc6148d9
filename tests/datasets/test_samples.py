import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn import datasets
from bdnn.datasets import Samples
from bdnn.datasets.samples import read_labels, split_holdout
from bdnn.encoding import Inputs
from bdnn.errors import DataError, ModelError
from tests.datasets.reading import table


def test_last_column_is_the_target():
    samples = Samples.from_table(table("a,b,y\n1,2,0\n3,4,1\n"))
    assert samples.X.tolist() == [[1, 2], [3, 4]]
    assert samples.y.tolist() == [0, 1]
    assert samples.y.dtype.kind == "i"
    assert samples.notes == ()


def test_text_labels():
    samples = Samples.from_table(table("kind,a\nyes,1\nno,2\n"), "kind")
    assert samples.y.tolist() == ["yes", "no"]
    assert (samples.target, samples.target_place) == ("kind", 0)


def test_labels_written_as_decimals_are_whole():
    assert Samples.from_table(table("a,y\n1,0.0\n2,1.0\n")).y.tolist() == [0, 1]


def test_labels_as_texts_on_request():
    labels = read_labels(table("a,y\n1,0\n2,1\n"), 1, as_text=True)
    assert labels.tolist() == ["0", "1"]


def test_notes():
    samples = Samples.from_table(table("a,c,y\n1,x,0\n,z,1\n3,x,1\n"))
    assert samples.notes == (
        "column 'c' is text: 'x', 'z'",
        "column 'a' has no value in 1 row",
    )
    np.testing.assert_array_equal(samples.X, [[1, 0], [np.nan, 1], [3, 0]])


def test_many_columns_are_noted_in_one_line():
    samples = Samples.from_table(table("a,b,c,d,y\n1,,x,u,0\n,2,z,u,1\n,4,x,v,1\n"))
    assert samples.notes == (
        "2 columns are text (values): 'c' (2), 'd' (2)",
        "2 columns have gaps (rows): 'a' (2), 'b' (1)",
    )


def test_columns_to_drop():
    read = table("a,c,y\n1,x,0\n2,z,1\n3,x,1\n")
    assert Samples.from_table(read, None, Inputs(drop=["c"])).encoder.names == ("a",)
    data = datasets.load("iris")
    assert Samples.from_dataset(data, Inputs(drop=[0])).X.tolist() == data.X[:, 1:].tolist()


def test_columns_without_values_are_left_out():
    samples = Samples.from_table(table("a,b,c,y\n1,,,no\n2,NA,?,yes\n"))
    assert samples.encoder.names == ("a",)
    assert samples.X.tolist() == [[1], [2]]
    assert samples.notes == ("left out the columns 'b', 'c' without any value",)


def test_built_in():
    data = datasets.load("iris")
    samples = Samples.from_dataset(data)
    assert samples.X.tolist() == data.X.tolist()
    assert samples.encoder.names == data.feature_names
    assert samples.target == "species"


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("a,y\n1,0\n", None, "t.csv has 1 row of data: training needs at least two"),
        ("a,y\n1,1\n2,1\n", None, "all 2 rows of t.csv are of the one class 1"),
        ("a,y\n1,yes\n2,yes\n", None, "the one class 'yes'"),
        ("a,y\n1,\n2,1\n", None, "target column 'y' of t.csv has no value in row 1"),
        ("a,y\n1,0.5\n2,1\n", None, "holds '0.5' in row 1, which is no class"),
        ("a,y\n1,inf\n2,1\n", None, "column 'y' of t.csv is infinite in row 1"),
        ("a,y\n1,1e50\n2,1\n", None, "holds '1e50' in row 1, which is no class"),
        ("a,y\n1,1\n2,1\n", "z", "has no column 'z': choose one of 'a', 'y'"),
        ("y\n1\n0\n", None, "t.csv has one column"),
    ],
)
def test_bad_tables(text, target, message):
    with pytest.raises(DataError, match=message):
        Samples.from_table(table(text), target)


def test_stray_text_among_labels():
    text = "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)) + "5,maybe\n"
    with pytest.raises(DataError, match="the text 'maybe' in row 21"):
        Samples.from_table(table(text))
    labels = "a,y\n1,0\n2,1\n3,maybe\n"
    assert Samples.from_table(table(labels)).y.tolist() == ["0", "1", "maybe"]
    with pytest.raises(DataError, match="holds 'maybe' in row 3, which is no class"):
        read_labels(table(labels), 1, as_text=False)


def test_constant_column_is_fine():
    X = Samples.from_table(table("a,b,y\n1,5,0\n2,5,1\n")).X
    assert np.ptp(X[:, 1]) == 0


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4),
    share=st.floats(0, 0.99),
    seed=st.integers(0, 5),
)
def test_every_class_gives_its_share(counts, share, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    train, test = split_holdout(y, share, seed)
    assert sorted([*train, *test]) == list(range(len(y)))
    for label, count in enumerate(counts):
        n_test = np.count_nonzero(y[test] == label)
        assert n_test == min(round(share * count), count - 1)
    again, _ = split_holdout(y, share, seed)
    assert (train == again).all()


def test_seed_decides():
    y = np.repeat([0, 1], 50)
    assert (split_holdout(y, 0.2, 0)[1] != split_holdout(y, 0.2, 1)[1]).any()


def test_no_test():
    train, test = split_holdout(np.array(["a", "b"]), 0.0, 0)
    assert len(train) == 2
    assert len(test) == 0


@pytest.mark.parametrize("share", [-0.1, 1.0, 2, float("nan")])
def test_bad_share(share):
    with pytest.raises(ModelError, match="at least 0 and less than 1"):
        split_holdout(np.array([0, 1]), share, 0)
