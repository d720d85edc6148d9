"""Robust rows: the optimum equals enumeration over networks that keep their activations."""

from itertools import product

import numpy as np
import pytest

from bdnn.mip import NetworkModel, Reductions
from bdnn.mip.freedom import FreeLayer
from bdnn.network.network import Network
from bdnn.problem.create import with_pattern
from bdnn.problem.pattern import Pattern
from bdnn.search import random_start
from bdnn.solvers import Highs, choose_solver
from bdnn.training import Exact
from tests.grids import in_turn
from tests.problems import random_problem, xor

NORMS = ("linf", "l1", "l2")


def robust_units(problem, radius, norm, limit=1):
    """Sets of inputs that one ternary unit can switch on with its sums far from its threshold."""
    X, found = problem.inputs, set()
    order = {"linf": 1, "l1": np.inf, "l2": 2}[norm]
    for w in product(range(-limit, limit + 1), repeat=X.shape[1]):
        sums = X @ np.array(w, dtype=float)
        reach = radius * np.linalg.norm(w, ord=order)
        for on in {tuple(sums >= level) for level in [*sums, np.inf]}:
            mask = np.array(on)
            low = (sums[mask] - reach[mask]).min(initial=np.inf)
            high = (sums[~mask] + reach[~mask]).max(initial=-np.inf)
            if high < low:
                found.add(on)
    return sorted(found)


def smallest_loss(problem, radius, norm):
    """Over all pairs of robust hidden units and all outputs; one hidden layer of two units."""
    best = np.inf
    for first, second in product(robust_units(problem, radius, norm), repeat=2):
        hidden = np.stack([first, second], axis=1).astype(float)
        loss = 0.0
        for label in range(problem.loss.label_weight.shape[1]):
            costs = []
            for w in product((-1, 0, 1), repeat=2):
                sums = hidden @ np.array(w, dtype=float)
                for level in [*sums, np.inf]:
                    on = sums >= level
                    costs.append(
                        np.where(
                            on, problem.loss.cost_on[:, label], problem.loss.cost_off[:, label]
                        ).sum()
                    )
            loss += min(costs)
        best = min(best, loss)
    return best


@pytest.mark.parametrize(("norm", "radius"), in_turn(NORMS, [0.3, 1.0, "per input"]))
def test_optimum_equals_enumeration(norm, radius):
    for seed in range(3):
        problem = random_problem(seed, n_samples=6, hidden=(2,))
        n_inputs = len(problem.inputs)
        radii = np.linspace(0.0, 0.9, n_inputs) if radius == "per input" else radius
        each = np.broadcast_to(np.asarray(radii, dtype=float), (n_inputs,))
        network, result = Exact().train(with_pattern(problem, radii, norm))
        assert result.is_proven
        assert result.loss == smallest_loss(problem, each, norm)
        # What the rows promise is asked of the network that is returned.
        order = {"linf": 1, "l1": np.inf, "l2": 2}[norm]
        W, t = network.weights[0], network.step_thresholds[0]
        distance = np.abs(problem.inputs @ W.T - t)
        assert (distance >= each[:, None] * np.linalg.norm(W, ord=order, axis=1) - 1e-12).all()


@pytest.mark.parametrize("norm", NORMS)
def test_a_free_first_layer_below_fixed_outputs_equals_enumeration(norm):
    for seed in range(3):
        problem = random_problem(seed, n_samples=7, hidden=(2,))
        network = random_start(problem, np.random.default_rng(seed))
        radius = np.linspace(0.1, 0.6, len(problem.inputs))
        robust = Pattern.create(radius, norm, len(problem.inputs))
        model = FreeLayer.build(with_pattern(problem, radius, norm), network, 0)
        outcome = choose_solver(model.program).solve(model.program)
        W, t = network.weights[1], network.step_thresholds[1]
        best = min(
            problem.loss.of_outputs(t <= np.array(units, dtype=float).T @ W.T)
            for units in product(robust_units(problem, radius, norm), repeat=2)
        )
        assert outcome.objective == pytest.approx(best)
        found = model.read(outcome.solution)
        assert robust.holds(found, problem.inputs).all()
        assert (found.weights[1] == W).all()
        start = model.lift(found)
        assert start is not None
        assert model.program.objective(start) == pytest.approx(best)


@pytest.mark.parametrize("weights", ["continuous", "ternary", "binary"])
@pytest.mark.parametrize("norm", NORMS[:2])
def test_reductions_and_starts(weights, norm):
    problem = random_problem(3, n_samples=5, hidden=(2,), weights=weights)
    robust = Pattern.create(0.25, norm, len(problem.inputs))
    losses = set()
    for reductions in (Reductions(), Reductions.none()):
        asked = with_pattern(problem, 0.25, norm)
        model = NetworkModel.build(asked, reductions=reductions)
        found = Highs().solve(model.program)
        network = model.read(found.solution)
        assert robust.holds(network, problem.inputs).all()
        losses.add(round(found.objective, 6))
        start = model.lift(network)
        assert start is not None
        assert model.program.violation(start) <= 1e-6
        # Continuous weights are blown up to the box on the way.
        again = model.read(start)
        assert robust.holds(again, problem.inputs).all()
        assert (again.outputs(problem.inputs) == network.outputs(problem.inputs)).all()
    assert len(losses) == 1


def test_single_layer_of_outputs_is_robust():
    problem = random_problem(5, n_samples=6, hidden=())
    network, result = Exact().train(with_pattern(problem, 0.4))
    assert result.is_proven
    assert Pattern.create(0.4, "linf", len(problem.inputs)).holds(network, problem.inputs).all()
    assert result.loss >= Exact().train(problem)[1].loss


def test_a_radius_too_large_leaves_a_constant_network():
    problem = xor()
    network, result = Exact().train(with_pattern(problem, 5.0))
    assert result.is_proven
    assert result.loss == 4  # two of four samples wrong, at two outputs each
    assert len(np.unique(network.predict(problem.inputs))) == 1


def test_a_network_that_breaks_the_promise_is_seen():
    problem = xor()
    network = Network(
        problem.architecture,
        (np.ones((2, 2)), np.ones((2, 2))),
        (np.array([0.5, 1.5]), np.array([0.5, 1.5])),
    )
    holds = Pattern.create([0.2, 0.3, 0.2, 0.3], "linf", 4).holds(network, problem.inputs)
    assert holds.tolist() == [True, False, True, False]
