"""Phases in turn: a failure is noted and loses nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from bdnn.errors import InfeasibleError
from bdnn.training import Exact, Run
from bdnn.training.driver import execute
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

    def applies(self, run):
        return self.applies_

    def execute(self, run):
        self.done = True
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
    from bdnn.training.exact import ExactSolve

    def broken(self, **options):
        raise ZeroDivisionError("in the middle")

    monkeypatch.setattr(ExactSolve, "run", broken)
    problem = random_problem(0, n_samples=20)
    network, result = Exact().train(problem)
    assert result.loss == problem.value(network)
    assert "ZeroDivisionError: in the middle" in result.message
    assert PROBLEM is not problem
