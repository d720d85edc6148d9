"""The real table is too large for the repository: a small one stands in, with its own checksum."""

import gzip

import numpy as np
import pytest

from bdnn import datasets
from bdnn.datasets import registry
from bdnn.errors import DataError

FILENAME = "default-of-credit-card-clients.csv.gz"
ROWS = 50


@pytest.fixture
def values(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.integers(-2, 100000, size=(ROWS, 24))
    table[:, -1] = rng.integers(0, 2, size=ROWS)
    monkeypatch.setattr(registry, "_SHAPE", (ROWS, 24))
    monkeypatch.setattr(registry, "_CHECKSUM", registry._checksum(table.astype(float)))
    monkeypatch.delenv("BDNN_DATA", raising=False)
    return table


def lines(table, delimiter):
    return [delimiter.join(str(cell) for cell in row) for row in table.tolist()]


def write_authors_format(path, table):
    path.write_bytes(gzip.compress("\n".join(lines(table, ";")).encode()))


def write_uci_format(path, table):
    """Two lines of names and a client's number, as the UCI sheet has them."""
    places = ["", *(f"X{j}" for j in range(1, 24)), "Y"]
    names = ["ID", *(name.upper() for name in registry._FEATURES), "default payment next month"]
    numbered = np.column_stack([np.arange(1, len(table) + 1), table])
    path.write_text("\n".join([",".join(places), ",".join(names), *lines(numbered, ",")]))


def write_openml_format(path, table):
    names = [*(f'"x{j}"' for j in range(1, 24)), '"y"']
    path.write_text("\n".join([",".join(names), *lines(table, ",")]))


@pytest.mark.parametrize("write", [write_authors_format, write_uci_format, write_openml_format])
def test_formats(write, values, tmp_path):
    write(tmp_path / "some.csv", values)
    data = datasets.load("credit-default", path=tmp_path / "some.csv")
    assert (values[:, :-1] == data.X).all()
    assert (data.y == values[:, -1]).all()
    assert data.feature_names[0] == "limit_bal"
    assert len(data.feature_names) == 23


def test_data_folder(values, tmp_path, monkeypatch):
    assert not datasets.DATASETS["credit-default"].is_offline()
    write_authors_format(tmp_path / FILENAME, values)
    monkeypatch.setenv("BDNN_DATA", str(tmp_path))
    assert datasets.DATASETS["credit-default"].is_offline()
    assert len(datasets.load("credit-default").y) == ROWS


def test_other_order_is_the_same_data(values, tmp_path):
    write_authors_format(tmp_path / FILENAME, values[::-1])
    data = datasets.load("credit-default", path=tmp_path / FILENAME)
    assert (values[::-1, :-1] == data.X).all()


@pytest.mark.parametrize("change", ["edited", "short", "text", "fraction"])
def test_checksum(change, values, tmp_path):
    table = values.tolist()
    if change == "short":
        table.pop()
    else:
        table[3][4] = {"edited": 12345678, "text": "abc", "fraction": 0.5}[change]
    write_authors_format(tmp_path / FILENAME, np.array(table, dtype=object))
    with pytest.raises(DataError, match="wrong checksum"):
        datasets.load("credit-default", path=tmp_path / FILENAME)


def test_download(values, monkeypatch):
    class Bunch:
        data = values[:, :-1].astype(float)
        target = values[:, -1].astype(str).astype(object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch)
    data = datasets.load("credit-default")
    assert (values[:, :-1] == data.X).all()
    assert data.y.dtype.kind == "i"


def test_no_network_tells_the_remedy(values, monkeypatch):
    def fail(**_):
        raise OSError("<urlopen error no route>\nmore")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(DataError, match=r"\(<urlopen error no route>\): set BDNN_DATA to a folder"):
        datasets.load("credit-default")


def test_missing_file(values, tmp_path):
    with pytest.raises(DataError, match="No such file"):
        datasets.load("credit-default", path=tmp_path / "nothing.csv")
