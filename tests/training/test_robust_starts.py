"""Where certified training begins, and that it only gets better from there."""

import numpy as np
import pytest

from bdnn import BDNNClassifier, Limits, Robust
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.search.certified import Balls
from bdnn.training.phases.robust_starts import robust_starts


def squares(n=80, seed=0):
    """Two classes in four far-away corners, which no half-space tells apart."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 2, (n, 2))
    return corner + rng.uniform(-0.15, 0.15, (n, 2)), corner[:, 0] ^ corner[:, 1]


def slanted(n=80, seed=0):
    """Two classes on the sides of a slanted line, with a gap."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    side = np.where(X.sum(axis=1) >= 0, 1, -1)
    return X + 0.4 * side[:, None], (side > 0).astype(int)


def balls_around(X, y, radius):
    return Balls(
        X - radius, X + radius, X, np.zeros(len(X)), "linf", y.astype(np.intp), np.ones(len(X))
    )


def found_starts(X, y, radius, **shape):
    n_classes = int(y.max()) + 1
    asked = Architecture.create(X.shape[1], n_classes, **shape)
    return dict(robust_starts(asked, balls_around(X, y, radius), 0, Slot()))


def kept(network, X, y, radius):
    """How many samples keep their class at all points of a grid over their balls."""
    moves = np.stack(np.meshgrid(*[np.linspace(-radius, radius, 7)] * X.shape[1]), -1)
    points = X[:, None] + moves.reshape(-1, X.shape[1])
    said = network.predict(points.reshape(-1, X.shape[1])).reshape(len(X), -1)
    return int((said == y[:, None]).all(axis=1).sum())


def test_a_tree_becomes_two_layers():
    X, y = squares()
    starts = found_starts(X, y, 0.2, hidden=(6, 6), weights="ternary")
    assert kept(starts["tree of depth 2"], X, y, 0.2) == len(y)
    assert kept(starts["stump"], X, y, 0.2) < len(y)


def test_a_tree_becomes_one_layer_on_bits():
    X, y = squares()
    bits = (X >= 0.5).astype(float)
    starts = found_starts(bits, y, 0.0, hidden=(6,), weights="ternary")
    assert kept(starts["tree of depth 2"], bits, y, 0.0) == len(y)


@pytest.mark.parametrize("weights", ["continuous", "int:3"])
def test_a_linear_score_becomes_a_unit(weights):
    X, y = slanted()
    starts = found_starts(X, y, 0.1, hidden=(4,), weights=weights)
    assert kept(starts["linear"], X, y, 0.1) == len(y) > kept(starts["stump"], X, y, 0.1)


def test_votes_become_units_on_cuts():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (120, 3)).astype(float)
    y = ((X >= 2).sum(axis=1) >= 2).astype(int)
    starts = found_starts(X, y, 0.2, hidden=(60,), weights="continuous")
    assert kept(starts["votes of 16 cuts, improved"], X, y, 0.2) == len(y)


def test_three_classes_have_starts():
    rng = np.random.default_rng(2)
    X, y = rng.random((60, 2)), rng.integers(0, 3, 60)
    starts = found_starts(X, y, 0.05, hidden=(8, 8), weights="ternary")
    assert {"stump", "linear", "tree of depth 4"} <= set(starts)


def test_without_zeros_or_thresholds_there_are_none():
    X, y = squares()
    assert not found_starts(X, y, 0.1, hidden=(4,), weights="binary")
    assert not found_starts(X, y, 0.1, hidden=(4,), thresholds="layer")


def test_training_begins_with_the_best_of_them_and_says_so():
    X, y = squares()
    model = BDNNClassifier(
        hidden=(6, 6),
        robust=Robust(0.2, units="raw"),
        method="descent",
        limits=Limits(seconds=60),
        random_state=0,
    ).fit(X, y)
    starts = {step["start"]: step["loss"] for step in model.result_.steps}
    assert starts["robust tree of depth 2"] == 0
    assert model.result_.loss == 0
    assert "robust tree of depth 2" in [moment.phase for moment in model.result_.history]
    assert model.certify(X, y, radius=0.2, units="raw").accuracy == 1.0
