"""The linear program that proposes duals of inputs; they prove nothing by themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.columns import Columns, Duals
from bdnn.network.activation import FloatArray
from bdnn.solvers.growing import GrowingProgram

#: Duals add up to about this; sums of products with needs have room in 32 bits.
DENOMINATOR = 2**20
# More units than matter make it slow.
_MOST_ROWS = 300
_TOLERANCE = 1e-9


def to_duals(shares: NDArray[np.floating]) -> Duals:
    """Round duals to integers."""
    safe = np.clip(np.nan_to_num(shares), 0.0, None).astype(float)
    rounded: Duals = np.rint(safe / max(safe.sum(), _TOLERANCE) * DENOMINATOR).astype(np.int32)
    return rounded


class DualProgram:
    """Duals by which needs exceed what units at hand serve by most.

    Its variables are the duals, which add up to 1, and the largest value of a unit; a unit is a
    row. Needs are costs, so that other needs are answered from the last vertex.

    Parameters
    ----------
    n_inputs : int
    """

    def __init__(self, n_inputs: int) -> None:
        self._costs: FloatArray = np.zeros(n_inputs + 1)
        self._begin()

    def _begin(self) -> None:
        n_variables = len(self._costs)
        self._units: Columns = np.zeros((n_variables - 1, 0), dtype=np.uint8)
        self._matters = np.zeros(0, dtype=bool)
        self._program = GrowingProgram()
        self._program.add_variables(
            self._costs, np.full(n_variables, np.inf), np.zeros((0, n_variables))
        )
        total = np.append(np.ones(n_variables - 1), 0.0)
        self._program.add_rows(np.array([total, -total]), np.array([1.0, -1.0]))

    def add(self, columns: Columns) -> None:
        """Add units, one per column; once they are many, those that did not matter are dropped."""
        if self._units.shape[1] > _MOST_ROWS:
            columns = np.hstack([self._units[:, np.flatnonzero(self._matters)], columns])
            self._begin()
        self._units = np.hstack([self._units, columns])
        lines = np.column_stack([columns.T.astype(float), np.full(columns.shape[1], -1.0)])
        self._program.add_rows(lines, np.zeros(len(lines)))

    def ask(self, needs: NDArray[np.int64], n_units: int) -> None:
        """Say what is needed, and how many units there are to serve it."""
        self._costs = np.append(-needs.astype(float), float(n_units))
        self._program.change_costs(self._costs)

    def propose(self) -> tuple[float, Duals]:
        """Return the largest excess there can be for these units, times DENOMINATOR, and duals."""
        vertex = self._program.solve()
        self._matters = vertex.row_prices[2:] > _TOLERANCE
        return -vertex.value * DENOMINATOR, to_duals(vertex.variables[:-1])
