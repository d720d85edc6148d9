"""Search over units of several values: kernels, exact thresholds, moves that keep what they say."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.network.activation import Activation
from bdnn.search import descend, widen_margin
from bdnn.search.embedding import as_levels, of_steps
from bdnn.search.kernels import line
from bdnn.search.starts.simple import linear_start, random_start
from bdnn.search.starts.straight_through import straight_through
from bdnn.search.state import SearchState
from tests.grids import examples
from tests.problems import random_problem
from tests.search import reference
from tests.search.parts import Parts
from tests.strategies import any_activation, architectures, problems_with_networks

shapes = architectures(max_hidden=2, min_hidden=1, activation=any_activation).filter(
    lambda shape: shape.has_levels
)
PAIR = pytest.mark.parametrize("searches", [Parts(line), reference], ids=["compiled", "numpy"])


@st.composite
def gains_of_levels(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, count = draw(st.integers(1, 60)), draw(st.integers(1, 3))
    return np.rint(rng.normal(size=n) * 4) / 2, rng.integers(-3, 4, (count, n)).astype(float)


@PAIR
@given(gains_of_levels())
@examples(60)
def test_ordered_thresholds_equal_brute_force(searches, case):
    sums, gains = case
    thresholds = np.empty(len(gains))
    merit = searches.ordered_search(sums, gains, thresholds)
    places = np.append(np.unique(sums), sums.max() + 1.0)
    reach = (sums >= places[:, None]).astype(float) @ gains.T
    if len(places) <= 8:
        best = max(
            sum(reach[q, level] for level, q in enumerate(chosen))
            for chosen in combinations_with_replacement(range(len(places)), len(gains))
        )
        assert merit == pytest.approx(best)
    assert (np.diff(thresholds) >= 0).all()
    assert searches.level_merit(sums, thresholds, gains) == pytest.approx(merit)
    assert not np.isin(thresholds, sums).any()


@given(problems_with_networks(shapes))
@examples(60)
def test_a_state_is_its_network(case):
    problem, network = case
    state = SearchState(problem, network)
    assert state.loss <= problem.value(network)
    assert problem.value(state.to_network()) == pytest.approx(state.loss)
    if not state.paired:
        assert state.to_network() == network
    before = problem.value(state.to_network())
    state.centre_thresholds()
    assert problem.value(state.to_network()) == pytest.approx(before)


@given(problems_with_networks(shapes), st.integers(0, 100))
@examples(40)
def test_moves_keep_the_state_and_never_raise_the_cost(case, seed):
    problem, network = case
    state, rng = SearchState(problem, network), np.random.default_rng(seed)
    units = np.arange(state.n_units)
    weights = np.flatnonzero(
        np.repeat([k.zero for k in problem.architecture.weights], np.diff(state.arrays.weight_at))
    )
    for move in (
        lambda: state.improve(units, rng, 2, 2),
        lambda: state.try_zero(weights, 1e-9),
        lambda: state.anneal(units[: int(state.arrays.unit_at[-2])], 0.0, rng),
        lambda: state.anneal(state.arrays.unit_at[-2:-1], 0.0, rng),
    ):
        before = state.cost
        move()
        state.refresh()
        assert state.cost <= before + 1e-6
        assert problem.value(state.to_network()) == pytest.approx(state.loss)
    if problem.architecture.thresholds == "layer":
        for k in range(problem.architecture.n_layers):
            before = state.cost
            state.move_layer_threshold(k, rng, 3)
            assert state.cost <= before + 1e-6
    for k in range(problem.architecture.n_layers):
        state.redraw(k, int(state.arrays.unit_at[k]), rng)
    assert problem.value(state.to_network()) == pytest.approx(state.loss)


RULES = ("ternary", "levels:4", Activation((-1, 0, 2), (-0.5, 0.5)), "sign")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("weights", ["ternary", "continuous", "int:12"])
def test_descents_report_the_loss_of_their_network(rule, thresholds, weights):
    problem = random_problem(
        1,
        n_samples=20,
        n_features=3,
        n_classes=3,
        hidden=(3, 2),
        weights=weights,
        thresholds=thresholds,
        activation=rule,
    )
    found = descend(problem, slot=Slot.of(60), seed=0, max_sweeps=4, start="linear")
    assert found.loss == problem.value(found.network)
    assert found.loss <= problem.value(problem.constant_network())
    wide = widen_margin(
        problem,
        found.network,
        slot=Slot.of(60),
        seed=0,
        sweeps=2,
        objectives=("loss", "margin", "sparsity"),
    )
    assert problem.value(wide) <= found.loss


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_starts_are_networks_of_the_problem(rule, thresholds):
    problem = random_problem(0, n_samples=12, hidden=(3, 2), activation=rule, thresholds=thresholds)
    rng = np.random.default_rng(0)
    for start in (random_start, linear_start):
        assert start(problem, rng).architecture == problem.architecture
    epochs = []
    slot = Slot(is_stopped=lambda: epochs.append(1) is not None)
    found = straight_through(problem, rng=rng, slot=slot, epochs=2)
    assert found.architecture == problem.architecture
    assert len(epochs) == 2


@pytest.mark.parametrize("rule", ["ternary", "levels:4", "sign"])
def test_a_network_of_steps_is_one_of_several_values(rule):
    problem = random_problem(0, n_samples=12, hidden=(3, 2), activation=rule)
    steps = random_start(of_steps(problem), np.random.default_rng(2))
    same = as_levels(steps, problem.architecture)
    assert np.array_equal(same.outputs(problem.inputs), steps.outputs(problem.inputs))
