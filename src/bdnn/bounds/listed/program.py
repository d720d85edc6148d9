"""The linear program of the units at hand, in its dual form: variables are multipliers, rows units.

It proposes multipliers, and by its prices means of units. Nothing is proven here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.node import Rows
from bdnn.bounds.listed.table import Indices
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.solvers.growing import GrowingProgram

_TOLERANCE = 1e-6


class Proposal(NamedTuple):
    """Value of the program, multipliers, weights of the units of each team, inputs given up."""

    value: float
    multipliers: FloatArray
    weights: list[FloatArray]
    given_up: FloatArray


class UnitProgram:
    """A program to which units and rows are added.

    Parameters
    ----------
    rows : Rows
    size : array of int
        Numbers of units of the teams.
    wanted : array of bool, one per input
    costs : array of int, one per input
    """

    def __init__(
        self, rows: Rows, size: Indices, wanted: BoolArray, costs: NDArray[np.int64]
    ) -> None:
        self._rows, self._size, self._wanted, self._costs = rows, size, wanted, costs
        self._used = np.zeros(0, dtype=np.int64)
        self._owners: list[int] = []
        self._units: list[BoolArray] = []
        self._program = GrowingProgram()
        counts = np.bincount(rows.input, minlength=len(costs))
        # All rows of an input together earn no more than it costs to give it up.
        self._shared = np.flatnonzero((counts > 1) & rows.can_go)
        n_teams = len(size)
        none = np.zeros((0, n_teams))
        self._program.add_variables(size.astype(float), np.full(n_teams, np.inf), none)
        limits = costs[self._shared].astype(float)
        self._program.add_rows(np.zeros((len(limits), n_teams)), limits)

    def propose(self, columns: list[list[BoolArray]], active: BoolArray) -> Proposal:
        """Solve the program with growing lists of units and a growing set of active rows."""
        self._grow(columns, active)
        vertex = self._program.solve()
        used, n_teams, n_shared = self._used, len(self._size), len(self._shared)
        multipliers = np.zeros(len(self._rows.need))
        multipliers[used] = vertex.variables[n_teams:]
        owners = np.array(self._owners, dtype=np.int64)
        weights = []
        for number in range(n_teams):
            part = vertex.row_prices[n_shared:][owners == number]
            weights.append(part / max(part.sum(), _TOLERANCE))
        given_up = np.zeros(len(self._costs))
        shares = vertex.bound_prices[n_teams:] / self._rows.need[used]
        np.maximum.at(given_up, self._rows.input[used], shares)
        given_up[self._shared] += vertex.row_prices[:n_shared]
        return Proposal(self._rows.fixed - vertex.value, multipliers, weights, given_up)

    def _grow(self, columns: list[list[BoolArray]], active: BoolArray) -> None:
        rows = self._rows
        known = np.zeros(len(active), dtype=bool)
        known[self._used] = True
        new = np.flatnonzero(active & ~known)
        if len(new):
            spent = (rows.input[new] == self._shared[:, None]) * rows.need[new]
            lines = np.vstack([spent, self._serves(self._units, self._owners, new)])
            self._program.add_variables(-rows.need[new].astype(float), rows.most[new], lines)
            self._used = np.concatenate([self._used, new])
        fresh = [
            (number, unit)
            for number, units in enumerate(columns)
            for unit in units[self._owners.count(number) :]
        ]
        if fresh:
            owners, units = [number for number, _ in fresh], [unit for _, unit in fresh]
            worth = -np.eye(len(self._size))[owners]
            lines = np.hstack([worth, self._serves(units, owners, self._used)])
            self._program.add_rows(lines, np.zeros(len(fresh)))
            self._owners += owners
            self._units += units

    def _serves(self, units: list[BoolArray], owners: list[int], which: Indices) -> FloatArray:
        """Whether units have the value that rows of their teams need."""
        values = np.array(units, dtype=bool).reshape(-1, len(self._wanted))
        right = (values == self._wanted)[:, self._rows.input[which]]
        return np.asarray(right * self._rows.member[which].T[owners], dtype=float)
