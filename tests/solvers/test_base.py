"""The interface itself: what is installed, what is left behind, what is chosen."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bdnn.errors import ModelError, SolverNotAvailableError, UnsupportedFeatureError
from bdnn.program import Program
from bdnn.solvers import (
    AbstractSolver,
    CpSat,
    Feature,
    Gurobi,
    Highs,
    Limits,
    Scip,
    SolverEvent,
    Termination,
    choose_solver,
    get_solver,
    relative_gap,
)
from tests.solvers.programs import cone, knapsack, market_split, mixed, squares

REPOSITORY = Path(__file__).parents[2]
VENDORS = ["highspy", "ortools", "pyscipopt", "gurobipy"]


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)


class Stubborn(AbstractSolver):
    """A solver that finds something at once and hears nothing until it is let go."""

    let_go: ClassVar[threading.Event]
    ended: ClassVar[threading.Event]

    name: ClassVar[str] = "stubborn"
    package: ClassVar[str] = "numpy"
    distribution: ClassVar[str] = "numpy"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)

    def _solve(self, monitor: Any, start: Any) -> Any:
        monitor.incumbent(np.zeros(monitor.program.n_variables))
        self.let_go.wait()
        monitor.incumbent(np.eye(monitor.program.n_variables)[0])
        self.ended.set()
        raise RuntimeError("nobody hears this")


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubborn]:
    for name in ("let_go", "ended"):
        monkeypatch.setattr(Stubborn, name, threading.Event(), raising=False)
    yield Stubborn()
    Stubborn.let_go.set()


def test_a_solver_that_does_not_react_is_left_behind(stubborn: Stubborn) -> None:
    events: list[SolverEvent] = []
    result = stubborn.solve(knapsack(), limits=Limits(seconds=0.1), on_event=events.append)
    assert not stubborn.ended.is_set()
    assert result.termination is Termination.TIME_LIMIT
    assert result.objective == 0.0
    stubborn.let_go.set()
    assert stubborn.ended.wait(60.0)
    assert len(events) == 1


def test_handler_that_stops_at_the_start_needs_no_solver(stubborn: Stubborn) -> None:
    result = stubborn.solve(knapsack(), start=np.zeros(4), on_event=lambda event: True)
    assert result.termination is Termination.INTERRUPTED
    assert result.objective == 0.0
    assert not [thread for thread in threading.enumerate() if thread.name == "bdnn-stubborn"]


@pytest.mark.parametrize("name", ["highs", "cpsat"])
def test_interpreter_ends_well_behind_a_large_program(name: str) -> None:
    code = (
        "from bdnn.solvers import Limits, get_solver\n"
        "from tests.solvers.programs import large\n"
        f"print(get_solver('{name}').solve(large(), limits=Limits(seconds=1)).termination.name)"
    )
    child = run(code)
    assert child.stdout == "TIME_LIMIT\n"
    assert child.stderr == ""
    assert child.returncode == 0


def test_import_loads_no_vendor() -> None:
    code = f"import sys, bdnn.solvers; print([v for v in {VENDORS} if v in sys.modules])"
    assert run(code).stdout == "[]\n"


@pytest.mark.parametrize(
    ("solver", "remedy"),
    [
        (CpSat(), "ortools"),
        (Highs(), "highspy"),
        (Scip(), "bdnn\\[scip\\]"),
        (Gurobi(), "bdnn\\[gurobi\\]"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_missing_package_is_named_with_the_remedy(
    solver: AbstractSolver, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bdnn.solvers.base.find_spec", lambda package: None)
    assert not solver.is_available()
    with pytest.raises(SolverNotAvailableError, match=f"pip install '{remedy}"):
        solver.solve(knapsack())


def test_choice_follows_what_the_program_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_solver(knapsack(), threads=2, seed=4) == CpSat(threads=2, seed=4)
    assert choose_solver(mixed()) == Highs()
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "bdnn.solvers.base.find_spec",
        lambda package: None if package in ("pyscipopt", "gurobipy") else found(package),
    )
    assert choose_solver(cone()) == Highs()
    with pytest.raises(SolverNotAvailableError, match="bdnn\\[scip\\]"):
        choose_solver(squares())


def test_solvers_by_name() -> None:
    assert get_solver("highs", seed=3) == Highs(seed=3)
    assert get_solver(Highs(threads=2)) == Highs(threads=2)
    with pytest.raises(ModelError, match="got 'cplex'"):
        get_solver("cplex")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Highs().seed = 1  # type: ignore[misc]


def test_gurobi_names_its_size_limit(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gurobipy")
    try:
        Gurobi().solve(market_split(3, 2500), limits=Limits(seconds=1))
    except SolverNotAvailableError as error:
        message = str(error)
    else:
        pytest.skip("the licence has no size limit")
    assert "2506 variables and 3 rows" in message
    assert "choose another solver" in message
    assert capfd.readouterr().out == ""


def test_cpsat_refuses_sums_beyond_its_integers() -> None:
    program = Program()
    x = program.add_variables("x", (2,), upper=np.inf, integer=True)
    program.add_rows("huge", x[None], 1e12, upper=1e15)
    with pytest.raises(UnsupportedFeatureError, match="64-bit integers"):
        CpSat().solve(program)


def test_cpsat_does_not_take_an_idle_free_variable_for_unbounded() -> None:
    program = Program()
    x = program.add_variables("x", (2,), upper=[5, np.inf], integer=True)
    program.add_rows("more", x[None], [1, 1], lower=3)
    program.minimise(x[:1], 1)
    result = CpSat().solve(program)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == 0


def test_relative_gap() -> None:
    assert relative_gap(10.0, 8.0) == pytest.approx(0.2)
    assert relative_gap(-10.0, -12.0) == pytest.approx(0.2)
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(0.0, -1.0) == math.inf
    assert relative_gap(math.inf, 1.0) == math.inf
    assert relative_gap(1.0, -math.inf) == math.inf
