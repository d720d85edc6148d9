"""Units of a single feature: where they are drawn, and which are the best."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search import embed, straight_through
from bdnn.search.starts import best_single_features
from bdnn.search.starts.simple import single_feature_start
from tests.grids import examples
from tests.problems import random_problem


@pytest.mark.parametrize("weights", ["ternary", "continuous", "int:3"])
@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_a_share_of_the_units_splits_samples_by_one_feature(weights, share):
    problem = random_problem(1, n_samples=40, n_features=3, hidden=(12, 4), weights=weights)
    network = single_feature_start(problem, np.random.default_rng(0), share=share)
    n_single = round(share * 12)
    W, on = network.weights[0][:n_single], network.activations(problem.inputs)[0][:, :n_single]
    assert (np.count_nonzero(W, axis=1) == 1).all()
    assert set(np.abs(W[W != 0])) == {problem.architecture.weights[0].limit}
    assert set(np.nonzero(W)[1]) == {0, 1, 2}
    assert on.any(axis=0).all()
    assert (~on).any(axis=0).all()


@pytest.mark.parametrize(
    "options",
    [{"weights": "binary"}, {"thresholds": "zero"}, {"thresholds": "layer"}, {"hidden": ()}],
    ids=str,
)
def test_where_units_cannot_look_at_one_feature_training_is_as_usual(options):
    problem = random_problem(2, n_samples=20, **{"hidden": (6,), **options})
    network, same = (
        straight_through(
            problem, rng=np.random.default_rng(5), slot=Slot.of(60), epochs=3, single_features=share
        )
        for share in (1.0, 0.0)
    )
    for one, two in zip(network.weights, same.weights, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_constant_feature_makes_no_unit():
    shape = Architecture.create(2, 2, hidden=(8,), weights="ternary")
    X = np.column_stack((np.full(10, 3.0), np.arange(10.0)))
    problem = classification(shape, X, np.arange(10) % 2)
    network = single_feature_start(problem, np.random.default_rng(0), share=1.0)
    only = np.count_nonzero(network.weights[0], axis=1) == 1
    assert not (only & (network.weights[0][:, 0] != 0) & (network.step_thresholds[0] == 3.0)).any()
    assert (network.weights[0][only][:, 1] != 0).sum() >= 4


def least_loss(problem):
    """Least loss of outputs that each look at one feature or at none, by enumeration."""
    total = 0.0
    for output in range(problem.architecture.n_outputs):
        on, off = problem.loss.cost_on[:, output], problem.loss.cost_off[:, output]
        best = min(on.sum(), off.sum())
        for feature, sign in product(range(problem.inputs.shape[1]), (-1, 1)):
            values = sign * problem.inputs[:, feature]
            for threshold in np.unique(values):
                best = min(best, np.where(values >= threshold, on, off).sum())
        total += best
    return total


@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 4), st.integers(2, 4))
@examples(80)
def test_no_feature_direction_and_threshold_has_a_smaller_loss(seed, n, n_features, n_classes):
    rng = np.random.default_rng(seed)
    shape = Architecture.create(n_features, n_classes, hidden=(5,), weights="ternary")
    X = rng.integers(-3, 4, size=(n, n_features)).astype(float)
    problem = classification(
        shape, X, rng.integers(n_classes, size=n), rng.integers(1, 4, size=n).astype(float)
    )
    single = best_single_features(problem, rng)
    assert problem.value(single) == least_loss(problem)
    assert problem.value(embed(single, shape)) == problem.value(single)


@pytest.mark.parametrize("options", [{"weights": "binary"}, {"thresholds": "zero"}], ids=str)
def test_some_networks_cannot_look_at_single_features(options):
    problem = random_problem(3, n_samples=20, hidden=(4,), **options)
    assert best_single_features(problem, np.random.default_rng(0)) is None


@pytest.mark.parametrize("weights", ["ternary", "int:3", "continuous"])
@pytest.mark.parametrize(
    "values",
    [(-1.7e308, 1.6e308, 1.7e308), (0.0, 1.0, np.nextafter(1.0, 2.0)), (-1.0, 0.0, 5e-324)],
    ids=["huge", "neighbours", "smallest"],
)
@pytest.mark.parametrize("labels", [(0, 0, 1), (1, 1, 0), (0, 1, 1)])
def test_there_is_a_threshold_between_any_two_values(values, labels, weights):
    shape = Architecture.create(1, 2, hidden=(2,), weights=weights)
    X = np.array(values)[:, None]
    problem = classification(shape, X, np.array(labels))
    assert problem.value(best_single_features(problem, np.random.default_rng(0))) == 0


def test_a_part_of_a_large_table_is_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 300))
    y = (X[:, 17] > 0.5).astype(int)
    shape = Architecture.create(300, 2, hidden=(2,), weights="ternary")
    problem = classification(shape, X, y)
    assert problem.error(best_single_features(problem, rng)) < 0.01
