"""What a model file says of its data."""

import hashlib
import struct

import numpy as np
import pytest

from bdnn import BDNNClassifier, Limits
from bdnn.checker.claims import parse_rows
from bdnn.model_file import read_model
from bdnn.model_file.data import describe_data, fingerprint, format_rows

X = np.array([[1.0, 2.5], [-0.0, 3.0], [4.0, 0.1]])
LABELS = np.array([1, 0, 1])
ALL = np.ones(3, dtype=bool)


def described(X=X, labels=LABELS, used=ALL):
    return describe_data(X, labels, used=used, class_weight=None, sample_weight=None)


def test_fingerprint_is_as_documented():
    records = sorted(
        struct.pack("<ddq", *row, label)
        for row, label in zip((X + 0.0).tolist(), LABELS.tolist(), strict=True)
    )
    assert fingerprint(X + 0.0, LABELS) == hashlib.sha256(b"".join(records)).hexdigest()


def test_fingerprint_sees_values_and_labels_but_not_order():
    order = [2, 0, 1]
    first = described()["sha256"]
    assert described(X[order], LABELS[order])["sha256"] == first
    assert described(X, 1 - LABELS)["sha256"] != first
    assert described(np.nextafter(X, 9), LABELS)["sha256"] != first


def test_ranges_and_units():
    found = described()
    assert (found["rows"], found["used"]) == (3, None)
    assert found["low"] == [0.0, 0.1]
    assert found["high"] == [4.0, 3.0]
    assert found["per_unit"] == [1, 10]
    part = described(used=np.array([True, False, True]))
    assert (part["rows"], part["used"]) == (2, "1,3")
    assert described(X * np.pi)["per_unit"] == [None, None]
    assert described(X / 64)["per_unit"][0] == 64


def test_the_last_of_many_rows_counts_for_the_unit():
    many = np.ones((3000, 2))
    many[-1, 1] = 0.5
    found = described(many, np.zeros(3000, dtype=int), np.ones(3000, dtype=bool))
    assert found["per_unit"] == [1, 10]


@pytest.mark.parametrize("rows", [[], [0], [0, 1, 2], [4, 6, 7, 8, 11], list(range(1000))])
def test_rows_as_text(rows):
    found = parse_rows(format_rows(np.array(rows, dtype=int)))
    assert list(found) == rows
    assert (len(found), found.last) == (len(rows), rows[-1] if rows else -1)


def test_ranges_of_rows_take_no_memory():
    assert len(parse_rows("1-99999999,200000000-999999999")) == 899_999_999


@pytest.mark.parametrize(
    "text", ["0", "3-1", "a", "1-", "1,,2", "1-9999999999", "-4", "2,1", "1,1", "1-3,3"]
)
def test_rows_that_are_none(text):
    with pytest.raises(ValueError, match=r"no row|out of order"):
        parse_rows(text)


def test_estimator_writes_and_keeps_the_certificate(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (30, 2)).astype(float), rng.integers(0, 2, 30)
    model = BDNNClassifier(
        hidden=(), method="descent", limits=Limits(seconds=2), class_weight="balanced"
    )
    model.fit(X, y)
    path, again = tmp_path / "a.json", tmp_path / "b.json"
    model.save(path, promises=[{"kind": "sparsity", "at_most": 2}])
    from bdnn import load

    load(path).save(again)
    first, second = read_model(path).certificate, read_model(again).certificate
    assert first == second
    assert first["promises"] == [{"kind": "sparsity", "at_most": 2}]
    share = np.bincount(y) / 15
    assert np.allclose(first["data"]["class_weight"], 1 / share)
    assert first["data"]["per_unit"] == [1, 1]
    model.fit(X, y, sample_weight=np.ones(30))
    model.save(again)
    weights = read_model(again).certificate["data"]["sample_weight"]
    assert np.allclose(weights, (1 / share)[y])
