"""Further samples: what of an earlier bound holds, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bdnn.bounds import lower_bound
from bdnn.bounds.previous import PreviousFit
from bdnn.clock import Slot
from bdnn.mip.model import GrowingModel
from bdnn.network.architecture import Architecture
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.losses.output import classification
from bdnn.training import Auto, Budget, DataSplitting, Descent, Exact, LocalSearch
from tests.oracle import smallest_loss
from tests.problems import XOR

ALWAYS = Condition()
BUDGET = Budget(seconds=120)
METHODS = [Exact(), Auto(patience=30), Descent(objectives=("loss",))]


def samples(seed, n_samples=10, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n_samples, 2)).astype(float)
    return X, rng.integers(0, n_classes, n_samples), rng.integers(1, 4, n_samples).astype(float)


def problem_of(X, y, weight=None, **options):
    shape = Architecture.create(2, 2, **{"hidden": (1,), **options})
    return classification(shape, X, y, weight)


def earlier_of(problem, bound=None, origin="solver test", condition=ALWAYS):
    best = smallest_loss(problem)
    value = Fraction(best if bound is None else bound)
    return PreviousFit(problem, problem.constant_network(), Bound(value, origin, condition))


def carried_by(earlier, problem, seconds=0.0):
    """The last bound: without time that of the conflicts among new samples."""
    assert earlier.applies(problem)
    return list(earlier.bounds(problem, Slot.of(seconds)))[-1]


@pytest.mark.parametrize("seconds", [0.0, 10.0])
@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2"])
@pytest.mark.parametrize("hidden", [(), (1,), (2,)])
def test_a_carried_bound_never_exceeds_the_optimum(weights, hidden, seconds):
    helped = 0
    for seed in range(12):
        X, y, weight = samples(seed)
        before = problem_of(X[:6], y[:6], weight[:6], weights=weights, hidden=hidden)
        after = problem_of(X, y, weight, weights=weights, hidden=hidden)
        carried = carried_by(earlier_of(before), after, seconds)
        assert smallest_loss(before) <= carried.value <= smallest_loss(after)
        helped += carried.value > lower_bound(after, Slot.of(10)).value
    # One unit's bound is the optimum itself, and two units of many weights err on no such samples.
    assert helped or hidden != (2,) or weights == "int:2"


def test_new_weights_of_earlier_samples_scale_the_bound():
    for seed in range(20):
        X, y, weight = samples(seed)
        before = problem_of(X[:7], y[:7], weight[:7], hidden=(2,))
        factor = np.array([0.5, 1.5])[y]  # as balanced classes would change them
        after = problem_of(X, y, weight * factor, hidden=(2,))
        best = smallest_loss(after)
        assert carried_by(earlier_of(before), after).value <= best + 1e-9
        heavier = problem_of(X[:7], y[:7], 3 * weight[:7], hidden=(2,))
        assert carried_by(earlier_of(before), heavier).value == pytest.approx(
            3 * smallest_loss(before)
        )


def test_a_vanished_sample_leaves_nothing_of_the_bound():
    X, y, _ = samples(0)
    before = problem_of(X, y, hidden=(2,))
    assert before.floor > 0
    after = problem_of(X[7:], y[7:], hidden=(2,))
    assert carried_by(earlier_of(before), after).value <= smallest_loss(after)


def test_the_origin_names_both_parts_once():
    X, y, _ = samples(3, 12)
    before, middle, after = (problem_of(X[:n], y[:n], hidden=(2,)) for n in (4, 8, 12))
    first = earlier_of(before, condition=Condition(margin=1.0))
    second = carried_by(first, middle)
    third = carried_by(PreviousFit(middle, middle.constant_network(), second), after)
    for bound in (second, third):
        assert bound.origin.count("on earlier samples") == 1
        assert bound.condition == Condition(margin=1.0)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_training_goes_on_to_the_enumerated_optimum(method, weights):
    for seed in (1, 3):
        X, y, weight = samples(seed, 8)
        before, after = (problem_of(X[:n], y[:n], weight[:n], weights=weights) for n in (5, 8))
        models = GrowingModel()
        network, result = method.train(before, budget=BUDGET, models=models)
        earlier = PreviousFit(before, network, result.proof)
        network, result = method.train(after, budget=BUDGET, earlier=earlier, models=models)
        best = smallest_loss(after)
        assert result.bound <= best <= result.loss == after.value(network)
        if method.name != "descent":
            assert (result.is_proven, result.loss) == (True, best)


def test_samples_that_the_network_gets_right_need_no_solver():
    before = problem_of(XOR, np.array([0, 1, 1, 0]))
    network, result = Exact().train(before, budget=BUDGET)
    assert result.loss == result.bound > 0
    assert result.solver
    right = np.flatnonzero((network.outputs(before.inputs) == before.loss.label_weight).all(axis=1))
    labels = before.loss.label_weight.argmax(axis=1)
    after = problem_of(
        np.vstack([before.inputs, before.inputs[right]]), np.append(labels, labels[right])
    )
    earlier = PreviousFit(before, network, result.proof)
    _, result = Exact().train(after, budget=BUDGET, earlier=earlier)
    assert (result.status, result.solver, result.loss) == ("optimal", "", smallest_loss(after))
    assert "on earlier samples" in result.bound_origin


def test_a_bound_for_networks_with_a_margin_gives_way_to_a_better_network():
    X, y, _ = samples(4)
    problem = problem_of(X, y)
    best = smallest_loss(problem)
    wrong = earlier_of(problem, best + 2, condition=Condition(margin=1e-4))
    _, result = Exact().train(problem, budget=BUDGET, earlier=wrong)
    assert (result.loss, result.bound, result.status) == (best, best, "optimal")


@pytest.mark.parametrize("method", [LocalSearch(), DataSplitting()], ids=lambda m: m.name)
def test_other_methods_go_on_too(method):
    X, y, _ = samples(0)
    problem = problem_of(X, y)
    best = smallest_loss(problem)
    network, result = method.train(problem, budget=BUDGET, earlier=earlier_of(problem, best))
    assert result.bound == best <= result.loss == problem.value(network)
