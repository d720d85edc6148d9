"""Tiny networks: every solver finds the smallest loss that enumeration finds."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from bdnn.errors import UnsupportedFeatureError
from bdnn.mip import Reductions
from bdnn.solvers.registry import available_solvers
from bdnn.training import Budget, Exact
from tests.oracle import smallest_loss
from tests.problems import random_problem, weighted, xor

BUDGET = Budget(seconds=60)
WEIGHTS = ("continuous", "ternary", "binary", "int:2")
THRESHOLDS = ("neuron", "layer", "zero")
HIDDEN = ((), (2,), (2, 2))


def table():
    """Every weight set with every kind of threshold and depth, on every solver.

    Classes, sample weights and reductions alternate, so that each meets each of the others. In the
    quick run solvers take turns, so that every network still meets one of them.
    """
    grid = list(product(WEIGHTS, THRESHOLDS, HIDDEN))
    for number, (weights, thresholds, hidden) in enumerate(grid):
        solvers = [
            name for name in available_solvers() if (weights, name) != ("continuous", "cpsat")
        ]
        for turn, solver in enumerate(solvers):
            # Branch and bound is slow on two layers of integer weights with three classes.
            deep = len(hidden) == 2
            n_classes = 2 if deep else 2 + (number // 2) % 2
            yield pytest.param(
                solver,
                weights,
                thresholds,
                hidden,
                n_classes,
                bool(number % 2),
                marks=pytest.mark.long if (number + turn) % len(solvers) else (),
                id=f"{solver}-{weights}-{thresholds}-{len(hidden)}-{n_classes}",
            )


@cache
def case(weights, thresholds, hidden, n_classes, weighted):
    problem = random_problem(
        len(hidden) + n_classes,
        n_samples=4 if len(hidden) == 2 else 6,
        n_classes=n_classes,
        weights=weights,
        thresholds=thresholds,
        hidden=hidden,
        weighted=weighted,
    )
    return problem, smallest_loss(problem)


@pytest.mark.parametrize(
    ("solver", "weights", "thresholds", "hidden", "n_classes", "weighted"), list(table())
)
def test_smallest_loss(solver, weights, thresholds, hidden, n_classes, weighted):
    problem, best = case(weights, thresholds, hidden, n_classes, weighted)
    for reductions in (Reductions(), Reductions.none()):
        network, result = Exact(reductions=reductions).train(problem, solver=solver, budget=BUDGET)
        assert (result.is_proven, result.loss, result.bound) == (True, best, best)
        assert problem.value(network) == best
        assert result.gap == 0.0
        assert result.message == ""


@pytest.mark.parametrize("solver", available_solvers())
def test_weight_sets_that_differ_between_layers(solver):
    problem = random_problem(8, hidden=(2,), weights=["binary", "int:2"], n_samples=5)
    _, result = Exact().train(problem, solver=solver, budget=BUDGET)
    assert (result.is_proven, result.loss) == (True, smallest_loss(problem))


@pytest.mark.parametrize("solver", [s for s in available_solvers() if s != "cpsat"])
def test_continuous_and_integer_layers_in_one_network(solver):
    problem = random_problem(8, hidden=(2,), weights=["continuous", "ternary"], n_samples=5)
    _, result = Exact().train(problem, solver=solver, budget=BUDGET)
    assert (result.is_proven, result.loss) == (True, smallest_loss(problem))


@pytest.mark.parametrize("solver", available_solvers())
def test_weights_of_samples_that_are_no_integers(solver):
    problem = random_problem(1, n_samples=8, hidden=())
    problem = weighted(problem.architecture, problem.inputs, problem.loss.label_weight * 0.1 + 0.01)
    best = smallest_loss(problem)
    assert best > problem.floor
    _, result = Exact().train(problem, solver=solver, budget=BUDGET)
    assert result.is_proven
    assert result.loss == pytest.approx(float(best), abs=1e-12)


@pytest.mark.parametrize("solver", available_solvers())
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_xor_needs_thresholds(solver, thresholds):
    problem = xor(thresholds=thresholds)
    network, result = Exact().train(problem, solver=solver, budget=BUDGET)
    assert result.is_proven
    assert result.loss == smallest_loss(problem)
    if thresholds == "neuron":
        assert result.loss == result.error == 0.0
        assert network.predict(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).tolist() == [0, 1, 1, 0]


def test_cpsat_says_that_it_has_no_continuous_weights():
    problem = random_problem(1, weights="continuous", hidden=())
    with pytest.raises(UnsupportedFeatureError, match="continuous variables"):
        Exact().train(problem, solver="cpsat")
