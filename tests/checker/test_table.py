"""The checker reads tables as the package does, with code of its own."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from bdnn import limits
from bdnn.checker import read_csv, read_model
from bdnn.datasets import Samples, read_table
from bdnn.encoding import Encoder, Inputs
from bdnn.errors import DataError, ModelFileError
from bdnn.model_file import ModelRecord, write_model
from bdnn.network.architecture import WeightSet
from tests.export.models import make_model
from tests.sentences import assert_one_sentence

TERNARY = WeightSet.parse("ternary")
TABLES = {
    "plain": "a,b,kind\n1,2.5,no\n3,-0.0,yes\n2,7,no\n",
    "semicolons": "a;kind;b\n1;no;2\n3;yes;4\n",
    "tabs without header": "1\t2\tno\n3\t4\tyes\n",
    "quoted": '"a","b c","kind"\n1,"2",no\n"3",4,"yes"\n',
    "texts": "color,size,kind\nred,1,no\nblue,2,yes\nred,3,no\n",
    "missing": "a,b,kind\n1,,no\n3,4,yes\nNA,6,no\n2,?,yes\n",
    "numbers as labels": "a,b,label\n1,2,0\n3,4,1\n5,6,1\n",
    "decimal commas": "a;b;kind\n1,5;-2;no\n,25;4,125;yes\n2;1,5 ;no\n",
    "texts like numbers": "a;b;kind\n1,5;2;no\nx;3;yes\n1,5;4;yes\n",
    "blank lines and a byte order mark": "\ufeffa,b,kind\r\n\r\n1,2,no\r\n3,4,yes\r\n",
}


def model_for(samples, path):
    classes = tuple(sorted(set(samples.y.tolist())))
    encoder = Encoder.learn(
        samples.X,
        samples.encoder.columns,
        Inputs("both", "minmax", unknown="error"),
        weights=TERNARY,
        header=samples.encoder.header,
    )
    trained = make_model(
        np.random.default_rng(0),
        n_features=encoder.n_inputs,
        n_outputs=len(classes),
        classes=classes,
    )
    target = {"name": samples.target, "place": samples.target_place}
    write_model(ModelRecord(replace(trained, encoder=encoder), extra={"target": target}), path)
    return read_model(path), classes


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("zipped", [False, True])
def test_same_samples_as_the_package(tmp_path, name, zipped):
    path = tmp_path / "data.csv"
    data = TABLES[name].encode()
    path.write_bytes(gzip.compress(data) if zipped else data)
    target = "kind" if name == "semicolons" else None
    theirs = Samples.from_table(read_table(path), target)
    model, classes = model_for(theirs, tmp_path / "model.json")
    mine = read_csv(model, path)
    np.testing.assert_array_equal([list(row) for row in mine.rows()], theirs.X)
    assert mine.names == (None if name == "tabs without header" else list(theirs.encoder.names))
    assert [classes[i] for i in mine.classes] == theirs.y.tolist()


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(TABLES["texts"])
    samples = Samples.from_table(read_table(path), None)
    return model_for(samples, tmp_path / "model.json")[0], path


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        ("color,size,kind\n", "no rows"),
        ("color,size,kind\nred,1,no\nred,1\n", "different lengths"),
        ("color,size,kind\ngreen,1,no\n", "unknown text"),
        ("color,size,kind\nred,big,no\n", "a number should be"),
        ("color,size,kind\nred,1,maybe\n", "no class of the model"),
        ("color,kind\nred,no\n", "columns"),
    ],
)
def test_bad_tables(plain, text, part):
    model, path = plain
    path.write_text(text)
    with pytest.raises(DataError, match=part) as caught:
        read_csv(model, path)
    assert_one_sentence(caught.value)


def test_target_by_name_or_place(plain):
    model, path = plain
    expected = read_csv(model, path).classes
    assert read_csv(model, path, target="kind").classes == expected
    assert read_csv(model, path, target="3").classes == expected
    assert read_csv(model, path, target="-1").classes == expected
    with pytest.raises(DataError, match="no column"):
        read_csv(model, path, target="weight")


def test_the_target_is_no_input(plain, tmp_path):
    """A file may not take what it predicts for one of its inputs."""
    model, path = plain
    with pytest.raises(ModelFileError, match="takes the target") as caught:
        read_csv(model, path, target="size")
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"name": ["a"]},
        {"place": "1"},
        {"place": 10**9, "name": "nowhere"},
        "kind",
    ],
    ids=str,
)
def test_a_target_that_is_described_in_no_sense(plain, change):
    model, path = plain
    target = model.content["extra"]["target"]
    model.content["extra"]["target"] = change if isinstance(change, str) else target | change
    with pytest.raises((ModelFileError, DataError)) as caught:
        read_csv(model, path)
    assert_one_sentence(caught.value)


def test_numbers_that_no_model_takes_are_refused(plain):
    model, path = plain
    path.write_text("color,size,kind\nred,1e101,no\n")
    with pytest.raises(DataError, match="a number should be"):
        read_csv(model, path)


def test_limits(plain, monkeypatch):
    model, path = plain
    monkeypatch.setattr(limits, "CHECKED_ROWS", 2)
    with pytest.raises(DataError, match="more rows than the checker takes") as caught:
        read_csv(model, path)
    assert_one_sentence(caught.value)
    monkeypatch.setattr(limits, "CHECKED_ROWS", 10)
    monkeypatch.setattr(limits, "CHECKED_CELLS", 8)
    with pytest.raises(DataError, match="more rows than the checker takes"):
        read_csv(model, path)


def test_no_file(plain, tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        read_csv(plain[0], tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\0")
    with pytest.raises(DataError, match="cannot be read"):
        read_csv(plain[0], tmp_path / "binary.csv")
