"""Small programs with known optima, and hard ones that no solver finishes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bdnn.program import Program
from bdnn.solvers import Termination


def knapsack() -> Program:
    program = Program()
    x = program.add_variables("x", (4,), integer=True)
    program.add_rows("weight", x[None], [5, 7, 4, 3], upper=14)
    program.minimise(x, [-8, -11, -6, -4])
    return program


def knapsack_with_offset() -> Program:
    program = knapsack()
    program.offset = 1.5
    return program


def set_cover() -> Program:
    program = Program()
    x = program.add_variables("x", (4,), integer=True)
    covers = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 0]])
    program.add_rows("cover", np.broadcast_to(x, covers.shape), covers, lower=1)
    program.minimise(x, [3, 2, 3, 2])
    return program


def assignment() -> Program:
    """Its linear relaxation has integer corners only."""
    program = Program()
    x = program.add_variables("x", (3, 3), integer=True)
    program.add_rows("row", x, 1, lower=1, upper=1)
    program.add_rows("column", x.T, 1, lower=1, upper=1)
    program.minimise(x, [[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    return program


def general_integers() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), lower=-7, upper=[5, np.inf], integer=True)
    program.add_rows("sum", x[None], [3, 2], lower=-20, upper=11)
    program.add_rows("difference", x[None], [1, -4], lower=-9)
    program.minimise(x, [2, -3])
    return program


def fractional_objective() -> Program:
    program = Program()
    x = program.add_variables("x", (3,), lower=-4, upper=5, integer=True)
    program.add_rows("range", x[None], [2, 3, -1], lower=-7, upper=9)
    program.minimise(x, [0.1, -0.25, 1 / 3])
    return program


def equality() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), upper=20, integer=True)
    program.add_rows("exact", x[None], [3, 5], lower=31, upper=31)
    program.minimise(x, 1)
    return program


def empty_rows() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), integer=True)
    program.add_rows("nothing", x[None], 0, lower=-1, upper=1)
    program.add_rows("free", x[None], 1)
    program.minimise(x, -1)
    return program


def no_rows() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), lower=-1, integer=True)
    program.minimise(x, [1, -1])
    return program


def no_objective() -> Program:
    program = knapsack()
    program.minimise(np.arange(4), [8, 11, 6, 4])
    return program


def infeasible() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), integer=True)
    program.add_rows("odd", x[None], [2, 2], lower=1, upper=1)
    program.minimise(x, 1)
    return program


def infeasible_empty_row() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), integer=True)
    program.add_rows("nothing", x[None], 0, lower=1)
    return program


def infeasible_bounds() -> Program:
    program = Program()
    x = program.add_variables("x", (1,), lower=0.3, upper=0.7, integer=True)
    program.minimise(x, 1)
    return program


def unbounded() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), upper=np.inf, integer=True)
    program.add_rows("difference", x[None], [1, -1], upper=3)
    program.minimise(x, -1)
    return program


def infeasible_along_a_ray() -> Program:
    program = unbounded()
    program.add_rows("odd", np.array([[0, 1]]), [2, -2], lower=1, upper=1)
    return program


def mixed() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), upper=4, integer=True)
    y = program.add_variables("y", (1,), lower=-np.inf, upper=np.inf)
    program.add_rows("half", np.concatenate([x, y])[None], [1.0, 0.5, -1.0], upper=0.25)
    program.add_rows("need", x[None], [1.0, 1.0], lower=1.5)
    program.minimise(x, [0.5, 0.75])
    program.minimise(y, 1.0)
    return program


def linear() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), upper=np.inf)
    program.add_rows("limits", np.broadcast_to(x, (2, 2)), [[1, 2], [3, 1]], upper=[4, 6])
    program.minimise(x, -1)
    return program


def linear_infeasible() -> Program:
    program = linear()
    program.add_rows("far", np.array([[0, 1]]), 1, lower=10)
    return program


def linear_unbounded() -> Program:
    program = Program()
    x = program.add_variables("x", (2,), upper=np.inf)
    program.add_rows("difference", x[None], [1, -1], upper=3)
    program.minimise(x, -1)
    return program


def squares() -> Program:
    """Minimise (x-1.4)^2 + 2(y+0.6)^2 over integers, with x + y <= 0."""
    program = Program()
    x = program.add_variables("x", (2,), lower=-3, upper=3, integer=True)
    program.add_rows("sum", x[None], 1, upper=0)
    program.minimise(x, [1, 2], quadratic=True)
    program.minimise(x, [-2.8, 2.4])
    program.offset = 1.4**2 + 2 * 0.6**2
    return program


def cone() -> Program:
    """Minimise the length of a vector (x, y) with x integer and x + y = 1.4."""
    program = Program()
    x = program.add_variables("x", (1,), lower=-5, upper=5, integer=True)
    y = program.add_variables("y", (1,), lower=-5, upper=5)
    radius = program.add_variables("radius", (1,), lower=-np.inf, upper=np.inf)
    program.add_cones("length", np.concatenate([x, y])[None], radius)
    program.add_rows("sum", np.concatenate([x, y])[None], 1, lower=1.4, upper=1.4)
    program.minimise(radius, 1)
    return program


def market_split(rows: int = 5, columns: int = 40, *, exact: bool = False) -> Program:
    """Split the customers of every product into halves; small, and out of reach of any solver.

    With ``exact`` no deviation is allowed and not even a feasible point is found.
    """
    sales = np.random.default_rng(0).integers(0, 100, size=(rows, columns))
    program = Program()
    x = program.add_variables("x", (columns,), integer=True)
    terms, values = np.broadcast_to(x, sales.shape), sales
    if not exact:
        deviation = program.add_variables("deviation", (rows, 2), upper=5000, integer=True)
        terms = np.concatenate([terms, deviation], axis=1)
        values = np.concatenate([sales, np.tile([1, -1], (rows, 1))], axis=1)
        program.minimise(deviation, 1)
    half = sales.sum(axis=1) // 2
    program.add_rows("split", terms, values, lower=half, upper=half)
    return program


def market_split_start(program: Program) -> np.ndarray:
    """Give everything to one half and pay for it."""
    start = np.zeros(program.n_variables)
    start[40::2] = program.row_lower
    return start


def random_cover() -> Program:
    """Solved in less than a second, but not at the root."""
    rng = np.random.default_rng(1)
    program = Program()
    x = program.add_variables("x", (40,), integer=True)
    program.add_rows("cover", rng.choice(x, (60, 4)), 1, lower=1)
    program.minimise(x, rng.integers(5, 20, 40))
    return program


def large(rows: int = 100_000, columns: int = 30_000) -> Program:
    """Large enough to keep any solver in its presolving."""
    rng = np.random.default_rng(0)
    program = Program()
    x = program.add_variables("x", (columns,), lower=-1, integer=True)
    terms = rng.integers(0, columns, (rows, 5))
    program.add_rows("pack", terms, rng.integers(1, 9, terms.shape), upper=20)
    program.minimise(x, -rng.integers(1, 50, columns))
    return program


@dataclass(frozen=True)
class Case:
    build: Callable[[], Program]
    termination: Termination
    objective: float = np.inf


CASES = [
    Case(knapsack, Termination.OPTIMAL, -21),
    Case(knapsack_with_offset, Termination.OPTIMAL, -19.5),
    Case(set_cover, Termination.OPTIMAL, 6),
    Case(assignment, Termination.OPTIMAL, 5),
    Case(general_integers, Termination.OPTIMAL, -13),
    Case(fractional_objective, Termination.OPTIMAL, -0.4 - 1 - 4 / 3),
    Case(equality, Termination.OPTIMAL, 7),
    Case(empty_rows, Termination.OPTIMAL, -2),
    Case(no_rows, Termination.OPTIMAL, -2),
    Case(no_objective, Termination.OPTIMAL, 0),
    Case(infeasible, Termination.INFEASIBLE),
    Case(infeasible_empty_row, Termination.INFEASIBLE),
    Case(infeasible_bounds, Termination.INFEASIBLE),
    Case(infeasible_along_a_ray, Termination.INFEASIBLE),
    Case(unbounded, Termination.UNBOUNDED),
    Case(mixed, Termination.OPTIMAL, 2.25),
    Case(linear, Termination.OPTIMAL, -2.8),
    Case(linear_infeasible, Termination.INFEASIBLE),
    Case(linear_unbounded, Termination.UNBOUNDED),
    Case(squares, Termination.OPTIMAL, 0.48),
    Case(cone, Termination.OPTIMAL, np.hypot(1.0, 0.4)),
]
