"""One free layer: the start fits, what is fixed stays, the optimum is the enumerated one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bdnn.mip.freedom import FreeLayer
from bdnn.network.network import Network
from bdnn.search import random_start
from bdnn.solvers import Limits, choose_solver
from tests.oracle import dichotomies
from tests.problems import random_problem

SETS = ["ternary", "continuous", "binary", "int:2"]


def solve(program, start=None):
    return choose_solver(program).solve(program, limits=Limits(seconds=60), start=start)


def make(seed, hidden, weights, thresholds, **options):
    problem = random_problem(seed, hidden=hidden, weights=weights, thresholds=thresholds, **options)
    return problem, random_start(problem, np.random.default_rng(seed))


def with_layer(network, number, W, t) -> Network:
    weights, levels = list(network.weights), list(network.thresholds)
    weights[number], levels[number] = W, t
    return Network(network.architecture, tuple(weights), tuple(levels))


@pytest.mark.parametrize("weights", SETS)
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_lifted_start_violates_no_row_and_has_the_networks_loss(weights, thresholds, number):
    lifted = 0
    for seed in range(12):
        problem, network = make(seed, (3, 2), weights, thresholds, n_samples=10)
        model = FreeLayer.build(problem, network, number)
        start = model.lift(network)
        if start is None:  # the random network does not keep the margin
            continue
        lifted += 1
        assert model.program.violation(start) <= 1e-6
        back = model.read(start)
        assert (back.outputs(problem.inputs) == network.outputs(problem.inputs)).all()
        if number > 0:
            assert model.program.objective(start) == pytest.approx(problem.value(network))
    assert lifted >= 4


@pytest.mark.parametrize("weights", SETS)
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_the_best_outputs_are_those_of_enumeration(weights, thresholds):
    problem, network = make(3, (3,), weights, thresholds, n_samples=10, n_classes=3)
    model = FreeLayer.build(problem, network, 1)
    found = model.read(solve(model.program).solution)
    seen = network.activations(problem.inputs)[0].astype(float)
    distinct, place = np.unique(seen, axis=0, return_inverse=True)
    groups = dichotomies(tuple(map(tuple, distinct)), weights, thresholds)
    best = min(
        sum(
            min(
                np.where(
                    np.array(on)[place], problem.loss.cost_on[:, k], problem.loss.cost_off[:, k]
                ).sum()
                for on in patterns
            )
            for k in range(3)
        )
        for patterns in groups
    )
    assert problem.value(found) == best >= model.bound


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
@pytest.mark.parametrize("thresholds", ["neuron", "zero"])
def test_the_best_first_layer_below_fixed_outputs_is_that_of_enumeration(weights, thresholds):
    problem, network = make(5, (2,), weights, thresholds, n_samples=7)
    model = FreeLayer.build(problem, network, 0)
    outcome = solve(model.program)
    W, t = network.weights[1], network.step_thresholds[1]
    (patterns,) = dichotomies(tuple(map(tuple, problem.inputs)), weights, thresholds)
    best = min(
        problem.loss.of_outputs(t <= np.array(units, dtype=float).T @ W.T)
        for units in product(patterns, repeat=2)
    )
    assert outcome.objective == pytest.approx(best)
    found = model.read(outcome.solution)
    assert (found.weights[1] == W).all()


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_below_a_fixed_hidden_layer_activations_are_kept_and_wishes_served(weights):
    problem, network = make(1, (3, 2), weights, "neuron", n_samples=10)
    before = network.activations(problem.inputs)
    wishes = np.ones(3)
    model = FreeLayer.build(problem, network, 0, wishes=wishes)
    outcome = solve(model.program, model.lift(network))
    after = model.read(outcome.solution).activations(problem.inputs)
    assert (after[1] == before[1]).all()
    assert (after[2] == before[2]).all()
    assert after[0].sum() <= before[0].sum()


def test_activations_that_no_weights_have_are_infeasible():
    problem, network = make(1, (2, 2), "ternary", "neuron", n_samples=8)
    silent = with_layer(network, 1, np.zeros((2, 2)), np.full(2, 0.5))
    drawn = silent.activations(problem.inputs)
    drawn[1] = ~drawn[1]
    model = FreeLayer.build(problem, silent, 0, activations=drawn)
    assert solve(model.program).termination.value == "infeasible"


def test_a_restriction_frees_only_what_is_named():
    problem, network = make(2, (4,), "ternary", "neuron", n_samples=12, n_features=3)
    model = FreeLayer.build(problem, network, 0)
    start = model.lift(network)
    units = np.array([False, True, False, False])
    samples = np.arange(len(problem.inputs)) < 6
    program = model.restricted(start, units, samples)
    assert program.violation(start) <= 1e-6
    found = model.read(solve(program, start).solution)
    kept = ~units
    np.testing.assert_array_equal(found.weights[0][kept], network.weights[0][kept])
    on, was = found.activations(problem.inputs)[0], network.activations(problem.inputs)[0]
    assert (on[~samples] == was[~samples]).all()
    assert problem.value(found) <= problem.value(network)
