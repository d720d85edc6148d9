"""A linear program that grows, solved again from where it was (HiGHS).

Column and row generation solve hundreds of programs, each the last one with a few lines more. From
the basis at hand that takes a few steps of the simplex method where a new start takes hundreds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bdnn.network.activation import FloatArray
from bdnn.solvers.highs import import_highs

# Far more than any of these programs needs: a guard against a method that goes round in circles.
_MOST_STEPS = 100_000


class Vertex(NamedTuple):
    """A solution: its value, the variables, and prices of rows and of upper bounds, all >= 0.

    Where ``is_optimal`` is not true the program is infeasible, or HiGHS found no solution of it.
    """

    value: float
    variables: FloatArray
    row_prices: FloatArray
    bound_prices: FloatArray
    is_optimal: bool


class GrowingProgram:
    """Minimise ``costs @ x`` subject to ``lower <= rows @ x <= limits`` and ``0 <= x <= upper``."""

    def __init__(
        self,
        *,
        # Whether to use the primal simplex method, the faster one where only costs change.
        primal: bool = False,
        tolerance: float = 1e-7,  # how far a row may be broken
    ) -> None:
        highspy = import_highs()
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._model: Any = highspy.Highs()
        settings = {
            "output_flag": False,
            "presolve": "off",
            "threads": 1,
            "simplex_strategy": 4 if primal else 1,
            "simplex_iteration_limit": _MOST_STEPS,
            "primal_feasibility_tolerance": tolerance,
        }
        for name, value in settings.items():
            self._model.setOptionValue(name, value)

    def add_variables(self, costs: FloatArray, upper: FloatArray, columns: FloatArray) -> None:
        """Add variables, with one line of ``columns`` per row that is there already."""
        matrix = sparse.csc_matrix(columns)
        self._model.addCols(
            len(costs),
            np.asarray(costs, dtype=float),
            np.zeros(len(costs)),
            np.asarray(upper, dtype=float),
            *_parts(matrix),
        )

    def add_rows(
        self, rows: FloatArray, limits: FloatArray, *, lower: FloatArray | None = None
    ) -> None:
        """Add rows over all variables that are there already, one-sided without ``lower``."""
        matrix = sparse.csr_matrix(rows)
        lowest = np.full(len(limits), -np.inf) if lower is None else np.asarray(lower, dtype=float)
        self._model.addRows(len(limits), lowest, np.asarray(limits, dtype=float), *_parts(matrix))

    def change_costs(self, costs: FloatArray) -> None:
        """Give all variables other costs."""
        places = np.arange(len(costs), dtype=np.int32)
        self._model.changeColsCost(len(costs), places, np.asarray(costs, dtype=float))

    def change_bounds(self, lower: FloatArray, upper: FloatArray) -> None:
        """Give all variables other bounds."""
        places = np.arange(len(lower), dtype=np.int32)
        self._model.changeColsBounds(
            len(lower), places, np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        )

    def solve(self) -> Vertex:
        """Continue from the last solution."""
        self._model.run()
        solution = self._model.getSolution()
        return Vertex(
            float(self._model.getInfo().objective_function_value),
            np.asarray(solution.col_value),
            np.maximum(-np.asarray(solution.row_dual), 0.0),
            np.maximum(-np.asarray(solution.col_dual), 0.0),
            self._model.getModelStatus() == self._optimal,
        )


def _parts(matrix: Any) -> tuple[Any, ...]:
    starts, places = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
    return matrix.nnz, starts, places, matrix.data.astype(float)
