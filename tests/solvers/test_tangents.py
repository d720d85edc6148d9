"""Cones on a solver of linear rows: true bounds, solutions within the cones, limits."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.program import Program
from bdnn.solvers import Highs, Limits, Termination


def projection(target: np.ndarray, *, integer: bool = False) -> Program:
    """Come as near to a point as a ball of radius 2 allows, by the sum of the distances."""
    program = Program()
    n = len(target)
    x = program.add_variables("x", (n,), lower=-5.0, upper=5.0, integer=integer)
    away = program.add_variables("away", (n,), upper=10.0)
    radius = program.add_variables("radius", (1,), upper=2.0)
    program.add_cones("ball", x[None], radius)
    pairs = np.stack([away, x], axis=1)
    program.add_rows("above", pairs, [1.0, 1.0], lower=target)
    program.add_rows("below", pairs, [1.0, -1.0], lower=-target)
    program.minimise(away, 1.0)
    return program


def test_a_linear_objective_is_met_on_the_ball():
    # The nearest point by the sum of distances maximises the sum of entries: all are equal.
    for n in (2, 3, 4):
        program = projection(np.full(n, 3.0))
        result = Highs().solve(program)
        assert result.termination is Termination.OPTIMAL
        assert result.objective == pytest.approx(3.0 * n - 2.0 * np.sqrt(n), abs=1e-4)
        assert program.violation(result.solution) <= 1e-6
        assert result.bound <= result.objective


def test_integers_in_the_ball_are_enumerated():
    rng = np.random.default_rng(0)
    points = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), axis=-1).reshape(-1, 3)
    points = points[np.linalg.norm(points, axis=1) <= 2.0]
    for _ in range(6):
        target = rng.uniform(-4.0, 4.0, 3)
        result = Highs().solve(projection(target, integer=True))
        assert result.objective == pytest.approx(np.abs(points - target).sum(axis=1).min())


def test_only_solutions_within_the_cones_are_told():
    program, heard = projection(np.full(3, 3.0)), []
    result = Highs().solve(program, on_event=heard.append)
    told = [event for event in heard if event.solution is not None]
    assert told
    assert all(program.violation(event.solution) <= 1e-6 for event in told)
    assert all(event.bound <= result.objective + 1e-6 for event in heard)


def test_the_program_itself_is_left_as_it_was():
    program = projection(np.full(2, 3.0))
    before = program.size_table()
    Highs().solve(program)
    assert program.size_table() == before


def test_limits_hold_over_all_rounds():
    program = projection(np.full(4, 3.0))
    rough = Highs().solve(program, limits=Limits(gap=0.5), start=np.zeros(program.n_variables))
    assert rough.termination in (Termination.OPTIMAL, Termination.GAP_LIMIT)
    assert rough.bound <= 8.0 + 1e-4
    stopped = Highs().solve(program, limits=Limits(seconds=0.0))
    assert stopped.termination is Termination.TIME_LIMIT
    assert stopped.solution is None


def test_nothing_in_the_ball():
    program = projection(np.full(2, 3.0))
    program.add_rows("far", np.array([[0, 1]]), 1.0, lower=3.0)
    assert Highs().solve(program).termination is Termination.INFEASIBLE
