"""The incremental state equals a recomputation, and no accepted move raises the cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdnn.search.moves.annealing import anneal_hidden, anneal_outputs, try_zero
from bdnn.search.moves.sweep import improve_units, move_layer_threshold, redraw
from bdnn.search.objective import Objective, hinge
from bdnn.search.state import SearchState
from tests.problems import random_problem
from tests.strategies import THRESHOLDS, WEIGHT_SETS, problems_with_networks

ORDERS = [("loss",), ("error",), ("margin",), ("loss", "margin"), ("error", "loss")]


def assert_consistent(state):
    s = state.arrays
    before = s.sums.copy(), s.on.copy(), s.cost.copy()
    state.refresh()
    assert np.allclose(before[0], s.sums, atol=1e-9)
    assert (before[1] == s.on).all()
    assert np.allclose(before[2], s.cost, atol=1e-6)


@given(problems_with_networks())
@settings(max_examples=60, deadline=None)
def test_loading_a_network_adds_no_loss(case):
    problem, network = case
    state = SearchState(problem, network)
    copy = state.to_network()
    assert state.loss == problem.loss(copy) == state.cost
    assert state.loss <= problem.loss(network)
    if not state.paired:
        assert copy == network


@given(problems_with_networks())
@settings(max_examples=60, deadline=None)
def test_centred_thresholds_change_no_activation(case):
    problem, network = case
    state = SearchState(problem, network)
    on = state.arrays.on.copy()
    state.centre_thresholds()
    state.refresh()
    assert (state.arrays.on == on).all()


@given(problems_with_networks(), st.sampled_from(ORDERS), st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_moves_keep_the_state_true_and_never_raise_the_cost(case, order, seed):
    problem, network = case
    goal = Objective.create(order, problem.architecture, 2.0).goal(problem)
    state, rng = SearchState(problem, network, goal), np.random.default_rng(seed)
    s = state.arrays
    for _ in range(2):
        for unit in range(state.n_units):
            before = state.cost
            after = improve_units(s, np.array([unit]), rng, 2, 2)
            assert after <= before * (1 + 1e-8) + 1e-9
            assert_consistent(state)
        if problem.architecture.thresholds == "layer":
            for k in range(problem.architecture.n_layers):
                before = state.cost
                assert move_layer_threshold(s, k, rng, 3) <= before * (1 + 1e-8) + 1e-9
                assert_consistent(state)
    state.to_network()


@given(problems_with_networks(), st.integers(0, 1000), st.sampled_from([0.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_annealing_keeps_the_state_true(case, seed, temperature):
    problem, network = case
    objective = Objective.create(("loss", "margin"), problem.architecture, 2.0)
    state, rng = (
        SearchState(problem, network, objective.goal(problem)),
        np.random.default_rng(seed),
    )
    s = state.arrays
    before = state.cost
    anneal_outputs(s, temperature, rng)
    assert_consistent(state)
    anneal_hidden(s, np.arange(s.unit_at[-2]), temperature, rng)
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
        redraw(state.arrays, k, unit, rng)
        assert_consistent(state)
    state.to_network()


def test_frozen_weights_never_move():
    problem = random_problem(1, n_samples=30, values=6, hidden=(4,), weights="continuous")
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    s = state.arrays
    s.frozen[:] = rng.random(len(s.weights)) < 0.5
    before = s.weights[s.frozen].copy()
    for _ in range(5):
        improve_units(s, np.arange(state.n_units), rng, 2, 3)
    # Continuous units are scaled as a whole, which keeps a frozen zero at zero.
    assert (s.weights[s.frozen][before == 0] == 0).all()


def test_zeroing_weights_keeps_the_cost():
    problem = random_problem(2, n_samples=8, hidden=(8,))
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    s = state.arrays
    for _ in range(10):
        improve_units(s, np.arange(state.n_units), rng, 2, 3)
    before, count = state.cost, np.count_nonzero(s.weights)
    try_zero(s, np.flatnonzero(s.weights), 1e-9)
    assert state.cost <= before
    assert np.count_nonzero(s.weights) < count
    assert_consistent(state)


@given(problems_with_networks(), st.sampled_from(["score", "first"]))
@settings(max_examples=60, deadline=None)
def test_costs_are_what_they_are_called(case, ties):
    problem, network = case
    shape = problem.architecture
    for order, value in [
        (("loss",), lambda n: problem.loss(n)),
        (("error",), lambda n: problem.error(n) * problem.mass.sum()),
        (("margin",), lambda n: hinge(problem, n, 2.0)),
    ]:
        state = SearchState(problem, network, Objective.create(order, shape, 2.0).goal(problem))
        assert state.cost == pytest.approx(value(state.to_network()), abs=1e-9)
