"""The incremental state equals a recomputation, and no accepted move raises the cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.search.objective import Objective, hinge
from bdnn.search.state import SearchState
from tests.grids import examples
from tests.problems import random_problem
from tests.strategies import (
    THRESHOLDS,
    WEIGHT_SETS,
    any_activation,
    architectures,
    problems_with_networks,
)

ORDERS = [("loss",), ("error",), ("margin",), ("loss", "margin"), ("error", "loss")]


def assert_consistent(state):
    s = state.arrays
    before = s.sums.copy(), s.level.copy(), s.cost.copy()
    state.refresh()
    assert np.allclose(before[0], s.sums, atol=1e-9)
    assert (before[1] == s.level).all()
    assert np.allclose(before[2], s.cost, atol=1e-6)


@given(problems_with_networks())
@examples(60)
def test_loading_a_network_adds_no_loss(case):
    problem, network = case
    state = SearchState(problem, network)
    copy = state.to_network()
    assert state.loss == problem.value(copy) == state.cost
    assert state.loss <= problem.value(network)
    if not state.paired:
        assert copy == network


@given(problems_with_networks())
@examples(60)
def test_centred_thresholds_change_no_activation(case):
    problem, network = case
    state = SearchState(problem, network)
    level = state.arrays.level.copy()
    state.centre_thresholds()
    state.refresh()
    assert (state.arrays.level == level).all()


@given(problems_with_networks(), st.sampled_from(ORDERS), st.integers(0, 1000))
@examples(80)
def test_moves_keep_the_state_true_and_never_raise_the_cost(case, order, seed):
    problem, network = case
    goal = Objective.create(order, problem.architecture, 2.0).goal(problem)
    state, rng = SearchState(problem, network, goal), np.random.default_rng(seed)
    for _ in range(2):
        for unit in range(state.n_units):
            before = state.cost
            state.improve(np.array([unit]), rng, 2, 2)
            assert state.cost <= before * (1 + 1e-8) + 1e-9
            assert_consistent(state)
        if problem.architecture.thresholds == "layer":
            for k in range(problem.architecture.n_layers):
                before = state.cost
                state.move_layer_threshold(k, rng, 3)
                assert state.cost <= before * (1 + 1e-8) + 1e-9
                assert_consistent(state)
    state.to_network()


@given(problems_with_networks(), st.integers(0, 1000), st.sampled_from([0.0, 1.0]))
@examples(60)
def test_annealing_keeps_the_state_true(case, seed, temperature):
    problem, network = case
    objective = Objective.create(("loss", "margin"), problem.architecture, 2.0)
    state, rng = (
        SearchState(problem, network, objective.goal(problem)),
        np.random.default_rng(seed),
    )
    before = state.cost
    state.anneal(state.arrays.unit_at[-2:-1], temperature, rng)
    assert_consistent(state)
    state.anneal(np.arange(state.arrays.unit_at[-2]), temperature, rng)
    assert_consistent(state)
    if temperature == 0.0:
        assert state.cost <= before * (1 + 1e-8) + 1e-6
    state.to_network()


@pytest.mark.parametrize("weights", WEIGHT_SETS)
@pytest.mark.parametrize("thresholds", THRESHOLDS)
def test_redrawn_units_stay_in_the_set(weights, thresholds):
    problem = random_problem(0, hidden=(3, 2), weights=weights, thresholds=thresholds)
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    for unit in range(state.n_units):
        k = int(np.searchsorted(state.arrays.unit_at, unit, side="right")) - 1
        state.redraw(k, unit, rng)
        assert_consistent(state)
    state.to_network()


def test_frozen_weights_never_move():
    problem = random_problem(1, n_samples=30, values=6, hidden=(4,), weights="continuous")
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    s = state.arrays
    s.weights[:] = np.where(rng.random(len(s.weights)) < 0.5, 0.0, 1.0)
    zeros = s.weights == 0.0
    state.refresh()
    state.freeze_zeros()
    for _ in range(5):
        state.improve(np.arange(state.n_units), rng, 2, 3)
    assert (s.weights[zeros] == 0).all()


def test_zeroing_weights_keeps_the_cost():
    problem = random_problem(2, n_samples=8, hidden=(8,))
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    s = state.arrays
    for _ in range(10):
        state.improve(np.arange(state.n_units), rng, 2, 3)
    before, count = state.cost, np.count_nonzero(s.weights)
    state.try_zero(np.flatnonzero(s.weights), 1e-9)
    assert state.cost <= before
    assert np.count_nonzero(s.weights) < count
    assert_consistent(state)


@given(problems_with_networks())
@examples(60)
def test_costs_are_what_they_are_called(case):
    problem, network = case
    shape = problem.architecture
    for order, value in [
        (("loss",), lambda n: problem.value(n)),
        (("error",), lambda n: problem.error(n) * problem.loss.label_weight.sum()),
        (("margin",), lambda n: hinge(problem, n, 2.0)),
    ]:
        state = SearchState(problem, network, Objective.create(order, shape, 2.0).goal(problem))
        assert state.cost == pytest.approx(value(state.to_network()), abs=1e-9)


@given(
    problems_with_networks(architectures() | architectures(activation=any_activation)),
    st.integers(0, 1000),
)
@examples(150)
def test_moves_keep_their_limits(case, seed):
    problem, network = case
    state, rng = SearchState(problem, network), np.random.default_rng(seed)
    s, free, layers = state.arrays, state.limits, problem.architecture.n_layers
    kinds = problem.architecture.weights
    limit = np.repeat([float(kind.limit) for kind in kinds], np.diff(s.weight_at))
    has_zero = np.repeat([kind.zero for kind in kinds], np.diff(s.weight_at))
    # Some weights are fixed, some have one sign, and where they may be 0 there are not many.
    choice = rng.integers(4, size=len(s.weights))
    low = np.select([choice == 0, choice == 1], [s.weights, np.where(has_zero, 0.0, 1.0)], -limit)
    high = np.select([choice == 0, choice == 2], [s.weights, np.where(has_zero, 0.0, -1.0)], limit)
    s.weights[:] = np.where(choice == 0, s.weights, 0.0 if has_zero.all() else s.weights)
    s.weights[:] = np.clip(s.weights, low, high)
    used = [np.count_nonzero(s.weights[s.weight_at[k] : s.weight_at[k + 1]]) for k in range(layers)]
    copies = np.array([1] * (layers - 1) + [free.copies])
    most, total = free.most.copy(), int((used * copies).sum()) + 2
    most[1] = (np.array(used) + 1) * copies
    state.limits = free._replace(low=low, high=high, most=most, total=total)
    state.refresh()
    units, layer_of = np.arange(state.n_units), np.repeat(np.arange(layers), s.widths[1:])
    for move in (
        lambda: state.improve(units, rng, 2, 3),
        lambda: [state.redraw(k, unit, rng) for unit, k in enumerate(layer_of)],
        lambda: state.anneal(units[: s.unit_at[-2]], 1.0, rng),
        lambda: state.anneal(s.unit_at[-2:-1], 1.0, rng),
        lambda: state.try_zero(np.flatnonzero(has_zero), 1e9),
        lambda: state.improve(units, rng, 2, 3),
    ):
        move()
        assert ((low <= s.weights) & (s.weights <= high)).all()
        now = [
            copies[k] * np.count_nonzero(s.weights[s.weight_at[k] : s.weight_at[k + 1]])
            for k in range(layers)
        ]
        assert (now <= most[1]).all()
        assert sum(now) <= total
        assert_consistent(state)
    state.to_network()
