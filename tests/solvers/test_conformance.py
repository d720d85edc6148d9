"""Every solver gives the known answer, or says in one sentence that it cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bdnn.errors import UnsupportedFeatureError
from bdnn.program import Program
from bdnn.solvers import Limits, Termination, available_solvers, get_solver
from bdnn.solvers.base import required_features
from tests.solvers.programs import CASES, Case, knapsack, market_split, set_cover

SOLVERS = available_solvers()


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.build.__name__)
def test_known_answer(name: str, case: Case) -> None:
    solver, program = get_solver(name), case.build()
    if not required_features(program) <= solver.features:
        with pytest.raises(UnsupportedFeatureError, match=f"'{name}' cannot handle"):
            solver.solve(program)
        return
    result = solver.solve(program, limits=Limits(seconds=120))
    assert result.termination is case.termination
    assert result.objective == pytest.approx(case.objective, abs=1e-5)
    assert result.message
    if case.termination is Termination.OPTIMAL:
        assert result.solution is not None
        assert program.violation(result.solution) <= 1e-5
        assert result.objective == pytest.approx(program.objective(result.solution))
        assert result.bound == pytest.approx(case.objective, abs=1e-5)
        assert result.bound <= result.objective
        assert result.gap <= 1e-5
    else:
        assert result.solution is None
        assert result.objective == math.inf
        assert result.gap == math.inf


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(("threads", "seed"), [(2, 0), (1, 7)])
def test_options_change_nothing_about_the_answer(name: str, threads: int, seed: int) -> None:
    result = get_solver(name, threads=threads, seed=seed).solve(set_cover())
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(6)


@pytest.mark.parametrize("name", SOLVERS)
def test_same_seed_same_search(name: str) -> None:
    limits = Limits(seconds=120, nodes=30)
    first, second = (get_solver(name, seed=3).solve(market_split(), limits=limits) for _ in "ab")
    assert first.objective == second.objective
    np.testing.assert_array_equal(first.solution, second.solution)


@pytest.mark.parametrize("name", SOLVERS)
def test_silent_unless_asked(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    get_solver(name).solve(knapsack())
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""
    type(get_solver(name))(log=True).solve(knapsack())
    assert capfd.readouterr().out


def test_one_process_holds_all_solvers_in_any_order() -> None:
    for name in [*SOLVERS, *reversed(SOLVERS)]:
        assert get_solver(name).solve(knapsack()).objective == pytest.approx(-21)


@pytest.mark.parametrize("name", SOLVERS)
def test_random_integer_programs_have_one_optimum(name: str) -> None:
    rng = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 5), axis=-1).reshape(-1, 5)
    for _ in range(10):
        program = Program()
        x = program.add_variables("x", (5,), lower=-1, integer=True)
        values, costs = rng.integers(-5, 6, (4, 5)), rng.integers(-9, 10, 5)
        program.add_rows("r", np.broadcast_to(x, (4, 5)), values, lower=-4, upper=3)
        program.minimise(x, costs)
        activity = grid @ values.T
        feasible = ((activity >= -4) & (activity <= 3)).all(axis=1)
        best = (grid[feasible] @ costs).min()
        assert get_solver(name).solve(program).objective == pytest.approx(best)
