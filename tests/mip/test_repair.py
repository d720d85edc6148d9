"""Networks that lost what their activations promise get it back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bdnn.mip import NetworkModel, Reductions
from bdnn.mip.starts import repair
from bdnn.training import Budget, Exact
from tests.grids import in_turn
from tests.problems import random_problem


def solved(thresholds, hidden, reductions, weights="continuous", n_classes=2):
    problem = random_problem(
        6,
        n_samples=7,
        n_classes=n_classes,
        hidden=hidden,
        weights=weights,
        thresholds=thresholds,
    )
    network, result = Exact(reductions=reductions).train(problem, budget=Budget(seconds=60))
    assert result.is_proven
    model = NetworkModel.build(problem, reductions=reductions)
    solution = model.lift(network)
    assert solution is not None
    assert model.program.objective(solution) == pytest.approx(result.loss)
    return model, solution, result.loss


@pytest.mark.parametrize(
    ("thresholds", "hidden", "n_classes", "reductions"),
    in_turn(
        product(["neuron", "zero"], [(), (2,)], [2, 3]),
        [Reductions(), Reductions.none(), Reductions(one_sided=False)],
    ),
)
def test_weights_that_lost_their_claim_are_restored(thresholds, hidden, n_classes, reductions):
    model, solution, loss = solved(thresholds, hidden, reductions, n_classes=n_classes)
    rng = np.random.default_rng(0)
    lost = 0
    for size in (1e-6, 0.05, 0.5, 1.0):
        damaged = solution.copy()
        for layer in model.layers:
            damaged[layer.W] += size * rng.uniform(-1, 1, layer.W.shape)
            if layer.t is not None:
                damaged[layer.t] += size * rng.uniform(-1, 1, layer.t.shape)
        lost += model.problem.value(model.read(damaged)) > loss
        repaired = repair(model, damaged)
        assert repaired is not None
        # One-sided outputs may even gain where nothing held them to their answer.
        assert model.problem.value(repaired) <= loss
    assert lost


def test_a_unit_that_is_on_at_exactly_zero_is_restored():
    """Without thresholds a sum of 0 is on, and a solver's -1e-9 is not."""
    model, solution, loss = solved("zero", (2,), Reductions.none())
    damaged = solution.copy()
    damaged[model.layers[0].W] -= 1e-5 * np.sign(damaged[model.layers[0].W])
    damaged[model.layers[1].W] -= 1e-5
    repaired = repair(model, damaged)
    assert repaired is not None
    assert model.problem.value(repaired) == loss


def test_integer_layers_stay_as_they_are():
    model, solution, loss = solved(
        "neuron", (2,), Reductions.none(), weights=["ternary", "continuous"]
    )
    damaged = solution.copy()
    damaged[model.layers[1].W] = 0.0
    assert model.problem.value(model.read(damaged)) > loss
    repaired = repair(model, damaged)
    assert repaired is not None
    assert np.array_equal(repaired.weights[0], model.read(solution).weights[0])
    assert model.problem.value(repaired) == loss


def test_shared_thresholds_are_left_alone():
    model, solution, _ = solved("layer", (2,), Reductions.none())
    assert repair(model, solution) is None


def test_activations_that_no_weights_have_cannot_be_repaired():
    model, solution, _ = solved("neuron", (2,), Reductions.none())
    impossible = solution.copy()
    order = np.argsort(model.problem.inputs[:, 0])
    # On and off in turns along a line is more than one unit can do.
    impossible[model.steps[0].u[order, 0]] = np.arange(len(order)) % 2
    assert repair(model, impossible) is None
