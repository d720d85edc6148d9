"""Explanations against enumeration of all rows."""

from itertools import product

import numpy as np
import pytest

import bdnn
from bdnn.encoding import Bit, Column, Encoder
from bdnn.errors import DataError, UnsupportedFeatureError
from bdnn.evaluation.explanation import explain
from bdnn.evaluation.importance import importances
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.export.models import number_model
from tests.grids import long

COLUMNS = (
    Column("age", factor=0.25),
    Column("ok", "boolean"),
    Column("job", "category", ("cook", "nurse")),
    Column("unused"),
)
BITS = (
    *(Bit(0, "ge", c) for c in (2.0, 4.0, 6.0)),
    Bit(1, "ge", 1.0),
    *(Bit(2, "is", text) for text in ("cook", "nurse")),
)
ALL = np.array(list(product(range(8), (0, 1), (-1, 0, 1), (0,))), dtype=float)
DATA = {"low": [0, 0, 0, 0], "high": [7, 1, 1, 0], "per_unit": [1, 1, 1, 1]}


def make(seed):
    rng = np.random.default_rng(seed)
    shape = Architecture.create(len(BITS), 2, hidden=(3,))
    weights = tuple(rng.integers(-1, 2, size).astype(float) for size in ((3, 6), (2, 3)))
    thresholds = rng.integers(-1, 2, 3).astype(float), rng.integers(-1, 2, 2) + 0.5
    network = Network(shape, weights, thresholds)
    return Model(Encoder(COLUMNS, (), BITS), network, ("no", "yes"))


def cost(row, others):
    """Of changes: moves of the age in scaled units, and 1 for another text or truth value."""
    return 0.25 * np.abs(others[:, 0] - row[0]) + (others[:, 1:] != row[1:]).sum(axis=1)


@pytest.mark.parametrize("seed", [0, 1, *long(2, 3, 4, 5)])
def test_changes_are_those_of_enumeration(seed):
    model = make(seed)
    said = model.predict(ALL)
    for row in ALL[::7]:
        found = explain(model, row, data=DATA)
        assert found.label == model.predict(row[None])[0]
        is_other = said != found.label
        if not is_other.any():
            assert found.smallest is None
            assert found.single == ()
            continue
        change = found.smallest
        assert change.is_smallest
        assert change.size == pytest.approx(cost(row, ALL[is_other]).min(), abs=1e-6)
        for j, name in enumerate(model.feature_names):
            alone = ALL[is_other & (np.delete(row == ALL, j, axis=1)).all(axis=1)]
            own = [each for each in found.single if list(each.values) == [name]]
            assert (name in found.without_effect) == (len(alone) == 0)
            if len(alone):
                assert own[0].size == pytest.approx(cost(row, alone).min(), abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_importances_are_those_of_all_pairs(seed):
    model, rng = make(seed), np.random.default_rng(seed)
    X = ALL[rng.integers(0, len(ALL), 40)]
    y = rng.choice(["no", "yes"], 40)
    said = model.predict(X)
    for each in importances(model, X, y):
        j = model.feature_names.index(each.column)
        flips, right = [], []
        for value in X[:, j]:
            changed = X.copy()
            changed[:, j] = value
            flips.append((model.predict(changed) != said).mean())
            right.append((model.predict(changed) == y).mean())
        assert each.flips == pytest.approx(np.mean(flips))
        assert each.loss == pytest.approx((said == y).mean() - np.mean(right))


def test_numbers_move():
    model = number_model(np.random.default_rng(3))
    X = np.random.default_rng(0).normal(3, 2, (30, model.n_features))
    found = importances(model, X)
    assert found[0].flips >= found[-1].flips >= 0
    with pytest.raises(UnsupportedFeatureError, match="for classifiers"):
        explain(model, X[0])


def test_an_estimator_explains_rows():
    data = bdnn.datasets.load("iris")
    model = bdnn.BDNNClassifier(
        hidden=(2,), objective="loss", method="descent", random_state=0
    ).fit(data.X, data.y)
    found = model.explain(data.X[0])
    assert found.label == data.y[0]
    assert str(found).startswith(f"class {data.y[0]}")
    moved = data.X[0].copy()
    names = model.model_.feature_names
    for name, (before, after) in found.smallest.values.items():
        assert moved[names.index(name)] == before
        moved[names.index(name)] = after
    assert model.predict(moved[None])[0] == found.smallest.becomes != found.label
    assert len(model.importances(data.X, data.y)) == 4
    with pytest.raises(DataError, match="takes one row"):
        model.explain(data.X[:2])
