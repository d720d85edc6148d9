"""Proofs that a master problem costs at least some level, which anyone can repeat.

The master problem (:mod:`bdnn.bounds.master`) is a choice of 0 and 1 with rows that ask for one
literal each. A tree divides the cases by the values of variables. A leaf has multipliers of the
rows, which bound its cost in integers; a linear program only proposes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bdnn.bounds.master import Master
from bdnn.bounds.separation import Conflict
from bdnn.clock import Slot
from bdnn.solvers.growing import GrowingProgram

#: Of multipliers.
DENOMINATOR = 2**24
# Larger trees would make larger files than a proof is worth.
_MOST_NODES = 4000
# Sum of costs beyond which the multipliers of a linear program are not exact enough.
_LARGEST_COST = 2**20
_INTEGRAL = 1e-6


class Variable(NamedTuple):
    """Whether an input is given up, or needs a unit."""

    input: int
    unit: int | None


class ConflictRow(NamedTuple):
    """One of the inputs of a conflict does not need the unit."""

    conflict: int
    unit: int


class SetRow(NamedTuple):
    """An input needs a unit of the set of that number, or is given up."""

    input: int
    number: int


#: Rows and their multipliers.
Leaf = list[tuple[ConflictRow | SetRow, int]]
#: Every node before those below it, first those where its variable is 0.
Tree = list[Variable | Leaf]


class _Rows(NamedTuple):
    """The rows ``signs @ x >= lower`` of a master problem."""

    names: list[ConflictRow | SetRow]
    signs: Any
    lower: NDArray[np.int64]

    def bound(
        self, costs: NDArray[np.int64], multipliers: NDArray[np.int64], values: dict[int, int]
    ) -> int:
        """What multipliers prove where some variables have values, in integers."""
        slope = costs * DENOMINATOR - self.signs.T @ multipliers
        total = int(multipliers @ self.lower)
        for variable, value in values.items():
            total += int(slope[variable]) * value
            slope[variable] = 0
        return -(-(total + int(np.minimum(slope, 0).sum())) // DENOMINATOR)


def find_tree(master: Master, conflicts: Sequence[Conflict], level: int, slot: Slot) -> Tree | None:
    """Prove that a master problem costs a level; None if that takes too long."""
    if int(master.costs.sum()) > _LARGEST_COST:
        return None
    rows = _rows(master, conflicts)
    n_inputs, (n_rows, n_variables) = len(master.costs), rows.signs.shape
    costs = np.zeros(n_variables, dtype=np.int64)
    costs[:n_inputs] = master.costs
    program = GrowingProgram()
    # A row may be broken at the price of the level, so that every case has a solution.
    prices = np.concatenate([costs, np.full(n_rows, level)]).astype(float)
    upper = np.concatenate([np.ones(n_variables), np.full(n_rows, np.inf)])
    program.add_variables(prices, upper, np.zeros((0, len(prices))))
    program.add_rows(-sparse.hstack([rows.signs, sparse.eye(n_rows)]), -rows.lower.astype(float))
    tree: Tree = []
    waiting: list[dict[int, int]] = [{}]
    while waiting:
        if slot.is_over() or len(tree) >= _MOST_NODES:
            return None
        values = waiting.pop()
        lower, limits = np.zeros(len(prices)), upper.copy()
        for variable, value in values.items():
            lower[variable] = limits[variable] = value
        program.change_bounds(lower, limits)
        vertex = program.solve()
        shares = np.clip(np.nan_to_num(vertex.row_prices), 0.0, level)
        multipliers = (shares * DENOMINATOR).astype(np.int64)
        if rows.bound(costs, multipliers, values) >= level:
            tree.append([(rows.names[k], int(multipliers[k])) for k in np.flatnonzero(multipliers)])
            continue
        point = vertex.variables[:n_variables]
        doubt = np.minimum(point, 1.0 - point)
        doubt[list(values)] = 0.0
        if doubt.max() < _INTEGRAL:
            return None  # a choice that costs less: the level rests on more than these rows
        worth = abs(rows.signs).T @ shares + _INTEGRAL
        variable = int(np.argmax(doubt * worth))
        block, i = divmod(variable, n_inputs)
        tree.append(Variable(i, block - 1 if block else None))
        waiting += [{**values, variable: 1}, {**values, variable: 0}]
    return tree


def _rows(master: Master, conflicts: Sequence[Conflict]) -> _Rows:
    """All rows, over inputs that are given up and then needs of one unit after the other."""
    n_inputs, n_units = master.is_choice.shape
    names: list[ConflictRow | SetRow] = []
    lower: list[int] = []
    entries: list[tuple[int, int, int]] = []
    for k, (on, off) in enumerate(conflicts):
        for unit in range(n_units):
            # 1 - r is the variable of a given-up input, or one minus the variable of a choice.
            choices = 0
            for i in on + off:
                is_choice = bool(master.is_choice[i, unit])
                choices += is_choice
                column = n_inputs * (1 + unit) + i if is_choice else i
                entries.append((len(names), column, -1 if is_choice else 1))
            names.append(ConflictRow(k, unit))
            lower.append(1 - choices)
    for value, sets in master.sides():
        for i in np.flatnonzero(master.wanted == value).tolist():
            for number, units in enumerate(sets):
                if len(units) > 1:
                    columns = [i, *(n_inputs * (1 + unit) + i for unit in units)]
                    entries += [(len(names), column, 1) for column in columns]
                    names.append(SetRow(i, number))
                    lower.append(1)
    places = np.array(entries, dtype=np.int64).reshape(-1, 3)
    shape = (len(names), n_inputs * (1 + n_units))
    signs = sparse.csr_matrix((places[:, 2], (places[:, 0], places[:, 1])), shape=shape)
    return _Rows(names, signs, np.array(lower, dtype=np.int64))
