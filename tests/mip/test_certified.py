"""The program of certified training: starts, readings, and optima against enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from bdnn.constraints import Forbid, LinearRows, Monotone, Regularizer, Sparsity
from bdnn.estimators.problems import Surrounded, certified_problem
from bdnn.mip import NetworkModel
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.create import constrain
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.solvers.result import Limits
from bdnn.training import Auto, Budget, Descent, Exact
from bdnn.training.phases.worst_case import balls_of
from tests.encoding.encoders import make_encoder
from tests.grids import in_turn, long


def random_problem(
    seed, n_samples=7, n_features=1, n_classes=2, radius=0.12, norm="linf", **options
):
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, n_features))
    labels = np.append(np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes))
    shape = Architecture.create(n_features, n_classes, **{"hidden": (1,), **options})
    # A coarse grid keeps the number of different thresholds small.
    scaler = make_encoder(np.zeros(n_features), np.ones(n_features), 2.0**-4)
    radii = np.full(n_samples, radius)
    balls = Surrounded(X, radii, norm)
    return certified_problem(shape, scaler, scaler.transform(X), labels, balls)


def build(problem, eps=1e-4):
    return NetworkModel.build(problem, eps=eps)


def smallest_loss(problem):
    """Least certified loss over all networks of one hidden unit with integer weights."""
    shape, balls = problem.architecture, balls_of(problem.loss)
    first, top = shape.weights
    best = np.inf
    for w in product(first.values, repeat=shape.n_features):
        W = np.array([w])
        low = np.minimum(balls.low * W, balls.high * W).sum(axis=1)
        high = np.maximum(balls.low * W, balls.high * W).sum(axis=1)
        ends = [low, high]
        if balls.norm != "linf":
            dual = np.abs(W).max() if balls.norm == "l1" else np.linalg.norm(W)
            reach = (
                problem.loss.regions.radius * dual + problem.loss.regions.rounding * np.abs(W).sum()
            )
            ends += [balls.centre @ W[0] - reach, balls.centre @ W[0] + reach]
        sums = np.unique(np.concatenate(ends))
        levels = np.concatenate([[sums[0] - 1], (sums[1:] + sums[:-1]) / 2, [sums[-1] + 1]])
        for t, v in product(levels, product(top.values, repeat=shape.n_outputs)):
            V = np.array(v)[:, None]
            for T in product(np.arange(-1.5, 2.0, 0.5), repeat=shape.n_outputs - 1):
                network = Network(shape, (W, V), (np.array([t]), np.array([0.0, *T])))
                best = min(best, problem.value(network))
    return best


@pytest.mark.parametrize(("weights", "n_features"), in_turn(["binary", "ternary"], [1, 2]))
def test_optimum_of_one_unit_equals_enumeration(weights, n_features):
    problem = random_problem(20 + n_features, n_samples=5, n_features=n_features, weights=weights)
    expected = smallest_loss(problem)
    network, result = Exact().train(problem, budget=Budget(60), solver="cpsat")
    assert result.is_proven
    assert result.loss == result.bound == problem.value(network) == expected
    assert expected > 0


@pytest.mark.parametrize("norm", ["l1", *long("l2")])
@pytest.mark.parametrize("weights", ["ternary", *long("binary")])
def test_optimum_of_one_unit_in_other_balls_equals_enumeration(weights, norm):
    problem = random_problem(24, n_samples=5, n_features=2, weights=weights, norm=norm, radius=0.2)
    expected = smallest_loss(problem)
    network, result = Exact().train(problem, budget=Budget(60), solver="scip")
    assert result.is_proven
    assert result.loss == result.bound == problem.value(network) == expected
    assert expected > 0


@pytest.mark.parametrize("norm", ["linf", *long("l1", "l2")])
def test_a_deep_optimum_is_no_worse_than_search_and_random_networks(norm):
    problem = random_problem(
        7, n_samples=6, n_features=2, hidden=(2, 2), norm=norm, radius=0.15, weights="ternary"
    )
    network, result = Exact().train(problem, budget=Budget(120), solver="scip")
    assert result.is_proven
    assert result.loss == problem.value(network)
    assert 0 < result.loss <= Descent(patience=0.5).train(problem).result.loss
    rng = np.random.default_rng(0)
    assert min(problem.value(drawn(problem.architecture, rng)) for _ in range(400)) >= result.loss


def drawn(shape, rng):
    """A network of random weights, with thresholds among its sums."""
    weights = [
        rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
        for kind, size in zip(shape.weights, pairwise(shape.widths), strict=True)
    ]
    weights = [W.T for W in weights]
    thresholds = [rng.uniform(-1, 1, len(W)) for W in weights]
    if shape.thresholds != "neuron":
        thresholds = [np.full(len(t), t[0] * (shape.thresholds == "layer")) for t in thresholds]
    return Network(shape, tuple(weights), tuple(thresholds))


@pytest.mark.parametrize("n_classes", [2, *long(3)])
def test_solvers_and_search_agree(n_classes):
    problem = random_problem(5, n_features=2, n_classes=n_classes, hidden=(2,), radius=0.15)
    losses = {
        solver: Exact().train(problem, budget=Budget(120), solver=solver)[1]
        for solver in ("cpsat", "scip")
    }
    assert all(result.is_proven for result in losses.values())
    assert losses["cpsat"].loss == losses["scip"].loss
    _, both = Auto(patience=0.5).train(problem, budget=Budget(60))
    assert both.loss == both.bound == losses["cpsat"].loss


@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2", "continuous"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("hidden", [(3, 2), *long((3,), (2, 2, 2))])
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_a_lifted_network_breaks_no_row_and_reads_back(
    weights, thresholds, n_classes, hidden, norm
):
    lifted = 0
    for seed in range(6):
        problem = random_problem(
            seed, n_features=2, n_classes=n_classes, hidden=hidden, weights=weights,
            thresholds=thresholds, norm=norm,
        )  # fmt: skip
        network = drawn(problem.architecture, np.random.default_rng(seed))
        model = build(problem)
        start = model.lift(network)
        if start is None:
            assert weights == "continuous" or thresholds != "neuron" or norm != "linf"
            continue
        lifted += 1
        assert model.program.violation(start) <= 1e-6
        read = model.read(start)
        for mine, own in zip(read.weights, network.weights, strict=True):
            if weights == "continuous":
                # Units may be multiplied, so that their weights fill the box.
                own = own * (mine / own)[:, :1]
            np.testing.assert_allclose(mine, own)
        # A sum of 0 at a threshold of 0 is on in the model, and in doubt by rounding in the bound.
        if not (weights == "continuous" and thresholds == "zero" and len(hidden) > 1):
            assert problem.value(read) <= model.program.objective(start)
        if weights != "continuous" and thresholds == "neuron" and norm == "linf":
            assert model.program.objective(start) == problem.value(network)
    assert lifted > 0 or thresholds == "layer"


def test_continuous_weights_are_solved_with_a_margin():
    problem = random_problem(3, weights="continuous", hidden=(2,))
    network, result = Exact().train(problem, budget=Budget(60), solver="highs")
    assert result.loss == problem.value(network)
    assert result.is_proven


@pytest.mark.parametrize("norm", ["linf", *long("l1")])
@pytest.mark.parametrize("weights", ["ternary", *long("int:2")])
def test_terms_about_weights_work_together_with_regions(norm, weights):
    problem = random_problem(4, n_features=2, hidden=(2,), weights=weights, norm=norm)
    asked = [Sparsity(per_unit=1, total=5), Forbid(0), Monotone(1, +1), Regularizer(l1=0.125)]
    kept = constrain(problem, asked)
    model = NetworkModel.build(kept)
    engine = choose_solver(model.program)
    outcome = engine.solve(model.program, limits=Limits(seconds=60))
    network = model.read(outcome.solution)
    assert kept.is_feasible(network)
    assert float(kept.objective(network)) <= outcome.objective + 1e-6
    start = model.lift(network)
    assert model.program.violation(start) <= 1e-6
    assert model.program.objective(start) <= outcome.objective + 1e-6


@pytest.mark.parametrize(
    ("thresholds", "n_classes", "weights"),
    in_turn(product(["neuron", "layer", "zero"], [2, 3]), ["ternary", "continuous"]),
)
def test_terms_about_samples_see_points_beside_regions(weights, thresholds, n_classes):
    lifted = 0
    for seed in range(2):
        problem = random_problem(
            seed, n_samples=4, weights=weights, thresholds=thresholds, n_classes=n_classes
        )  # fmt: skip
        rows = LinearRows(lambda v: v.activations[-1][:3].sum() <= 3)
        margins = Regularizer(max_margin=0.25)
        asked = constrain(problem, [rows, margins])
        model = NetworkModel.build(asked)
        outcome = get_solver("highs").solve(model.program, limits=Limits(seconds=20))
        network = model.read(outcome.solution)
        assert asked.is_feasible(network)
        assert float(asked.objective(network)) <= outcome.objective + 1e-4
        start = model.lift(network)
        if start is not None:
            lifted += 1
            assert model.program.violation(start) <= 1e-6
            assert model.program.objective(start) >= float(asked.objective(network)) - 1e-6
    assert lifted > 0 or weights == "continuous"
