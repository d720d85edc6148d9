"""The model against the network: reading, lifting, and what the rows allow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bdnn.mip import NetworkModel, Reductions
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification
from bdnn.solvers.registry import choose_solver
from tests.grids import examples
from tests.problems import random_problem
from tests.strategies import WEIGHT_SETS, architectures, arrays, problems_with_networks

INTEGER_SETS = tuple(name for name in WEIGHT_SETS if name != "continuous")
REDUCTIONS = st.sampled_from(
    [
        Reductions(),
        Reductions.none(),
        Reductions(signed=False),
        Reductions(one_sided=False),
        Reductions(one_output=False),
    ]
)

integer_shapes = architectures(max_hidden=2, weights=st.sampled_from(INTEGER_SETS))
all_shapes = architectures(max_hidden=2)
fractions = st.integers(-300, 300).map(lambda k: k / 100)


def row_counts(model):
    return {block.name: block.count for block in model.program.row_blocks}


def variable_shapes(model):
    return {block.name: block.columns.shape for block in model.program.variable_blocks}


def model_loss(model, network):
    """Loss that the model sees: with one output the better of the two, twice."""
    problem = model.problem
    on = network.outputs(problem.inputs)
    if not model.reductions.one_output:
        return problem.value(network)
    costs = np.where(on, problem.loss.cost_on, problem.loss.cost_off).sum(axis=0)
    return 2 * costs.min()


def check_start(model, network, start):
    program, problem = model.program, model.problem
    assert not np.isnan(start).any()
    assert program.violation(start) <= 1e-6
    assert program.objective(start) == pytest.approx(model_loss(model, network), abs=1e-9)
    read = model.read(start)
    assert problem.value(read) == pytest.approx(model_loss(model, network), abs=1e-9)
    if not model.reductions.one_output:
        assert np.array_equal(read.outputs(problem.inputs), network.outputs(problem.inputs))


def has_margin(model, network):
    """Whether all sums keep twice the model's margin from all thresholds, in the model's units."""
    values = model.problem.inputs
    for layer, W, t in zip(model.layers, network.weights, network.step_thresholds, strict=True):
        sums = values @ W.T
        largest = np.abs(W).max(axis=1)
        distance = np.abs(sums - t) / layer.bounds.unit
        needed = 2 * layer.bounds.margin * np.where(largest > 0, largest, 1.0)
        if layer.kind == "layer":
            needed = needed.max() + 2 * layer.bounds.margin * np.abs(t) / layer.bounds.unit
        if layer.kind == "zero":
            distance = np.where(sums >= 0, np.inf, distance)
        if not layer.bounds.exact and (distance < needed).any():
            return False
        values = (sums >= t).astype(float)
    return True


@given(problems_with_networks(integer_shapes), REDUCTIONS)
@examples(200)
def test_integer_weights_on_integer_data_can_always_be_lifted(case, reductions):
    problem, network = case
    model = NetworkModel.build(problem, reductions=reductions)
    assert model.margin == 0.0
    start = model.lift(network)
    assert start is not None
    check_start(model, network, start)
    assert np.array_equal(start, np.rint(start))


@given(problems_with_networks(all_shapes, elements=fractions), REDUCTIONS)
@examples(200)
def test_networks_with_a_margin_can_be_lifted(case, reductions):
    problem, network = case
    model = NetworkModel.build(problem, reductions=reductions)
    start = model.lift(network)
    if start is None:
        assert not has_margin(model, network)
    else:
        check_start(model, network, start)


@given(problems_with_networks(all_shapes))
@examples(200)
def test_reading_a_lifted_network_gives_it_back(case):
    problem, network = case
    model = NetworkModel.build(problem, reductions=Reductions.none())
    network = normal_form(model, network)
    assume(has_margin(model, network))
    start = model.lift(network)
    read = model.read(start)
    for name in ("weights", "thresholds"):
        for expected, got in zip(getattr(network, name), getattr(read, name), strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-9)


def normal_form(model, network):
    """The same weights with the thresholds that the model itself would choose.

    Continuous units fill the box, and where sums are integers thresholds lie half-way between.
    """
    weights, thresholds = [], []
    values = model.problem.inputs
    for layer, W, t in zip(model.layers, network.weights, network.step_thresholds, strict=True):
        unit = layer.bounds.unit
        low, high = (limit * unit for limit in layer.bounds.threshold)
        if not layer.weights.integer:
            largest = np.abs(W).max(axis=1)
            if layer.kind == "layer":
                if not W.any():  # otherwise the threshold alone would fill the box
                    W = np.ones_like(W)
                largest = np.full_like(largest, np.abs(W).max())
                t = np.clip(t, low / 2, high / 2)
            W = W / np.where(largest > 0, largest, 1.0)[:, None]
        if layer.kind != "zero":
            t = np.clip(t, low, high - layer.bounds.margin * unit)
            if layer.bounds.exact:
                t = (np.rint(t / unit) - 0.5) * unit
                t = np.maximum(t, low - unit / 2)
        weights.append(W)
        thresholds.append(t)
        values = (values @ W.T >= t).astype(float)
    return Network(network.architecture, tuple(weights), tuple(thresholds))


def test_a_margin_too_small_for_the_model_cannot_be_lifted():
    shape = Architecture.create(1, 1, hidden=(), weights="continuous")
    X = np.array([[0.0], [1e-7], [1.0]])
    problem = classification(shape, X, np.zeros(3, dtype=int))
    model = NetworkModel.build(problem)
    assert model.margin >= 1e-4
    between = Network(shape, (np.array([[1.0]]),), (np.array([5e-8]),))
    assert model.lift(between) is None
    apart = Network(shape, (np.array([[1.0]]),), (np.array([0.5]),))
    assert model.lift(apart) is not None


@pytest.mark.parametrize("weights", ["continuous", "ternary", "binary", "int:2"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("hidden", [(), (2,), (2, 2)])
def test_a_solver_finds_the_outputs_of_fixed_weights(weights, thresholds, hidden):
    """With weights and thresholds fixed, the only feasible activations are the forward pass."""
    problem = random_problem(
        11, n_samples=6, weights=weights, thresholds=thresholds, hidden=hidden, n_classes=3
    )
    model = NetworkModel.build(problem, reductions=Reductions.none())
    rng = np.random.default_rng(len(hidden))
    solver = choose_solver(model.program)
    for _ in range(3):
        network = _tied_network(rng, problem)
        start = model.lift(network)
        assert start is not None
        lower, upper = model.program.lower, model.program.upper
        for layer in model.layers:
            for columns in (layer.W, layer.t):
                if columns is not None:
                    lower[columns] = upper[columns] = start[columns]
        outcome = solver.solve(model.program.with_bounds(lower, upper))
        assert outcome.solution is not None
        for steps, on in zip(model.steps, network.activations(problem.inputs), strict=True):
            assert np.array_equal(np.rint(outcome.solution[steps.u]).astype(bool), on)
        assert outcome.objective == pytest.approx(problem.value(network), abs=1e-6)


def _tied_network(rng, problem):
    """A network some of whose sums equal their thresholds, others lie one step below."""
    shape, weights, thresholds = problem.architecture, [], []
    values = problem.inputs
    for n_inputs, units, kind in zip(shape.widths, shape.widths[1:], shape.weights, strict=False):
        choices = kind.values if kind.integer else np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        W = rng.choice(choices, (units, n_inputs))
        sums = values @ W.T
        t = np.array([rng.choice(column) for column in sums.T])
        if shape.thresholds == "layer":
            t[:] = t[0]
        elif shape.thresholds == "zero":
            t[:] = 0.0
        weights.append(W)
        thresholds.append(t)
        values = (sums >= t).astype(float)
    return Network(shape, tuple(weights), tuple(thresholds))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", ["ternary", "binary", "continuous"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_blocks_of_the_model_as_in_the_paper(n_classes, weights, thresholds):
    n, d1, d2, c = 3, 4, 5, n_classes
    problem = random_problem(
        5,
        n_samples=9,
        n_features=n,
        values=9,
        hidden=(d1, d2),
        n_classes=c,
        weights=weights,
        thresholds=thresholds,
    )
    m = len(problem.inputs)
    model = NetworkModel.build(problem, reductions=Reductions.none())
    variables = {
        "W1": (d1, n),
        "u1": (m, d1),
        "W2": (d2, d1),
        "u2": (m, d2),
        "s2": (m, d2, d1),
        "W3": (c, d2),
        "u3": (m, c),
        "s3": (m, c, d2),
    }
    rows = {}
    for k, (units, inputs) in enumerate([(d1, n), (d2, d1), (c, d2)], start=1):
        rows[f"active{k}"] = rows[f"inactive{k}"] = m * units
        if k > 1:
            for side in ("upper", "lower"):
                rows[f"product_{side}_u{k}"] = rows[f"product_{side}_w{k}"] = m * units * inputs
        if weights == "binary":
            variables[f"v{k}"] = (units, inputs)
            rows[f"binary{k}"] = units * inputs
        if thresholds != "zero":
            variables[f"t{k}"] = (units if thresholds == "neuron" else 1, 1)
    assert variable_shapes(model) == variables
    assert row_counts(model) == rows
    assert model.program.n_rows == sum(rows.values())


def test_reductions_leave_out_blocks_and_rows():
    problem = random_problem(5, n_samples=9, values=9, hidden=(4,), weights="ternary")
    m = len(problem.inputs)
    model = NetworkModel.build(problem)
    shapes, rows = variable_shapes(model), row_counts(model)
    assert shapes["W2"] == (1, 4)
    assert shapes["u2"] == (m, 1)
    second = (problem.loss.label_weight[:, 1] > problem.loss.label_weight[:, 0]).sum()
    first = (problem.loss.label_weight[:, 0] > problem.loss.label_weight[:, 1]).sum()
    assert rows["active2"] == second
    assert rows["inactive2"] == first
    assert rows["product_upper_u2"] == rows["product_upper_w2"] == 4 * second
    # The lower bound of a product with a weight that is not negative is its own bound.
    assert "product_lower_u2" not in rows
    assert rows["product_lower_w2"] == 4 * first
    assert rows["active1"] == rows["inactive1"] == 4 * m
    assert (model.program.lower[model.layers[1].W] == 0).all()


def test_the_margin_of_the_data_needs_no_eps():
    ternary = NetworkModel.build(random_problem(5, weights="ternary"))
    continuous = NetworkModel.build(random_problem(5, weights="continuous"), eps=0.01)
    assert ternary.margin == 0.0
    assert continuous.margin == 0.01
    mixed = NetworkModel.build(random_problem(5, hidden=(2,), weights=["ternary", "continuous"]))
    assert [layer.bounds.exact for layer in mixed.layers] == [True, False]


def test_integer_weights_on_data_without_a_grid_need_a_margin():
    shape = Architecture.create(1, 2, hidden=())
    problem = classification(shape, np.array([[0.1], [0.7]]), np.array([0, 1]))
    assert NetworkModel.build(problem).margin > 0


@given(arrays((4, 2), st.integers(-64, 64).map(lambda k: k / 64)), st.integers(0, 1000))
@examples(50)
def test_a_grid_makes_ternary_models_integer(X, seed):
    rng = np.random.default_rng(seed)
    shape = Architecture.create(2, 2, hidden=(2,))
    problem = classification(shape, X, rng.integers(0, 2, 4))
    program = NetworkModel.build(problem).program
    assert program.integer.all()
    for part in (program.matrix.data, program.row_lower, program.row_upper):
        finite = part[np.isfinite(part)]
        assert np.array_equal(finite, np.rint(finite))
    assert math.isfinite(program.offset)
