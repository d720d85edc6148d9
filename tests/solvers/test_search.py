"""Starts, events, stops and limits of a running search."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bdnn.solvers import Limits, SolverEvent, Termination, available_solvers, get_solver
from tests.signals import default_signals
from tests.solvers.programs import knapsack, market_split, market_split_start, random_cover

SOLVERS = available_solvers()
# Far more than any of these needs on a busy machine; what ends a search is what its test is about.
AMPLE = 120.0
pytestmark = pytest.mark.parametrize("name", SOLVERS)


def test_start_is_the_first_incumbent(name: str) -> None:
    program = market_split()
    start = market_split_start(program)
    events: list[SolverEvent] = []
    result = get_solver(name).solve(
        program, limits=Limits(seconds=AMPLE, nodes=1), start=start, on_event=events.append
    )
    assert events[0].objective == program.objective(start)
    assert result.objective <= program.objective(start)


def until_incumbents(count: int, events: list[SolverEvent]) -> Callable[[SolverEvent], bool]:
    """A handler that keeps events and stops at an incumbent's number."""

    def listen(event: SolverEvent) -> bool:
        events.append(event)
        return sum(event.kind == "incumbent" for event in events) >= count

    return listen


def test_vendor_uses_a_start_with_gaps(name: str) -> None:
    # What a solver finds third is its first incumbent from the known part of the start.
    program = market_split()
    good = (
        get_solver(name)
        .solve(program, limits=Limits(seconds=AMPLE), on_event=until_incumbents(3, []))
        .solution
    )
    assert good is not None
    start = np.where(np.arange(program.n_variables) < 40, np.rint(good), np.nan)
    events: list[SolverEvent] = []

    def until_as_good(event: SolverEvent) -> bool:
        events.append(event)
        return event.objective <= program.objective(good)

    result = get_solver(name).solve(
        program, limits=Limits(seconds=AMPLE), start=start, on_event=until_as_good
    )
    assert result.objective <= program.objective(good) + 1e-6
    first = next(event.objective for event in events if math.isfinite(event.objective))
    assert first <= program.objective(good) + 1e-6


def test_infeasible_start_is_no_incumbent(name: str) -> None:
    program = knapsack()
    result = get_solver(name).solve(program, start=np.ones(4))
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(-21)


def test_events_are_monotone(name: str) -> None:
    program = market_split()
    events: list[SolverEvent] = []
    result = get_solver(name).solve(
        program, limits=Limits(seconds=AMPLE), on_event=until_incumbents(3, events)
    )
    incumbents = [event for event in events if event.kind == "incumbent"]
    assert len(incumbents) >= 2
    assert (np.diff([event.objective for event in incumbents]) < 0).all()
    bounds = [event.bound for event in events]
    assert all(earlier <= later for earlier, later in pairwise(bounds))
    assert (np.diff([event.seconds for event in events]) >= 0).all()
    for event in incumbents:
        assert event.solution is not None
        assert program.violation(event.solution) <= 1e-5
        assert program.objective(event.solution) == pytest.approx(event.objective, abs=1e-6)
    assert all(event.solution is None for event in events if event.kind == "bound")
    # The solver may polish its last solution: equal up to rounding.
    assert result.objective == pytest.approx(incumbents[-1].objective, abs=1e-6)


def test_bound_events_rise(name: str) -> None:
    events: list[SolverEvent] = []
    result = get_solver(name).solve(
        random_cover(), limits=Limits(seconds=AMPLE), on_event=events.append
    )
    assert result.termination is Termination.OPTIMAL
    bounds = [event.bound for event in events if event.kind == "bound"]
    assert bounds
    assert (np.diff(bounds) > 0).all()
    assert bounds[-1] <= result.objective + 1e-6


def test_handler_stops_the_search(name: str) -> None:
    def stop(event: SolverEvent) -> bool:
        return event.kind == "incumbent"

    result = get_solver(name).solve(market_split(), limits=Limits(seconds=AMPLE), on_event=stop)
    assert result.termination is Termination.INTERRUPTED
    assert result.solution is not None


def test_error_of_the_handler_is_raised(name: str) -> None:
    def fail(event: SolverEvent) -> None:
        raise RuntimeError(f"seen at {event.objective}")

    with pytest.raises(RuntimeError, match="seen at"):
        get_solver(name).solve(market_split(), limits=Limits(seconds=AMPLE), on_event=fail)


def test_time_limit(name: str) -> None:
    program = market_split()
    start = market_split_start(program)
    result = get_solver(name).solve(program, limits=Limits(seconds=0.3), start=start)
    assert result.termination is Termination.TIME_LIMIT
    assert result.solution is not None
    assert 0 <= result.bound < result.objective


def test_limit_without_incumbent(name: str) -> None:
    program = market_split(6, 50, exact=True)
    result = get_solver(name).solve(program, limits=Limits(seconds=0.5))
    assert result.termination is Termination.TIME_LIMIT
    assert result.solution is None
    assert result.objective == math.inf
    assert result.gap == math.inf


def test_no_time_at_all(name: str) -> None:
    program = market_split()
    start = market_split_start(program)
    result = get_solver(name).solve(program, limits=Limits(seconds=0), start=start)
    assert result.termination is Termination.TIME_LIMIT
    assert result.objective <= program.objective(start)


def test_node_limit(name: str) -> None:
    result = get_solver(name).solve(market_split(), limits=Limits(seconds=AMPLE, nodes=20))
    assert result.termination is Termination.NODE_LIMIT
    assert result.nodes <= 60


def test_relative_gap_limit(name: str) -> None:
    result = get_solver(name).solve(random_cover(), limits=Limits(seconds=AMPLE, gap=0.3))
    assert result.termination is Termination.GAP_LIMIT
    assert result.solution is not None
    assert 0 < result.gap <= 0.3


def test_absolute_gap_limit(name: str) -> None:
    limits = Limits(seconds=AMPLE, absolute_gap=500.0)
    result = get_solver(name).solve(market_split(), limits=limits)
    assert result.termination is Termination.GAP_LIMIT
    assert 0 < result.objective - result.bound <= 500


CHILD = """
import sys
from bdnn.solvers import Limits, get_solver
from tests.solvers.programs import market_split

def tell(event):
    if event.kind == "incumbent":
        print("incumbent", flush=True)

result = get_solver(sys.argv[1]).solve(market_split(), limits=Limits(seconds=600), on_event=tell)
print(result.termination.name, result.solution is not None, flush=True)
"""


def test_ctrl_c_returns_the_incumbent(name: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, name],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "incumbent\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=AMPLE)
    assert out.splitlines()[-1] == "INTERRUPTED True"
    assert err == ""
    assert child.returncode == 0
