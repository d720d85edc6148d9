"""Further samples: what of an earlier bound holds, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.formulation.growth import GrowingModel
from bdnn.problem import TrainingProblem
from bdnn.search.bounds import lower_bound
from bdnn.training import Auto, Budget, DataSplitting, Descent, Exact, LocalSearch
from bdnn.training.incremental import Earlier
from tests.oracle import smallest_loss
from tests.problems import XOR

BUDGET = Budget(seconds=120)
METHODS = [Exact(), Auto(patience=120), Descent(objectives=("loss",))]


def samples(seed, n_samples=10, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n_samples, 2)).astype(float)
    return X, rng.integers(0, n_classes, n_samples), rng.integers(1, 4, n_samples).astype(float)


def problem_of(X, y, weight=None, **options):
    shape = Architecture.create(2, 2, **{"hidden": (1,), **options})
    return TrainingProblem.from_samples(shape, X, y, weight)


def earlier_of(problem, bound=None, origin="solver test"):
    best = smallest_loss(problem)
    return Earlier(problem, problem.constant_network(), best if bound is None else bound, origin)


@pytest.mark.parametrize("seconds", [0.0, 10.0])
@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2"])
@pytest.mark.parametrize("hidden", [(), (1,), (2,)])
def test_a_carried_bound_never_exceeds_the_optimum(weights, hidden, seconds):
    helped = 0
    for seed in range(12):
        X, y, weight = samples(seed)
        before = problem_of(X[:6], y[:6], weight[:6], weights=weights, hidden=hidden)
        after = problem_of(X, y, weight, weights=weights, hidden=hidden)
        carried = earlier_of(before).bound_on(after, seconds=seconds)
        assert smallest_loss(before) <= carried.value <= smallest_loss(after)
        helped += carried.value > lower_bound(after).value
    # One unit's bound is the optimum itself, and two units of many weights err on no such samples.
    assert helped or hidden != (2,) or weights == "int:2"


def test_new_weights_of_earlier_samples_scale_the_bound():
    for seed in range(20):
        X, y, weight = samples(seed)
        before = problem_of(X[:7], y[:7], weight[:7], hidden=(2,))
        factor = np.array([0.5, 1.5])[y]  # as balanced classes would change them
        after = problem_of(X, y, weight * factor, hidden=(2,))
        best = smallest_loss(after)
        assert earlier_of(before).bound_on(after).value <= best + 1e-9
        heavier = problem_of(X[:7], y[:7], 3 * weight[:7], hidden=(2,))
        assert earlier_of(before).bound_on(heavier).value == pytest.approx(
            3 * smallest_loss(before)
        )


def test_a_vanished_sample_leaves_nothing_of_the_bound():
    X, y, _ = samples(0)
    before = problem_of(X, y, hidden=(2,))
    assert before.conflict_bound > 0
    after = problem_of(X[7:], y[7:], hidden=(2,))
    assert earlier_of(before).bound_on(after).value <= smallest_loss(after)


def test_the_origin_names_both_parts_once():
    X, y, _ = samples(3, 12)
    before, middle, after = (problem_of(X[:n], y[:n], hidden=(2,)) for n in (4, 8, 12))
    first = earlier_of(before, origin="solver test, for units that keep a margin of 1")
    second = first.bound_on(middle)
    third = Earlier(middle, middle.constant_network(), *second).bound_on(after)
    for bound in (second, third):
        assert bound.origin.count("on earlier samples") == 1
        assert "margin" in bound.origin
    assert first.is_conditional


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_training_goes_on_to_the_enumerated_optimum(method, weights):
    for seed in (1, 3):
        X, y, weight = samples(seed, 8)
        before, after = (problem_of(X[:n], y[:n], weight[:n], weights=weights) for n in (5, 8))
        models = GrowingModel()
        network, result = method.train(before, budget=BUDGET, models=models)
        earlier = Earlier(before, network, result.bound, result.bound_origin)
        network, result = method.train(after, budget=BUDGET, earlier=earlier, models=models)
        best = smallest_loss(after)
        assert result.bound <= best <= result.loss == after.loss(network)
        if method.name != "descent":
            assert (result.status, result.loss) == ("optimal", best)


def test_samples_that_the_network_gets_right_need_no_solver():
    before = problem_of(XOR, np.array([0, 1, 1, 0]))
    network, result = Exact().train(before, budget=BUDGET)
    assert result.loss == result.bound > 0
    assert result.solver
    right = np.flatnonzero((network.outputs(before.inputs) == before.mass).all(axis=1))
    labels = before.mass.argmax(axis=1)
    after = problem_of(
        np.vstack([before.inputs, before.inputs[right]]), np.append(labels, labels[right])
    )
    earlier = Earlier(before, network, result.bound, result.bound_origin)
    _, result = Exact().train(after, budget=BUDGET, earlier=earlier)
    assert (result.status, result.solver, result.loss) == ("optimal", "", smallest_loss(after))
    assert "on earlier samples" in result.bound_origin


def test_a_bound_for_networks_with_a_margin_gives_way_to_a_better_network():
    X, y, _ = samples(4)
    problem = problem_of(X, y)
    best = smallest_loss(problem)
    wrong = Earlier(
        problem, problem.constant_network(), best + 2, "solver test, for units that keep a margin"
    )
    _, result = Exact().train(problem, budget=BUDGET, earlier=wrong)
    assert (result.loss, result.bound, result.status) == (best, best, "optimal")


@pytest.mark.parametrize("method", [LocalSearch(), DataSplitting()], ids=lambda m: m.name)
def test_other_methods_refuse(method):
    X, y, _ = samples(0)
    problem = problem_of(X, y)
    with pytest.raises(ModelError, match=f"'{method.name}' cannot go on with further samples"):
        method.train(problem, earlier=earlier_of(problem))
