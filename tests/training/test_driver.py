"""Phases in turn: a failure is noted and loses nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bdnn.errors import InfeasibleError
from bdnn.training import Budget, Exact, Run, Schedule, Share
from bdnn.training.base import execute
from tests.problems import random_problem
from tests.training.test_run import PROBLEM, networks, new_run


@dataclass
class Step:
    """A phase that offers a network or raises."""

    name: str
    does: Any = None
    is_final: bool = False
    applies_: bool = True
    done: bool = False
    share: Share = field(default_factory=Share)
    reserve: float = 0.0
    seconds: float | None = None

    def applies(self, run):
        return self.applies_

    def execute(self, run, slot):
        self.done = True
        self.seconds = slot.remaining
        if isinstance(self.does, BaseException):
            raise self.does
        if self.does is not None:
            run.offer(self.does, self.name)


@pytest.fixture
def lenient(monkeypatch):
    monkeypatch.setattr(Run, "strict", False)


def test_phases_run_in_turn_until_a_proof_and_final_ones_after_it():
    poor, fair, good = networks()
    steps = [
        Step("a", poor),
        Step("left out", fair, applies_=False),
        Step("b", good),
        Step("c", fair),
        Step("last", is_final=True),
    ]
    run = new_run()
    execute(steps, run)
    assert [step.done for step in steps] == [True, False, True, False, True]
    assert run.result("m").result.status == "optimal"


@pytest.mark.usefixtures("lenient")
def test_a_failure_is_noted_and_the_next_phase_goes_on():
    poor, fair, _ = networks()
    run = new_run()
    execute([Step("a", poor), Step("b", ZeroDivisionError("oh")), Step("c", fair)], run)
    network, result = run.result("m")
    assert network is fair
    assert result.message == "phase 'b' failed (ZeroDivisionError: oh)"


def test_tests_see_failures():
    with pytest.raises(ZeroDivisionError):
        execute([Step("a", networks()[0]), Step("b", ZeroDivisionError())], new_run())


@pytest.mark.usefixtures("lenient")
def test_what_is_raised_on_purpose_is_an_answer():
    with pytest.raises(InfeasibleError):
        execute([Step("a", networks()[0]), Step("b", InfeasibleError("no"))], new_run())


@pytest.mark.usefixtures("lenient")
def test_a_failure_is_raised_where_there_is_no_network_to_return():
    with pytest.raises(ZeroDivisionError):
        execute([Step("a", ZeroDivisionError())], new_run())


def test_ctrl_c_ends_the_run_and_leaves_its_network():
    fair = networks()[1]
    last = Step("last", is_final=True)
    run = new_run()
    execute([Step("a", fair), Step("b", KeyboardInterrupt()), last], run)
    network, result = run.result("m")
    assert (network, result.status, last.done) == (fair, "interrupted", False)


@pytest.mark.usefixtures("lenient")
def test_an_error_of_the_handler_is_the_callers():
    def fail(moment):
        raise ZeroDivisionError("from the handler")

    with pytest.raises(ZeroDivisionError, match="from the handler"):
        execute([Step("a", networks()[0])], new_run(handler=fail))


@pytest.mark.usefixtures("lenient")
def test_a_method_whose_solver_breaks_returns_its_start(monkeypatch):
    from bdnn.training.phases.solve import Solving

    def broken(self, *options):
        raise ZeroDivisionError("in the middle")

    monkeypatch.setattr(Solving, "run_all", broken)
    problem = random_problem(0, n_samples=20)
    network, result = Exact().train(problem)
    assert result.loss == problem.value(network)
    assert "ZeroDivisionError: in the middle" in result.message
    assert PROBLEM is not problem


def test_every_phase_has_its_slot_and_leaves_what_later_ones_are_promised():
    steps = [
        Step("half", share=Share(0.5)),
        Step("until", share=Share(0.25, of_limit=True)),
        Step("most", share=Share(most=3.0)),
        Step("last", is_final=True, reserve=20.0),
    ]
    run = Run(PROBLEM, Budget(seconds=100), clock=lambda: 0.0)
    execute(steps, run)
    assert [step.seconds for step in steps] == [40.0, 25.0, 3.0, 100.0]


def test_a_phase_whose_time_is_promised_to_another_is_left_out():
    steps = [Step("search"), Step("last", is_final=True, reserve=100.0)]
    execute(steps, Run(PROBLEM, Budget(seconds=100), clock=lambda: 0.0))
    assert [step.done for step in steps] == [False, True]


def test_a_schedule_can_be_replaced():
    schedule = replace(Schedule(), search=Share(0.1, of_limit=True))
    assert Run(PROBLEM, schedule=schedule).schedule.search.seconds(left=9.0, limit=10.0) == 1.0
