"""The program of certified training: starts, readings, and optima against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bdnn.architecture import Architecture
from bdnn.formulation.certified import CertifiedModel
from bdnn.network import Network
from bdnn.scaling import Scaler
from bdnn.training import Budget
from bdnn.training.certified import Certified, CertifiedProblem


def random_problem(seed, n_samples=7, n_features=1, n_classes=2, radius=0.12, **options):
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, n_features))
    labels = np.append(np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes))
    shape = Architecture.create(n_features, n_classes, **{"hidden": (1,), **options})
    # A coarse grid keeps the number of different thresholds small.
    scaler = Scaler("minmax", np.zeros(n_features), np.ones(n_features), 2.0**-4)
    radii = np.full(n_samples, radius)
    return CertifiedProblem.create(shape, scaler, X, labels, radii, "linf")


def build(problem, eps=1e-4):
    balls = problem.balls
    return CertifiedModel.build(
        problem.architecture, balls.low, balls.high, balls.labels, balls.mass, eps=eps
    )


def smallest_loss(problem):
    """Least certified loss over all networks of one hidden unit with integer weights."""
    shape, balls = problem.architecture, problem.balls
    first, top = shape.weights
    best = np.inf
    for w in product(first.values, repeat=shape.n_features):
        W = np.array([w])
        low = np.minimum(balls.low * W, balls.high * W).sum(axis=1)
        high = np.maximum(balls.low * W, balls.high * W).sum(axis=1)
        sums = np.unique(np.concatenate([low, high]))
        levels = np.concatenate([[sums[0] - 1], (sums[1:] + sums[:-1]) / 2, [sums[-1] + 1]])
        for t, v in product(levels, product(top.values, repeat=shape.n_outputs)):
            V = np.array(v)[:, None]
            for T in product(np.arange(-1.5, 2.0, 0.5), repeat=shape.n_outputs - 1):
                network = Network(shape, (W, V), (np.array([t]), np.array([0.0, *T])))
                best = min(best, problem.loss(network))
    return best


@pytest.mark.parametrize("weights", ["ternary", "binary"])
@pytest.mark.parametrize("n_features", [1, 2])
def test_optimum_of_one_unit_equals_enumeration(weights, n_features):
    problem = random_problem(20 + n_features, n_samples=5, n_features=n_features, weights=weights)
    expected = smallest_loss(problem)
    network, result = Certified(search=False).train(problem, budget=Budget(60), solver="cpsat")
    assert result.status == "optimal"
    assert result.loss == result.bound == problem.loss(network) == expected
    assert expected > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_solvers_and_search_agree(n_classes):
    problem = random_problem(5, n_features=2, n_classes=n_classes, hidden=(2,), radius=0.15)
    losses = {
        solver: Certified(search=False).train(problem, budget=Budget(120), solver=solver)[1]
        for solver in ("cpsat", "scip")
    }
    assert {r.status for r in losses.values()} == {"optimal"}
    assert losses["cpsat"].loss == losses["scip"].loss
    _, both = Certified(patience=0.5).train(problem, budget=Budget(60))
    assert both.loss == both.bound == losses["cpsat"].loss


@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2", "continuous"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_lifted_network_breaks_no_row_and_reads_back(weights, thresholds, n_classes):
    lifted = 0
    for seed in range(6):
        problem = random_problem(
            seed, n_features=2, n_classes=n_classes, hidden=(3,), weights=weights,
            thresholds=thresholds,
        )  # fmt: skip
        shape, rng = problem.architecture, np.random.default_rng(seed)
        first, top = shape.weights
        W, V = (
            rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
            for kind, size in ((first, (3, 2)), (top, (n_classes, 3)))
        )
        t, T = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, n_classes)
        if thresholds != "neuron":
            t, T = (np.full(len(x), x[0] * (thresholds == "layer")) for x in (t, T))
        network = Network(shape, (W, V), (t, T))
        model = build(problem)
        start = model.lift(network)
        if start is None:
            assert weights == "continuous" or thresholds != "neuron"
            continue
        lifted += 1
        assert model.program.violation(start) <= 1e-6
        read = model.read(start)
        assert (read.weights[0] == W).all()
        assert problem.loss(read) <= model.program.objective(start)
        if weights != "continuous" and thresholds == "neuron":
            assert model.program.objective(start) == problem.loss(network)
    assert lifted > 0


def test_continuous_weights_are_solved_with_a_margin():
    problem = random_problem(3, weights="continuous", hidden=(2,))
    network, result = Certified(search=False).train(problem, budget=Budget(60), solver="highs")
    assert result.loss == problem.loss(network)
    assert result.status == "optimal"
