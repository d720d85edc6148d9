"""What is kept, what is noted, and what the result may say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from bdnn.clock import Ticks
from bdnn.errors import NoSolutionError
from bdnn.network.network import Network
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.losses.output import classification
from bdnn.training import Budget, Exact, Run, TrainingResult
from tests.problems import xor
from tests.sentences import assert_one_sentence

PROBLEM = xor()
ALWAYS = Condition()
MARGIN, TOLERANCE = Condition(margin=1e-4), Condition(tolerance=Fraction(1, 8))


def networks(problem=PROBLEM):
    """Networks of losses 4 (one answer for all), 2 and 0 on the XOR problem."""
    W1, t1 = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.5, 1.5])
    right = np.array([[-1.0, 1.0], [1.0, -1.0]])
    make = lambda t: Network(problem.architecture, (W1, right), (t1, np.array(t)))  # noqa: E731
    return problem.constant_network(), make([9.0, 0.5]), make([0.0, 0.5])


def new_run(problem=PROBLEM, handler=None, **budget):
    return Run(problem, Budget(**budget), handler)


def prove(run, value, condition=ALWAYS, phase="bound", origin="test"):
    run.prove(Bound(Fraction(value), origin, condition), phase)


def test_the_networks_of_this_test_are_what_it_says():
    assert [PROBLEM.objective(network) for network in networks()] == [4, 2, 0]


def test_only_better_networks_are_kept():
    poor, fair, good = networks()
    run = new_run()
    assert run.offer(fair, "a")
    assert not run.offer(poor, "b")
    assert not run.offer(fair, "c")
    assert run.offer(fair, "d", or_equal=True)
    assert run.offer(good, "e")
    assert run.network is good
    assert [moment.phase for moment in run.history] == ["a", "d", "e"]


def test_loss_never_rises_and_bound_never_falls():
    poor, fair, _ = networks()
    run = new_run()
    run.offer(poor, "a")
    for bound in (1.0, 0.5, -3, 2.0, 1.0):
        prove(run, bound)
    run.offer(fair, "c")
    losses = [moment.loss for moment in run.history]
    bounds = [moment.bound for moment in run.history]
    assert losses == sorted(losses, reverse=True)
    assert bounds == sorted(bounds)
    assert run.bound.origin == "test"


def test_a_bound_for_networks_with_a_margin_is_dropped_when_one_without_is_better():
    poor, fair, _ = networks()
    run = new_run()
    run.offer(poor, "a")
    prove(run, 4, MARGIN)
    prove(run, 1, origin="for all")
    assert run.bound == Bound(Fraction(4), "test", MARGIN)
    run.offer(fair, "d")
    assert run.bound == Bound(Fraction(1), "for all")
    prove(run, 4, MARGIN)
    assert run.bound.value == 1
    assert run.result("m").result.message == ""


def test_a_bound_with_a_tolerance_is_dropped_only_beyond_it():
    run = new_run()
    run.offer(networks()[1], "a")
    prove(run, Fraction("2.1"), TOLERANCE)
    assert run.bound == Bound(Fraction(2), "test", TOLERANCE)  # shown no larger than the loss
    prove(run, Fraction("2.2"), TOLERANCE)
    assert run.bound.value == 2
    run.offer(networks()[2], "b")
    assert run.bound.value == 0


def test_a_bound_that_a_network_refutes_is_an_error_here_and_a_note_elsewhere(monkeypatch):
    run = new_run()
    run.offer(networks()[0], "a")
    prove(run, 3, origin="wrong")
    with pytest.raises(AssertionError, match="refutes"):
        run.offer(networks()[1], "b")
    monkeypatch.setattr(Run, "strict", False)
    for is_late in (False, True):
        run = new_run()
        run.offer(networks()[is_late], "a")
        prove(run, 3, origin="wrong")
        run.offer(networks()[1], "b")
        result = run.result("m").result
        assert (result.status, result.bound, result.loss) == ("feasible", 0.0, 2.0)
        assert "3 (wrong) was left out" in result.message


def test_a_network_gets_no_proof_from_a_tiny_gap():
    run = new_run()
    run.offer(networks()[1], "a")
    prove(run, 2 - Fraction(1, 10**30))
    result = run.result("m").result
    assert result.status == "feasible"
    assert result.gap == 0.0  # as far as floats tell
    assert not run.is_close


@pytest.mark.parametrize(
    ("condition", "bound", "status"),
    [
        (Condition(), 2, "optimal"),
        (Condition(), Fraction("1.99"), "feasible"),
        (MARGIN, 2, "optimal among networks that keep a margin of 0.0001"),
        (MARGIN, Fraction("1.99"), "feasible"),
        (TOLERANCE, Fraction("1.99"), "optimal within a tolerance of 0.125"),
        (TOLERANCE, Fraction("1.8"), "feasible"),
    ],
)
def test_a_condition_of_the_bound_is_one_of_the_status(condition, bound, status):
    run = new_run()
    run.offer(networks()[1], "a")
    prove(run, bound, condition)
    result = run.result("m").result
    assert result.status == status
    assert result.is_proven == ("optimal" in status)
    assert str(condition) in result.bound_origin


@pytest.mark.parametrize(
    ("bound", "ended", "budget", "status"),
    [
        (2.0, "time limit", {}, "optimal"),
        (1.9, "time limit", {}, "time limit"),
        (1.0, "node limit", {}, "node limit"),
        (1.0, "feasible", {"gap": 0.5}, "gap limit"),
        (0.9, "feasible", {"gap": 0.5}, "feasible"),
        (0.9, "feasible", {"loss": 2.0}, "loss limit"),
        (-1.0, "feasible", {}, "feasible"),
    ],
)
def test_result(bound, ended, budget, status):
    run = new_run(**budget)
    run.offer(networks()[1], "a")
    prove(run, bound)
    run.end(ended)
    run.solver = "s"
    network, result = run.result("m")
    assert result.status == status
    assert result.bound <= result.loss == PROBLEM.value(network) == 2.0
    assert (result.status == "optimal") == (result.bound == result.loss)
    assert (result.method, result.solver) == ("m", "s")
    assert result.error == PROBLEM.error(network)
    assert result.history == tuple(run.history)


def test_why_a_run_ended_is_of_no_interest_after_a_proof():
    for bound, message in ((1, "note; why"), (2, "note")):
        run = new_run()
        run.offer(networks()[1], "a")
        prove(run, bound)
        run.note("note")
        run.end("feasible", "why")
        assert run.result("m").result.message == message


def test_conflicting_labels_are_a_bound_from_the_start():
    X, y = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1])
    problem = classification(PROBLEM.architecture, X, y)
    run = new_run(problem)
    assert run.bound == Bound(Fraction(2), "data conflicts")
    _, result = Exact().train(problem)
    assert (result.status, result.loss, result.bound) == ("optimal", 2.0, 2.0)


def test_the_handler_hears_every_moment_and_can_stop():
    heard = []
    run = new_run(handler=lambda moment: heard.append(moment) or moment.phase == "c")
    run.offer(networks()[0], "a")
    run.mark("b")
    assert not run.stopping
    run.offer(networks()[1], "c")
    assert run.interrupted
    assert run.stopping
    assert heard == run.history
    assert run.result("m").result.status == "interrupted"


def test_slots_end_with_the_time_a_stop_and_a_proof_and_tell_the_handler_now_and_then():
    heard = []
    run = Run(PROBLEM, Budget(seconds=10), heard.append, clock=Ticks(0.01))
    slot = run.slot("search")
    looks = 0
    while not slot.is_over():
        looks += 1
    assert looks > 100
    assert {moment.phase for moment in heard} == {"search"}
    assert len(heard) < looks / 2  # every 50 ms
    run = new_run()
    slots = [run.slot("search"), run.slot("margin", until_close=False)]
    assert [slot.is_over() for slot in slots] == [False, False]
    run.offer(networks()[2], "a")
    assert [slot.is_over() for slot in slots] == [True, False]
    run.stop()
    assert [slot.is_over() for slot in slots] == [True, True]


def test_a_proof_counts_more_than_an_interruption():
    run = new_run(handler=lambda _: True)
    run.offer(networks()[2], "a")
    assert run.result("m").result.status == "optimal"


def test_without_a_network_there_is_no_result():
    with pytest.raises(NoSolutionError) as caught:
        new_run().result("m")
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("condition", [Condition(), MARGIN, TOLERANCE])
def test_results_become_plain_data_and_back(condition):
    run = new_run()
    run.mark("before any network")
    run.offer(networks()[1], "a")
    prove(run, 1, condition)
    result = run.result("m").result
    again = TrainingResult.from_dict(result.to_dict())
    assert again == result
    assert again.history[0].loss == math.inf
    assert again.history[0].gap == math.inf


def test_a_bound_in_a_file_is_never_rounded_up():
    run = new_run()
    run.offer(networks()[1], "a")
    prove(run, Fraction(1, 3))
    assert Fraction(run.result("m").result.to_dict()["bound"]) <= Fraction(1, 3)
