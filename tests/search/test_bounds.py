"""Lower bounds are below the enumerated optimum, and tight where they can be."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdnn.architecture import Architecture
from bdnn.problem import TrainingProblem
from bdnn.search import lower_bound, lower_bounds
from bdnn.search.bounds import _features_with_lines
from bdnn.search.half_spaces import half_space_cost, hulls_meet
from tests.oracle import smallest_loss
from tests.problems import XOR, random_problem


@given(
    st.integers(0, 10_000),
    st.sampled_from(["continuous", "ternary", "binary", "int:2"]),
    st.sampled_from(["neuron", "layer", "zero"]),
    st.sampled_from([(), (1,), (2,), (1, 2), (2, 1)]),
    st.integers(1, 2),
    st.integers(2, 3),
)
@settings(max_examples=60, deadline=None)
def test_no_bound_exceeds_the_optimum(seed, weights, thresholds, hidden, n_features, n_classes):
    problem = random_problem(
        seed,
        n_samples=5,
        n_features=n_features,
        n_classes=n_classes,
        weighted=True,
        hidden=hidden,
        weights=weights,
        thresholds=thresholds,
    )
    optimum = smallest_loss(problem)
    for bound in lower_bounds(problem, seconds=1.0):
        assert problem.conflict_bound <= bound.value <= optimum + 1e-9, bound


def samples(X, y, **options):
    X = np.asarray(X, dtype=float)
    shape = Architecture.create(X.shape[1], int(max(y)) + 1, **options)
    return TrainingProblem.from_samples(shape, X, np.asarray(y))


def test_one_unit_cannot_do_xor():
    for hidden in ((1,), ()):
        for weights, origin in (
            ("continuous", "half-space certificates"),
            ("ternary", "all weights of one unit"),
        ):
            problem = samples(XOR, [0, 1, 1, 0], hidden=hidden, weights=weights)
            assert lower_bound(problem) == (2.0, origin)
    assert lower_bound(samples(XOR, [0, 1, 1, 0], hidden=(2,))).value == 0.0


@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2"])
@pytest.mark.parametrize("hidden", [(), (1,)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_listing_all_weights_of_one_unit_finds_the_optimum(weights, hidden, n_classes):
    for seed in range(5):
        problem = random_problem(
            seed, n_samples=9, n_features=2, n_classes=n_classes, hidden=hidden, weights=weights
        )
        best = lower_bounds(problem, seconds=5.0)[-1]
        assert best == (pytest.approx(smallest_loss(problem)), "all weights of one unit")


def test_too_many_weights_are_not_listed():
    X = np.random.default_rng(0).normal(size=(30, 20))
    origins = [b.origin for b in lower_bounds(samples(X, np.arange(30) % 2, hidden=(1,)))]
    assert "all weights of one unit" not in origins


def test_alternating_labels_on_a_line_need_as_many_units():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    for width in (1, 3, 5, 6, 7):
        problem = samples(X, y, hidden=(width, 4))
        assert lower_bound(problem) == ((7 - width + 1) // 2 * 2.0, "lines") or width == 7
    assert lower_bound(samples(X, y, hidden=(7,))).value == 0.0


def test_narrow_layer_cannot_tell_many_classes():
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 3]
    assert ("output patterns", 2.0) in [
        (b.origin, b.value) for b in lower_bounds(samples(X, y, hidden=(8, 1)))
    ]


def test_conflicts_are_counted():
    problem = samples([[0.0], [0.0], [0.0]], [0, 0, 1], hidden=(4,))
    assert lower_bound(problem) == (2.0, "data conflicts")


def test_half_space_cost_is_exact_on_small_sets():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = rng.integers(0, 4, (12, 2)).astype(float)
        X = np.unique(X, axis=0)
        gains = rng.choice([-2.0, -1.0, 1.0, 2.0], len(X))
        wanted = gains > 0
        bound = half_space_cost(X, gains, deadline=time.monotonic() + 5)
        best = np.inf
        for angle in np.linspace(0, 2 * np.pi, 721) + 1e-4:
            sums = X @ np.array([np.cos(angle), np.sin(angle)])
            for level in np.append(np.unique(sums), np.inf):
                best = min(best, np.abs(gains[(sums >= level) != wanted]).sum())
        assert bound == pytest.approx(best)


def test_certificates_are_exact():
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    on = np.array([True, True, False, False])
    assert hulls_meet(square, on)
    apart = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0**-40], [1.0, 2.0**-40]])
    assert not hulls_meet(apart, on)


@given(st.integers(0, 999), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_no_feature_with_lines_is_overlooked(seed, length):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(-1, 2, (12, 3)).astype(float), axis=0)
    longest = [
        np.unique(np.delete(X, j, axis=1), axis=0, return_counts=True)[1].max() for j in range(3)
    ]
    expected = [j for j in range(3) if longest[j] >= length]
    assert set(expected) == set(_features_with_lines(X, length).tolist())
