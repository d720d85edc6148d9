"""The search runs everywhere, reaches known optima, never beats them, and can be repeated."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from bdnn.clock import Slot, Ticks
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search import descend
from tests.oracle import smallest_loss
from tests.problems import random_problem, xor

WEIGHTS = ("continuous", "ternary", "binary", "int:3")
THRESHOLDS = ("neuron", "layer", "zero")


def hard_problem(**options):
    """Labels that nothing explains, too many for the units."""
    return random_problem(5, n_samples=60, n_features=3, values=5, **options)


@pytest.mark.parametrize(
    ("weights", "thresholds", "hidden", "n_classes"),
    list(product(WEIGHTS, THRESHOLDS, [(), (3,), (3, 2), (3, 2, 3)], [2, 3, 4])),
)
def test_every_architecture_runs(weights, thresholds, hidden, n_classes):
    problem = random_problem(
        1,
        n_samples=25,
        n_features=3,
        n_classes=n_classes,
        weighted=True,
        hidden=hidden,
        weights=weights,
        thresholds=thresholds,
    )
    result = descend(problem, slot=Slot.of(60), seed=0, max_sweeps=3)
    assert result.loss == problem.value(result.network)
    assert problem.floor <= result.loss <= problem.value(problem.constant_network())
    assert result.history[-1][1] == result.loss


@pytest.mark.parametrize("thresholds", THRESHOLDS)
@pytest.mark.parametrize("weights", ["continuous", "ternary", "binary"])
def test_enumerated_optimum_is_reached_and_never_beaten(weights, thresholds):
    reached = 0
    for seed in range(5):
        problem = random_problem(seed, hidden=(2,), weights=weights, thresholds=thresholds)
        optimum = smallest_loss(problem)
        result = descend(problem, slot=Slot.of(60), seed=seed, target=optimum, max_sweeps=300)
        assert result.loss >= optimum
        reached += result.loss == optimum
        assert (result.reason == "target") == (result.loss == optimum)
    assert reached >= 4


def test_two_hidden_layers_reach_the_enumerated_optimum():
    problem = random_problem(3, n_samples=5, hidden=(2, 2), weights="ternary", thresholds="zero")
    optimum = smallest_loss(problem)
    assert (
        descend(problem, slot=Slot.of(60), seed=0, target=optimum, max_sweeps=500).loss == optimum
    )


@pytest.mark.parametrize("start", ["random", "linear", "straight_through"])
def test_xor_is_learnt_from_every_start(start):
    result = descend(xor(), slot=Slot.of(60), seed=1, start=start, max_sweeps=200)
    assert (result.loss, result.reason) == (0.0, "target")


def test_a_given_start_is_never_made_worse():
    problem = hard_problem(hidden=(4,))
    first = descend(problem, slot=Slot.of(60), seed=0, max_sweeps=10)
    second = descend(
        problem, slot=Slot.of(60), seed=1, start=first.network, max_sweeps=10, restarts=2
    )
    assert second.loss <= first.loss


@pytest.mark.parametrize("target", [None, 1e6])
def test_same_seed_same_network_with_any_number_of_workers(target):
    problem = hard_problem(hidden=(3,), weights="continuous")
    results = [
        descend(
            problem,
            slot=Slot.of(60),
            seed=7,
            max_sweeps=20,
            restarts=3,
            n_jobs=n_jobs,
            target=target,
        )
        for n_jobs in (1, 2, 1)
    ]
    assert results[0].network == results[1].network == results[2].network


def test_different_seeds_differ():
    problem = hard_problem(hidden=(3,))
    one, two = (
        descend(problem, slot=Slot.of(60), seed=seed, max_sweeps=2).network for seed in (0, 1)
    )
    assert one != two


def test_time_limit_holds():
    problem = hard_problem(hidden=(4,), n_classes=3)
    clock = Ticks()
    result = descend(problem, slot=Slot.of(100, clock=clock), seed=0, restarts=2, target=-1.0)
    assert result.reason == "time"
    assert 0 < result.sweeps < 100
    assert clock.now < 120


def test_improvements_are_told_and_a_stop_is_heard():
    problem = hard_problem(hidden=(4,))
    seen = []
    slot = Slot(is_stopped=lambda: len(seen) == 2)
    result = descend(
        problem, slot=slot, seed=0, on_network=lambda network: seen.append(problem.value(network))
    )
    assert result.reason == "stopped"
    assert seen == sorted(set(seen), reverse=True)
    assert [loss for _, loss in result.history] == seen


def test_sample_weights_count():
    shape = Architecture.create(1, 2, hidden=())
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    problem = classification(shape, X, y, np.array([1.0, 5.0, 2.5]))
    found = descend(problem, slot=Slot.of(60), seed=0, max_sweeps=20)
    assert found.loss * problem.samples.unit == 2.0


@pytest.mark.parametrize(
    "options",
    [{"restarts": 0}, {"max_sweeps": 0}, {"start": "best"}],
)
def test_nonsense_is_refused(options):
    with pytest.raises(ModelError):
        descend(xor(), slot=Slot(), **options)


def test_start_of_another_shape_is_refused():
    with pytest.raises(ModelError, match="embed"):
        descend(xor(), slot=Slot.of(1), start=xor(hidden=(3,)).constant_network())


def test_what_is_compiled_runs_as_python_too():
    code = (
        "from tests.problems import xor; from bdnn.search import descend;"
        "from bdnn.search.kernels.lines import combine;"
        "assert type(combine).__name__ == 'function';"
        "from bdnn.clock import Slot;"
        "r = descend(xor(weights='continuous'), slot=Slot.of(20), seed=0, max_sweeps=200);"
        "assert r.loss == 0, r"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_importing_the_search_does_not_import_numba():
    code = "import bdnn.search, sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
