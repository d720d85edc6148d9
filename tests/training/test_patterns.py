"""Bounds by patterns: never above the truth, equal to it for continuous weights, proofs checked."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.problem import TrainingProblem
from bdnn.training.pattern_master import threshold_rules
from bdnn.training.patterns import pattern_bound, supports
from bdnn.training.separation import Conflict, Separator, exact_grid, null_vector
from tests.oracle import smallest_loss

CROSS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])


def make(X, labels, hidden, weights="continuous", sample_weight=None, thresholds="neuron"):
    shape = Architecture.create(
        X.shape[1], 2, hidden=hidden, weights=weights, thresholds=thresholds
    )
    return TrainingProblem.from_samples(shape, X, np.asarray(labels), sample_weight)


@st.composite
def tiny(draw, most=7):
    rows = draw(st.integers(2, most))
    coordinate = st.integers(-2, 2)
    X = draw(st.lists(st.tuples(coordinate, coordinate), min_size=rows, max_size=rows))
    labels = draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    # A stretch that no binary fraction represents, so that inputs are rounded like scaled ones.
    stretch = draw(st.sampled_from([1.0, 0.1, 1 / 3]))
    return np.array(X, dtype=float) * stretch, labels


@settings(max_examples=25, deadline=None)
@given(tiny(), st.sampled_from([(), (1,), (2,)]))
def test_bound_is_the_smallest_loss_of_continuous_weights(samples, hidden):
    problem = make(*samples, hidden)
    result = pattern_bound(problem, seconds=30)
    assert result.bound == smallest_loss(problem)
    assert result.is_exact
    assert problem.loss(result.network) == result.bound


@settings(max_examples=8, deadline=None)
@given(tiny(most=6))
def test_three_units(samples):
    problem = make(*samples, (3,))
    result = pattern_bound(problem, seconds=30)
    assert result.bound == smallest_loss(problem)
    assert problem.loss(result.network) == result.bound


@settings(max_examples=10, deadline=None)
@given(
    tiny(most=6),
    st.sampled_from([(), (1,), (2,)]),
    st.sampled_from(["ternary", "binary", "int:2"]),
    st.sampled_from(["neuron", "zero"]),
)
def test_bound_is_valid_for_integer_weights(samples, hidden, weights, thresholds):
    problem = make(*samples, hidden, weights=weights, thresholds=thresholds)
    result = pattern_bound(problem, seconds=30)
    assert result.bound <= smallest_loss(problem)
    assert result.network is None


@settings(max_examples=10, deadline=None)
@given(tiny(most=6), st.sampled_from([(), (2,)]), st.randoms(use_true_random=False))
def test_fractional_sample_weights(samples, hidden, random):
    X, labels = samples
    weight = np.array([random.choice([0.25, 0.7, 1.3]) for _ in labels])
    problem = make(X, labels, hidden, sample_weight=weight)
    result = pattern_bound(problem, seconds=30)
    truth = smallest_loss(problem)
    assert result.bound <= truth + 1e-9
    assert result.bound == pytest.approx(truth, abs=1e-8)
    assert result.is_exact


def test_merged_samples_count_with_their_weight():
    X = np.vstack([CROSS, CROSS[:2], CROSS[:2]])
    labels = [1, 1, 0, 0, 1, 1, 1, 0]  # (1, 1) also once with the other class
    problem = make(X, labels, ())
    result = pattern_bound(problem, seconds=10)
    assert problem.conflict_bound == 2.0
    assert result.bound == smallest_loss(problem) == 4.0


def test_two_units_separate_the_cross_and_one_does_not():
    labels = [1, 1, 0, 0]
    assert pattern_bound(make(CROSS, labels, (1,)), seconds=10).bound == 2.0
    result = pattern_bound(make(CROSS, labels, (2,)), seconds=10)
    assert result.bound == 0.0
    assert result.is_exact


def test_run_ends_at_a_known_loss_and_when_told():
    labels = [1, 1, 0, 0]
    seen = []
    result = pattern_bound(
        make(CROSS, labels, (1,)), seconds=10, upper=2.0, on_bound=lambda b: seen.append(b)
    )
    assert result.bound == 2.0
    assert seen[-1] == 2.0
    assert "certified conflicts" in result.origin
    stopped = pattern_bound(make(CROSS, labels, (1,)), seconds=10, on_bound=lambda b: True)
    assert stopped.bound <= 2.0


def test_one_class_and_balanced_inputs_need_no_proof():
    for hidden, label in product([(), (1,), (2,), (3,)], [0, 1]):
        one = pattern_bound(make(CROSS, [label] * 4, hidden), seconds=10)
        assert one.bound == 0.0
        assert one.is_exact
    balanced = make(np.zeros((2, 2)), [0, 1], (1,))
    result = pattern_bound(balanced, seconds=10)
    assert result.bound == 2.0
    assert balanced.loss(result.network) == 2.0


def test_hulls_that_meet_only_by_rounding_prove_nothing():
    # In the numbers that the decimals stand for, the third point is beside the line of the others.
    X = np.array([[0.1, 1.0], [0.3, 3.0], [0.2, 2.0]])
    result = pattern_bound(make(X, [1, 1, 0], (1,)), seconds=10)
    assert result.bound == 0.0
    assert result.cuts == 0


def test_a_wrong_certificate_is_rejected():
    separator = Separator(np.vstack([CROSS, [[0.5, 0.5 + 2.0**-40], [3.0, 0.5]]]))
    assert separator.certify(Conflict((0, 1), (2, 3)))
    assert not separator.certify(Conflict((0, 1), (4,)))  # off the segment by 1e-12
    assert not separator.certify(Conflict((0, 1), (2,)))
    assert not separator.certify(Conflict((0, 2), (1, 3)))  # parallel: null vector of mixed signs
    assert not separator.certify(Conflict((0, 1, 2), (3, 5)))
    assert not separator.certify(Conflict((0,), ()))


def test_proposed_conflicts_agree_with_half_spaces():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(14, 3)) / 8
    for _ in range(60):
        side = rng.random(14) < 0.5
        on, off = np.flatnonzero(side), np.flatnonzero(~side)
        separator = Separator(X)
        walker = separator.walker(on, off)
        assert (walker is None) == (separator.half_space(on, off) is not None)
        if walker is not None:
            everything = np.ones(14, dtype=bool)
            conflict = walker.sparse(rng.random(14), (everything,), rng)
            assert set(conflict.on) <= set(on)
            assert set(conflict.off) <= set(off)
            assert separator.certify(conflict)


def test_elimination_is_exact():
    assert null_vector([[1, 2], [2, 4]]) in ([-2, 1], [2, -1])
    assert null_vector([[1, 0], [0, 1]]) is None
    assert null_vector([[1, 1], [1, 1], [1, 1]]) is None  # not unique
    huge = 10**40
    assert null_vector([[huge, 1], [huge + 1, 1], [1, 0]]) is not None
    assert exact_grid(np.array([[0.5, 3.0], [0.125, -1.0]])) == [[4, 3], [1, -1]]


@pytest.mark.parametrize(("units", "count"), [(1, 1), (2, 2), (3, 5)])
def test_rules_are_all_threshold_functions(units, count):
    rules = threshold_rules(units)
    assert len(rules) == count
    for rule in rules:
        for on in product([0, 1], repeat=units):
            value = np.dot(rule.weights, on) >= rule.threshold
            assert value == any(all(on[j] for j in s) for s in rule.implicants)
            assert value == all(any(on[j] for j in s) for s in rule.implicates)


def test_what_is_supported():
    assert supports(Architecture.create(2, 2, hidden=()))
    assert supports(Architecture.create(2, 2, hidden=(3,)))
    assert not supports(Architecture.create(2, 2, hidden=(4,)))
    assert not supports(Architecture.create(2, 2, hidden=(1, 1)))
    assert not supports(Architecture.create(2, 3, hidden=(2,)))
    problem = make(CROSS, [0, 1, 0, 1], (4,))
    with pytest.raises(ModelError, match="at most one hidden layer of 3 units"):
        pattern_bound(problem, seconds=math.inf)
