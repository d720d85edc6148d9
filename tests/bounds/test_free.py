"""Bounds without a solver are below the enumerated optimum, and tight where they can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.bounds import FREE, lower_bound
from bdnn.bounds.enumeration import Enumeration
from bdnn.bounds.lines import cut_cost, features_with_lines
from bdnn.bounds.states import OutputPatterns
from bdnn.clock import Slot
from tests.bounds.cases import best, make
from tests.grids import examples
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
@examples(60)
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
    for argument in FREE.arguments:
        if argument.applies(problem):
            assert best(argument, problem, seconds=5.0).value <= optimum


def free(problem):
    found = lower_bound(problem, Slot.of(10.0))
    return found.value, found.origin


def test_one_unit_cannot_do_xor():
    for hidden in ((1,), ()):
        for weights, origin in (
            ("continuous", "half-space certificates"),
            ("ternary", "all weights of one unit"),
        ):
            assert free(make(XOR, [0, 1, 1, 0], hidden, weights=weights)) == (2, origin)
    assert free(make(XOR, [0, 1, 1, 0], (2,)))[0] == 0


@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2"])
@pytest.mark.parametrize("hidden", [(), (1,)])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_listing_all_weights_of_one_unit_finds_the_optimum(weights, hidden, n_classes, weighted):
    for seed in range(5):
        problem = random_problem(
            seed,
            n_samples=9,
            n_features=2,
            n_classes=n_classes,
            hidden=hidden,
            weights=weights,
            weighted=weighted,
        )
        assert best(Enumeration(), problem).value == smallest_loss(problem)


def test_too_many_weights_are_not_listed():
    X = np.random.default_rng(0).normal(size=(30, 20))
    assert not Enumeration().applies(make(X, np.arange(30) % 2, (1,), weights="ternary"))


def test_a_list_that_is_not_complete_proves_nothing():
    problem = make(XOR, [0, 1, 1, 0], (1,), weights="ternary")
    assert not list(Enumeration().bounds(problem, Slot.of(0.0)))


def test_alternating_labels_on_a_line_need_as_many_units():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    for width in (1, 3, 5, 6):
        assert free(make(X, y, (width, 4))) == ((7 - width + 1) // 2 * 2, "lines")
    assert free(make(X, y, (7,)))[0] == 0


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.integers(1, 3))
def test_cuts_of_a_line_cost_what_enumeration_says(gains, n_cuts):
    gains = np.array(gains)
    costs = []
    for code in range(2 ** len(gains)):
        on = (code >> np.arange(len(gains))) & 1
        if np.count_nonzero(np.diff(on)) <= n_cuts:
            costs.append(np.abs(gains)[on != (gains > 0)].sum())
    assert cut_cost(gains, n_cuts) == min(costs)


def test_narrow_layer_cannot_tell_many_classes():
    problem = make(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 3], (8, 1))
    assert best(OutputPatterns(), problem).value == 2
    assert not OutputPatterns().applies(make(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 3], (8, 4)))


def test_conflicts_are_counted():
    problem = make([[0.0], [0.0], [0.0]], [0, 0, 1], (4,))
    assert free(problem) == (2, "data conflicts")


@given(st.integers(0, 999), st.integers(1, 4))
@examples(80)
def test_no_feature_with_lines_is_overlooked(seed, length):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(-1, 2, (12, 3)).astype(float), axis=0)
    longest = [
        np.unique(np.delete(X, j, axis=1), axis=0, return_counts=True)[1].max() for j in range(3)
    ]
    expected = [j for j in range(3) if longest[j] >= length]
    assert set(expected) == set(features_with_lines(X, length).tolist())
