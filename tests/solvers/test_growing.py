"""A program that grows has the solution of the same program written at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from bdnn.program import Program
from bdnn.solvers.highs import GrowingProgram, Highs


@pytest.mark.parametrize("seed", range(5))
def test_growing_equals_solving_at_once(seed):
    rng = np.random.default_rng(seed)
    rows, limits = rng.uniform(-1, 2, size=(6, 5)), rng.uniform(0.5, 2, size=6)
    costs, upper = -rng.uniform(0.1, 1, size=5), np.append(rng.uniform(0.5, 2, size=4), 3.0)
    program = GrowingProgram()
    program.add_variables(costs[:2], upper[:2], np.zeros((0, 2)))
    program.add_rows(rows[:3, :2], limits[:3])
    program.solve()
    program.add_variables(costs[2:], upper[2:], rows[:3, 2:])
    program.add_rows(rows[3:], limits[3:])
    vertex = program.solve()
    answer = linprog(costs, A_ub=rows, b_ub=limits, bounds=[(0, u) for u in upper])
    assert vertex.value == pytest.approx(answer.fun)
    assert vertex.variables == pytest.approx(answer.x)
    assert vertex.row_prices == pytest.approx(-answer.ineqlin.marginals)
    assert vertex.bound_prices == pytest.approx(-answer.upper.marginals)


def test_other_costs_have_the_solution_of_another_program():
    rng = np.random.default_rng(0)
    rows, limits = rng.uniform(0.1, 2, size=(4, 3)), rng.uniform(0.5, 2, size=4)
    program = GrowingProgram()
    program.add_variables(-np.ones(3), np.full(3, np.inf), np.zeros((0, 3)))
    program.add_rows(rows, limits)
    program.solve()
    for costs in -rng.uniform(0.1, 1, size=(5, 3)):
        program.change_costs(costs)
        answer = linprog(costs, A_ub=rows, b_ub=limits)
        assert program.solve().value == pytest.approx(answer.fun)


@pytest.mark.parametrize("primal", [False, True])
def test_rows_with_two_sides_and_what_no_point_satisfies(primal):
    program = GrowingProgram(primal=primal, tolerance=1e-10)
    program.add_variables(np.array([1.0, 2.0]), np.full(2, np.inf), np.zeros((0, 2)))
    program.add_rows(np.array([[1.0, 1.0]]), np.ones(1), lower=np.ones(1))
    vertex = program.solve()
    assert vertex.is_optimal
    assert vertex.variables.tolist() == [1.0, 0.0]
    program.change_costs(np.array([2.0, 1.0]))
    assert program.solve().variables.tolist() == [0.0, 1.0]
    program.add_rows(np.array([[1.0, -1.0]]), np.full(1, 3.0), lower=np.full(1, 2.0))
    assert not program.solve().is_optimal


def test_another_number_of_threads_before_is_no_obstacle():
    plain = Program()
    x = plain.add_variables("x", (2,), upper=1.0)
    plain.minimise(x, np.array([-1.0, -1.0]))
    for threads in (2, 1, 2):
        Highs(threads=threads).solve(plain)
        program = GrowingProgram()
        program.add_variables(np.array([-1.0]), np.array([2.0]), np.zeros((0, 1)))
        assert program.solve().value == -2.0
