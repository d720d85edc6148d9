"""The search methods as training methods: truth, limits, reproducibility, choice by validation."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bdnn import datasets
from bdnn.encoding import Encoder
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search.objective import Objective, hinge
from bdnn.training import Auto, Budget, Descent, Exact, LocalSearch, Run
from tests.grids import long
from tests.oracle import smallest_loss
from tests.problems import random_problem, weighted, xor

METHODS = [Auto(), Descent()]


def breast_cancer(hidden, rows=slice(None), **options):
    data = datasets.load("breast-cancer")
    shape = Architecture.create(9, 2, hidden=hidden, **options)
    X = data.X[rows]
    scaler = Encoder.fit(X, "standard", weights=shape.weights[0])
    labels = (data.y[rows] == "malignant").astype(int)
    return classification(shape, scaler.transform(X), labels)


# Patience enough for a proof on a busy machine; more of it also makes the search go on for longer.
@pytest.mark.parametrize("method", [Auto(patience=30), Descent()], ids=lambda m: m.name)
@pytest.mark.parametrize("thresholds", ["neuron", *long("layer", "zero")])
@pytest.mark.parametrize("weights", ["ternary", *long("continuous", "binary", "int:2")])
def test_loss_and_bound_enclose_the_enumerated_optimum(method, weights, thresholds):
    problem = random_problem(
        7, n_samples=6, n_classes=3, weights=weights, thresholds=thresholds, hidden=(2,)
    )
    network, result = method.train(problem, budget=Budget(seconds=200, seed=1))
    best = smallest_loss(problem)
    assert result.bound <= best <= result.loss == problem.value(network)
    if method.name == "auto":
        # Of continuous weights a solver only knows networks that keep a margin, and says so.
        condition = " among networks that keep a margin" if weights == "continuous" else ""
        assert result.status.startswith(f"optimal{condition}")
        assert result.loss == best
        assert condition or result.status == "optimal"


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_zero_loss_is_a_proof_without_a_solver(method):
    _, result = method.train(xor(), budget=Budget(seconds=10, seed=0))
    assert (result.status, result.loss, result.bound, result.solver) == ("optimal", 0, 0, "")
    assert result.error == 0


@pytest.mark.parametrize("weights", ["continuous", "ternary"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_the_papers_breast_cancer_network_is_proven_optimal(weights, thresholds):
    problem = breast_cancer((25,), rows=slice(0, 559), weights=weights, thresholds=thresholds)
    _, result = Descent(objectives=("loss",), patience=60).train(
        problem, budget=Budget(seconds=60, seed=0)
    )
    assert (result.status, result.loss) == ("optimal", 0.0)


def test_the_margin_grows_at_the_same_loss():
    problem = breast_cancer((10,), rows=slice(0, 300))
    plain, first = Descent(objectives=("loss",)).train(problem, budget=Budget(30, seed=3))
    wide, second = Descent().train(problem, budget=Budget(30, seed=3), start=plain)
    assert first.loss == second.loss == 0
    assert hinge(problem, wide, 6.0) < hinge(problem, plain, 6.0)


def test_sparsity_removes_weights_at_the_same_loss():
    problem = breast_cancer((10,), rows=slice(0, 300))
    dense, first = Descent(objectives=("loss",)).train(problem, budget=Budget(30, seed=3))
    sparse, second = Descent(objectives=("loss", "sparsity")).train(
        problem, budget=Budget(30, seed=3)
    )
    assert second.loss <= first.loss
    weights = [sum(np.count_nonzero(W) for W in n.weights) for n in (dense, sparse)]
    assert weights[1] < weights[0]


def test_threads_do_not_change_the_network():
    problem = breast_cancer((4,), rows=slice(0, 150))
    budgets = [Budget(seconds=60, threads=n, seed=5) for n in (1, 2)]
    one, two = (Descent(patience=60).train(problem, budget=budget) for budget in budgets)
    assert one.network == two.network
    assert one.result.loss == two.result.loss


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_history_only_improves(method):
    problem = breast_cancer((2,), rows=slice(0, 250))
    _, result = method.train(problem, budget=Budget(seconds=1, seed=0))
    losses = [moment.loss for moment in result.history]
    bounds = [moment.bound for moment in result.history]
    assert losses == sorted(losses, reverse=True)
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize("seconds", [0.3, *long(1.0)])
def test_time_limit_holds(method, seconds):
    problem = breast_cancer((2,))
    Descent().train(xor(), budget=Budget(seconds=60))  # compiled code is loaded before
    started = time.perf_counter()
    _, result = method.train(problem, budget=Budget(seconds=seconds, seed=0))
    assert time.perf_counter() - started <= 1.1 * seconds + 1.0
    assert np.isfinite(result.loss)


def test_a_run_that_stops_paying_ends_and_says_so():
    # Two units leave a gap that only minutes of search could close, on a machine of any speed.
    problem = breast_cancer((2,))
    _, result = Descent(patience=1.0).train(problem, budget=Budget(seconds=60, seed=0))
    assert "stopped paying" in result.message


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_callback_ends_the_run_and_the_network_is_kept(method):
    problem = breast_cancer((3,))
    seen = []

    def stop(moment):
        seen.append(moment)
        return moment.phase == "search"

    network, result = method.train(problem, budget=Budget(seconds=30, seed=0), on_progress=stop)
    assert result.status == "interrupted"
    assert result.loss == problem.value(network) == min(moment.loss for moment in seen)


def test_a_given_network_is_where_the_search_begins():
    problem = breast_cancer((5,), rows=slice(0, 200))
    start = Descent().train(problem, budget=Budget(seconds=20, seed=0)).network
    _, result = Descent(objectives=("loss",)).train(
        problem, budget=Budget(seconds=5, seed=1), start=start
    )
    assert result.loss <= problem.value(start)


def test_deep_networks_are_no_worse_than_shallow_ones():
    shallow = breast_cancer((8,), rows=slice(0, 300))
    deep = breast_cancer((8, 8, 8), rows=slice(0, 300))
    losses = [
        Descent(objectives=("loss",)).train(problem, budget=Budget(seconds=20, seed=0)).result.loss
        for problem in (shallow, deep)
    ]
    assert losses[1] <= losses[0]


def test_margin_first_accepts_training_errors():
    # Three units can be right about all samples, if many of these may be close calls.
    problem = breast_cancer((3,), rows=slice(0, 150))
    (right, first), (wide, second) = (
        Descent(objectives=(objective,), patience=1).train(problem, budget=Budget(60, seed=0))
        for objective in ("loss", "margin")
    )
    wanted = Objective.create(("margin",), problem.architecture).wanted_margin
    assert first.loss == 0 < second.loss == problem.value(wide)
    assert hinge(problem, wide, wanted) < hinge(problem, right, wanted)


def test_validation_chooses_among_networks():
    data = breast_cancer((10,))
    half = len(data.inputs) // 2
    parts = [
        weighted(data.architecture, data.inputs[rows], data.loss.label_weight[rows])
        for rows in (slice(0, half), slice(half, None))
    ]
    network, result = Auto().train(parts[0], validation=parts[1], budget=Budget(seconds=20, seed=0))
    plain, _ = Auto().train(parts[0], budget=Budget(seconds=20, seed=0))
    assert parts[1].error(network) <= parts[1].error(plain) + 0.01
    assert result.loss == parts[0].value(network)
    for other in (Exact(), LocalSearch()):
        network, _ = other.train(parts[0], validation=parts[1], budget=Budget(seconds=1, seed=0))
        assert parts[1].error(network) < 0.5


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (Descent(objectives=()), "objectives"),
        (Descent(objectives=("loss", "loss")), "objectives"),
        (Auto(objectives=("speed",)), "objectives"),
        (Auto(wanted_margin=-1.0), "wanted_margin"),
        (Descent(patience=0.0), "patience"),
        (Descent(start="nowhere"), "start"),
    ],
)
def test_bad_settings_are_named(method, word):
    with pytest.raises(ModelError, match=word):
        method.train(breast_cancer((2,), rows=slice(0, 60)), budget=Budget(seconds=5))


def test_where_judging_takes_all_the_time_the_start_is_all(monkeypatch):
    offer = Run.offer

    def slow_offer(self, *arguments, **options):
        kept = offer(self, *arguments, **options)
        self.pass_seconds = 1.0
        return kept

    monkeypatch.setattr(Run, "offer", slow_offer)
    problem = breast_cancer((1,))
    network, result = Descent().train(problem, budget=Budget(seconds=5, seed=0))
    assert "the start alone" in result.message
    assert result.loss == problem.value(network) < problem.value(problem.constant_network())
