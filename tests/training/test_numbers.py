"""The search's losses are true, its bounds hold, and it ends as it is told to."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bdnn.bounds.states import Levels
from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.learning.smoothing import smoothed
from bdnn.network.architecture import Architecture
from bdnn.problem.create import regression
from bdnn.training import Descent, get_method
from bdnn.training.limits import Budget
from tests.oracle import smallest_regression_loss
from tests.problems import regression_problem

SHAPES = [
    {},
    {"kind": "absolute"},
    {"weights": "continuous"},
    {"weights": ["binary", "binary"]},
    {"weights": ["int:3", "int:2"]},
    {"thresholds": "zero"},
    {"thresholds": "zero", "weights": "continuous"},
    {"hidden": (3, 2), "weights": ["ternary", "ternary", "continuous"]},
    {"hidden": (3, 2), "weights": "continuous", "kind": "absolute"},
    {"hidden": (), "weights": "ternary"},
    {"n_outputs": 2, "weighted": True, "ridge": 0.3},
    {"thresholds": "layer"},
    {"thresholds": "layer", "weights": "continuous", "kind": "absolute"},
    {"activation": "ternary"},
    {"activation": "sign", "thresholds": "zero", "weights": "continuous"},
    {"activation": "levels:4", "thresholds": "layer", "hidden": (3, 2), "weights": "ternary"},
    {"activation": ["sign", "ternary"], "hidden": (2, 2), "weights": "ternary", "kind": "absolute"},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_search_is_true_and_reproducible(shape):
    problem = regression_problem(2, n_samples=15, **shape)
    budget = Budget(seconds=60, seed=5)
    network, result = Descent(kicks=2).train(problem, budget=budget)
    assert result.loss == pytest.approx(problem.value(network))
    assert result.bound <= result.loss <= problem.value(problem.constant_network()) + 1e-9
    again = Descent(kicks=2).train(problem, budget=budget)
    assert again.network == network
    losses = [moment.loss for moment in result.history]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_on_tiny_data_comes_near_the_optimum(seed):
    problem = regression_problem(seed)
    found = Descent().train(problem, budget=Budget(seconds=60)).result.loss
    wanted = smallest_regression_loss(problem)
    assert (
        wanted - 1e-9
        <= found
        <= wanted + 0.2 * (float(problem.loss.tolerance) / problem.loss.relative_tolerance)
    )


def test_without_compiled_code_units_are_drawn(monkeypatch):
    monkeypatch.setattr("bdnn.training.phases.numbers.wait_for_regression", lambda *_: False)
    problem = regression_problem(2, n_samples=40, hidden=(6, 5), weights="continuous")
    network, result = Descent().train(problem, budget=Budget(seconds=60))
    assert result.status == "time limit"
    assert "not loaded" in result.message
    assert problem.value(network) < problem.value(problem.constant_network())


def test_a_start_is_kept_or_improved():
    problem = regression_problem(8, n_samples=20)
    first = Descent(kicks=0).train(problem, budget=Budget(seed=1))
    second = Descent(kicks=0).train(problem, start=first.network, budget=Budget(seed=2))
    assert second.result.loss <= first.result.loss


def test_a_handler_ends_the_search_and_the_network_stays():
    problem = regression_problem(9, n_samples=40, hidden=(8,))
    moments = []

    def stop(moment):
        moments.append(moment)
        return moment.phase == "search"

    network, result = Descent().train(problem, on_progress=stop)
    assert result.status == "interrupted"
    assert problem.value(network) == pytest.approx(result.loss)
    assert moments


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("units", [1, 2])
def test_the_bound_by_levels_is_the_best_partition(kind, units):
    problem = regression_problem(
        10, n_samples=9, n_features=4, hidden=(units,), weights="continuous", kind=kind
    )
    # Absolute losses leave equal inputs apart, so partitions of all targets are what is compared.
    order = np.argsort(problem.loss.targets[:, 0])
    y, w = problem.loss.targets[order, 0], problem.loss.weight[order]

    def cost(part):
        if kind == "squared":
            return w[part] @ (y[part] - np.average(y[part], weights=w[part])) ** 2
        return min(w[part] @ np.abs(y[part] - c) for c in y[part])

    cuts = combinations(range(1, len(y)), 2**units - 1)
    best = min(sum(map(cost, np.split(np.arange(len(y)), cut))) for cut in cuts)
    (bound,) = Levels().bounds(problem, Slot())
    assert float(bound.value) == pytest.approx(problem.loss.offset + best, abs=1e-7)
    assert bound.condition.tolerance == problem.loss.tolerance


def test_wide_or_many_outputs_have_no_level_bound():
    assert not Levels().applies(regression_problem(1, n_outputs=2))
    assert not Levels().applies(regression_problem(1, hidden=(12,)))


def test_smoothing_takes_noise_off_and_keeps_the_mean_of_equal_inputs():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    clean = np.sin(2 * X[:, :1])
    noisy = clean + 0.5 * rng.normal(size=clean.shape)
    problem = regression(regression_problem(0).architecture, X, noisy, tolerance=1e-6)
    smooth = smoothed(problem, 1.0, np.random.default_rng(0))
    truth = np.sin(2 * problem.inputs[:, :1])
    assert ((smooth.loss.targets - truth) ** 2).mean() < 0.7 * (
        (problem.loss.targets - truth) ** 2
    ).mean()
    assert smooth.loss.offset == 0.0
    half = smoothed(problem, 0.5, np.random.default_rng(0))
    np.testing.assert_allclose(
        half.loss.targets, 0.5 * (smooth.loss.targets + problem.loss.targets)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"patience": 0}, "patience must be positive"), ({"kicks": -1}, "kicks must be 0 or more")],
)
def test_senseless_settings_are_refused(settings, message):
    with pytest.raises(ModelError, match=message):
        Descent(**settings).train(regression_problem(0))


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("activation", ["sign", "ternary", "values:-1/0/3"])
def test_units_of_other_values_are_trained(activation, kind):
    problem = regression_problem(
        2, n_samples=20, activation=activation, kind=kind, weights=["ternary", "continuous"]
    )
    network, result = Descent().train(problem, budget=Budget(seconds=60))
    assert result.loss == pytest.approx(problem.value(network))
    assert network.architecture == problem.architecture
    assert result.loss < problem.value(problem.constant_network())


@pytest.mark.parametrize("name", ["gradients", "local_search", "data_splitting"])
@pytest.mark.parametrize("kind", ["squared", "absolute"])
def test_methods_for_classes_learn_numbers(name, kind):
    X = np.random.default_rng(0).integers(-3, 4, (20, 2)).astype(float)
    shape = Architecture.create(2, 1, hidden=(3,), output="identity", weights="ternary")
    problem = regression(shape, X, 0.5 * X.sum(axis=1, keepdims=True), kind=kind)
    network, result = get_method(name).train(problem, budget=Budget(seconds=5))
    assert result.bound <= result.loss == float(problem.value(network))
    assert result.loss < problem.value(problem.constant_network())
