"""Units of several values in the program: reading, lifting, counts, and what the rows allow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from bdnn.mip import NetworkModel, Reductions
from bdnn.mip.freedom import free_units
from bdnn.network.activation import Activation
from bdnn.network.architecture import Architecture
from bdnn.problem.create import with_pattern
from bdnn.problem.losses.output import classification
from bdnn.solvers.registry import choose_solver
from bdnn.solvers.result import Limits
from tests.grids import examples
from tests.problems import random_problem
from tests.strategies import (
    any_activation,
    any_weights,
    architectures,
    networks,
    problems_with_networks,
)

integer_shapes = architectures(
    max_hidden=2,
    min_hidden=1,
    activation=any_activation,
    weights=any_weights.filter(lambda name: name != "continuous"),
)
all_shapes = architectures(max_hidden=2, min_hidden=1, activation=any_activation)


def model_loss(model, network):
    """Loss that the model sees: with one output the better of the two, twice."""
    problem = model.problem
    if not model.reductions.one_output:
        return problem.value(network)
    on = network.outputs(problem.inputs)
    return 2 * np.where(on, problem.loss.cost_on, problem.loss.cost_off).sum(axis=0).min()


def check_start(model, network, start):
    assert not np.isnan(start).any()
    assert model.program.violation(start) <= 1e-6
    assert model.program.objective(start) == pytest.approx(model_loss(model, network), abs=1e-9)
    read = model.read(start)
    assert model.problem.value(read) == pytest.approx(model_loss(model, network), abs=1e-9)
    return read


@given(problems_with_networks(integer_shapes))
@examples(150)
def test_integer_weights_on_integer_data_can_always_be_lifted(case):
    problem, network = case
    for reductions in (Reductions(), Reductions.none()):
        model = NetworkModel.build(problem, reductions=reductions)
        assert model.margin == 0.0
        start = model.lift(network)
        assert start is not None
        assert np.array_equal(start, np.rint(start))
        read = check_start(model, network, start)
        # What the model reads it also lifts to the same start, and that to the same network.
        again = model.lift(read)
        assert np.array_equal(again, start)
        assert model.read(again) == read


@given(problems_with_networks(all_shapes))
@examples(150)
def test_a_start_breaks_no_row(case):
    problem, network = case
    model = NetworkModel.build(problem, reductions=Reductions.none())
    start = model.lift(network)
    if start is not None:
        read = check_start(model, network, start)
        assert np.array_equal(read.outputs(problem.inputs), network.outputs(problem.inputs))


@given(problems_with_networks(integer_shapes))
@examples(20)
def test_rows_allow_one_value_for_fixed_weights(case):
    """With weights and thresholds fixed the program has the network's outputs and no others."""
    problem, network = case
    model = NetworkModel.build(problem, reductions=Reductions.none())
    start = model.lift(network)
    lower, upper = model.program.lower, model.program.upper
    for layer in model.layers:
        for columns in (layer.W, layer.t):
            if columns is not None:
                lower[columns] = upper[columns] = start[columns]
    program = model.program.with_bounds(lower, upper)
    found = choose_solver(program).solve(program)
    for steps in model.steps:
        assert np.array_equal(np.rint(found.solution[steps.u]), start[steps.u])


def counts(thresholds, activation, weights="ternary"):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, (12, 3)).astype(float)
    shape = Architecture.create(
        3, 2, hidden=(4, 5), weights=weights, thresholds=thresholds, activation=activation
    )
    problem = classification(shape, X, rng.integers(0, 2, 12), merge=False)
    program = NetworkModel.build(problem, reductions=Reductions.none()).program
    return {(part, name): count for part, name, count, _ in program.size_table()}


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_counts(thresholds):
    m, found = 12, counts(thresholds, "levels:4")
    d, n = (3, 4, 5, 2), (1, 3, 3, 1)
    part = {name: key for key, name in found}
    rows, variables = part["active1"], part["W1"]
    for k in (1, 2, 3):
        units = d[k] * n[k]
        shared = {"neuron": units, "layer": n[k], "zero": n[k]}[thresholds]
        if not (k == 3 and thresholds == "zero"):
            assert found[variables, f"t{k}"] == shared
        assert found[variables, f"W{k}"] == d[k] * d[k - 1]
        assert found[variables, f"u{k}"] == m * units
        assert found[rows, f"active{k}"] == found[rows, f"inactive{k}"] == m * units
        if n[k] > 1:
            assert found[rows, f"levels{k}"] == m * d[k] * (n[k] - 1)
            if thresholds != "zero":
                assert found[rows, f"intervals{k}"] == shared * (n[k] - 1) // n[k]
        if k > 1:
            products = m * d[k] * d[k - 1] * n[k - 1]
            assert found[variables, f"s{k}"] == products
            assert found[rows, f"product_upper_u{k}"] == products


@pytest.mark.parametrize(
    ("rule", "signed"),
    [("ternary", True), ("levels:4", True), ("values:0/1/5", False), ("values:0/1/2@0/1", False)],
)
def test_only_values_that_look_alike_from_both_ends_can_be_turned_round(rule, signed):
    model = NetworkModel.build(random_problem(0, hidden=(2,), activation=rule))
    assert model.reductions.signed == signed
    assert (model.layers[-1].range[0] == 0.0) == signed


def test_two_values_have_no_order():
    found = counts("neuron", "sign")
    assert not [name for _, name in found if name.startswith(("levels", "intervals"))]


def test_fixed_distances_that_are_no_grid_need_a_margin():
    free = random_problem(0, hidden=(2,), activation="ternary")
    grid = random_problem(0, hidden=(2,), activation=Activation((-1, 0, 1), (0.0, 0.25)))
    odd = random_problem(0, hidden=(2,), activation=Activation((-1, 0, 1), (0.1, 0.7)))
    margins = [NetworkModel.build(problem).margin for problem in (free, grid, odd)]
    assert margins[:2] == [0.0, 0.0]
    assert margins[2] > 0


def test_neighbourhoods_of_several_values():
    """Freeing all units gives back the whole model, freeing none fixes the first layer."""
    problem = random_problem(3, hidden=(2,), activation="ternary", n_samples=6)
    model = NetworkModel.build(problem)
    start = model.lift(problem.constant_network())
    everything = free_units(model, start, 0, np.arange(2))
    assert np.array_equal(everything.upper, model.program.upper)
    nothing = free_units(model, start, 0, np.arange(0))
    first = np.concatenate([model.steps[0].u.ravel(), model.layers[0].t.ravel()])
    assert np.array_equal(nothing.lower[first], nothing.upper[first])
    assert nothing.violation(start) <= 1e-6


@pytest.mark.parametrize("activation", ["sign", "ternary", "values:0/1/3@-1/1"])
def test_activations_of_several_values_hold_within_a_radius(activation):
    problem = random_problem(0, n_samples=6, hidden=(2,), activation=activation)
    asked = with_pattern(problem, 0.5)
    model = NetworkModel.build(asked)
    outcome = choose_solver(model.program).solve(model.program, limits=Limits(seconds=60))
    network = model.read(outcome.solution)
    assert asked.holds(network)
    assert problem.value(network) == pytest.approx(outcome.objective)
    start = model.lift(network)
    assert model.program.violation(start) <= 1e-6
    rng = np.random.default_rng(0)
    moved = problem.inputs + rng.choice([-0.5, 0.5], (50, *problem.inputs.shape))
    first = network.activations(problem.inputs)[0]
    for inputs in moved:
        assert np.array_equal(network.activations(inputs)[0], first)


@given(networks(integer_shapes))
@examples(30)
def test_bounds_hold_all_sums(network):
    shape = network.architecture
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (5, shape.n_features)).astype(float)
    problem = classification(shape, X, np.arange(5) % shape.n_outputs)
    model = NetworkModel.build(problem, reductions=Reductions.none(), groups=None)
    inputs = model.problem.inputs
    for layer, sums in zip(model.layers, network.preactivations(inputs), strict=True):
        scaled = sums / layer.bounds.unit
        assert (scaled >= layer.bounds.lowest[:, None] - 1e-9).all()
        assert (scaled <= layer.bounds.highest[:, None] + 1e-9).all()
        assert math.log2(layer.bounds.unit).is_integer() or not layer.bounds.exact
