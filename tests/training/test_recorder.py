"""What is kept, what is noted, and what the verdict may say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.training import Budget, Exact, Recorder, TrainingResult
from tests.problems import random_problem, xor
from tests.sentences import assert_one_sentence

PROBLEM = xor()


def networks(problem=PROBLEM):
    """Networks of losses 4 (one answer for all), 2 and 0 on the XOR problem."""
    W1, t1 = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.5, 1.5])
    right = np.array([[-1.0, 1.0], [1.0, -1.0]])
    make = lambda t: Network(problem.architecture, (W1, right), (t1, np.array(t)))  # noqa: E731
    return problem.constant_network(), make([9.0, 0.5]), make([0.0, 0.5])


def recorder(problem=PROBLEM, handler=None, **budget):
    return Recorder(problem, Budget(**budget), handler)


def test_the_networks_of_this_test_are_what_it_says():
    assert [PROBLEM.loss(network) for network in networks()] == [4.0, 2.0, 0.0]


def test_only_better_networks_are_kept():
    poor, fair, good = networks()
    record = recorder()
    assert record.offer(fair, "a")
    assert not record.offer(poor, "b")
    assert not record.offer(fair, "c")
    assert record.offer(fair, "d", or_equal=True)
    assert record.offer(good, "e")
    assert record.network is good
    assert [moment.phase for moment in record.history] == ["a", "d", "e"]


def test_loss_never_rises_and_bound_never_falls():
    poor, fair, _ = networks()
    record = recorder()
    record.offer(poor, "a")
    for bound in (1.0, 0.5, -math.inf, 2.0, 1.0):
        record.improve_bound(bound, "test", "b")
    record.offer(fair, "c")
    losses = [moment.loss for moment in record.history]
    bounds = [moment.bound for moment in record.history]
    assert losses == sorted(losses, reverse=True)
    assert bounds == sorted(bounds)
    assert record.bound_origin == "test"


def test_a_bound_is_cut_at_the_loss():
    record = recorder()
    record.offer(networks()[1], "a")
    record.improve_bound(2.0000001, "test", "b")
    assert record.bound == record.loss == 2.0


def test_a_bound_for_networks_with_a_margin_is_dropped_when_one_without_is_better():
    poor, fair, _ = networks()
    record = recorder()
    record.offer(poor, "a")
    record.improve_bound(1.0, "for all", "b")
    record.improve_bound(4.0, "for those with a margin", "c", conditional=True)
    record.offer(fair, "d")
    assert [moment.bound for moment in record.history] == [0.0, 1.0, 4.0, 1.0]
    assert record.bound_origin == "for all"
    record.improve_bound(4.0, "for those with a margin", "e", conditional=True)
    assert record.bound == 1.0


def test_no_bound_stays_above_a_loss():
    poor, fair, _ = networks()
    record = recorder()
    record.offer(poor, "a")
    record.improve_bound(4.0, "wrong", "b")
    record.offer(fair, "c")
    assert record.bound == record.loss == 2.0


def test_rounding_in_a_bound_does_not_matter():
    problem = random_problem(1, n_samples=8, hidden=())
    problem = type(problem)(problem.architecture, problem.inputs, problem.mass * 0.1)
    record = recorder(problem)
    network = problem.constant_network()
    record.improve_bound(problem.loss(network) + 1e-10, "solver", "a", conditional=True)
    record.offer(network, "b")
    assert record.verdict("test", ended="feasible").result.status == "optimal"
    assert record.bound_origin == "solver"


@pytest.mark.parametrize(
    ("bound", "ended", "budget", "status"),
    [
        (2.0, "time limit", {}, "optimal"),
        (1.9, "time limit", {}, "time limit"),
        (1.0, "node limit", {}, "node limit"),
        (1.0, "feasible", {"gap": 0.5}, "gap limit"),
        (0.9, "feasible", {"gap": 0.5}, "feasible"),
        (-1.0, "feasible", {}, "feasible"),
    ],
)
def test_verdict(bound, ended, budget, status):
    record = recorder(**budget)
    record.offer(networks()[1], "a")
    record.improve_bound(bound, "test", "b")
    network, result = record.verdict("m", ended=ended, solver="s", message="t")
    assert result.status == status
    assert result.bound <= result.loss == PROBLEM.loss(network) == 2.0
    assert (result.status == "optimal") == (result.bound == result.loss)
    assert (result.method, result.solver, result.message) == ("m", "s", "t")
    assert result.error == PROBLEM.error(network)
    assert result.history == tuple(record.history)


def test_conflicting_labels_are_a_bound_from_the_start():
    X, y = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1])
    problem = type(PROBLEM).from_samples(PROBLEM.architecture, X, y)
    record = recorder(problem)
    assert record.bound == 2.0
    assert "conflict" in record.bound_origin
    _, result = Exact().train(problem)
    assert (result.status, result.loss, result.bound) == ("optimal", 2.0, 2.0)


def test_the_handler_hears_every_moment_and_can_stop():
    heard = []
    record = recorder(handler=lambda moment: heard.append(moment) or moment.phase == "c")
    record.offer(networks()[0], "a")
    record.note("b")
    assert not record.stopping
    record.offer(networks()[1], "c")
    assert record.interrupted
    assert record.stopping
    assert heard == record.history
    assert record.verdict("m", ended="feasible").result.status == "interrupted"


def test_a_proof_counts_more_than_an_interruption():
    record = recorder(handler=lambda _: True)
    record.offer(networks()[2], "a")
    assert record.verdict("m", ended="interrupted").result.status == "optimal"


def test_a_verdict_needs_a_network():
    with pytest.raises(RuntimeError, match="must offer a network"):
        recorder().verdict("m", ended="feasible")


def test_results_become_plain_data_and_back():
    record = recorder()
    record.note("before any network")
    record.offer(networks()[1], "a")
    result = record.verdict("m", ended="feasible").result
    again = TrainingResult.from_dict(result.to_dict())
    assert again == result
    assert again.history[0].loss == math.inf
    assert again.history[0].gap == math.inf


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        *(({"seconds": value}, "time_limit") for value in (0, -1, math.nan, "60", None, True)),
        *(({"gap": value}, "mip_gap") for value in (-0.1, math.nan, math.inf, "0", None)),
        *(({"nodes": value}, "node_limit") for value in (0, -5, 2.5, math.nan, "9", True)),
    ],
    ids=repr,
)
def test_bad_budgets_are_refused(options, complaint):
    with pytest.raises(ModelError, match=f"{complaint} must be") as caught:
        Budget(**options)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(("gone", "left"), [(0.0, 10.0), (4.0, 6.0), (9.9, 1.0), (50.0, 1.0)])
def test_what_comes_before_a_training_takes_of_its_time_but_not_all(gone, left):
    budget = Budget(seconds=10.0, seed=3).after(gone)
    assert (budget.seconds, budget.seed) == (pytest.approx(left), 3)
    assert Budget().after(gone).seconds == math.inf
