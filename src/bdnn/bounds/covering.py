"""Which units must be on and off at which inputs: the master problem of combinatorial cuts.

The output is a monotone threshold function of d units (:mod:`bdnn.bounds.rules`). With hidden unit
patterns as unknowns and nothing said about weights, an input i that is not given up needs

    one unit of every prime implicate on     where the output should be 1,
    one unit of every prime implicant off    where it should be 0,

and nothing else: a unit that happens to be on as well does no harm to a monotone function. So an
input wanted on never has to be off anywhere, and the other way round. With ``r_ij = 1`` where
input i needs its value at unit j, ``e_i = 1`` where input i is given up at cost ``c_i``:

    min sum_i c_i e_i   s.t.   e_i + sum_{j in clause} r_ij >= 1              for every clause,
                               sum_{i in conflict} (1 - r_ij) >= 1    for conflicts and units j.

A clause of one unit makes ``r_ij = 1 - e_i``, which is put in directly. For a single unit that is
all there is: the cheapest set of inputs that meets every conflict.

Proofs that it costs at least some level can be repeated by anyone. It is a choice of 0 and 1 with
rows that ask for one literal each. A tree divides the cases by the values of variables. A leaf has
multipliers of the rows, which bound its cost in integers; a linear program only proposes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bdnn.bounds.rules import Rule, Units
from bdnn.bounds.separation import Conflict
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.program import IndexArray, Program
from bdnn.solvers.highs import GrowingProgram


class Master:
    """The master problem of one threshold function.

    ``wanted`` tells where the output should be 1, ``costs`` what giving up an input costs.
    """

    def __init__(self, rule: Rule, wanted: BoolArray, costs: NDArray[np.int64]) -> None:
        self.rule = rule
        self.wanted = wanted
        self.costs = costs
        self.bound = 0
        n_inputs, n_units = len(wanted), len(rule.weights)
        #: Where the need of an input is a choice; elsewhere it is there unless the input is not.
        self.is_choice = np.ones((n_inputs, n_units), dtype=bool)
        for value, clauses in self.sides():
            for clause in clauses:
                if len(clause) == 1:
                    self.is_choice[wanted == value, clause[0]] = False
        self._columns = np.repeat(np.arange(n_inputs)[:, None], n_units, axis=1)
        self._columns[self.is_choice] = n_inputs + np.arange(self.is_choice.sum())
        self._seen = 0
        self._blocks: list[tuple[IndexArray, FloatArray, FloatArray]] = []

    def sides(self) -> tuple[tuple[bool, tuple[Units, ...]], ...]:
        """Sets of units of which inputs need one, where the output should be 1 and where 0."""
        return (True, self.rule.implicates), (False, self.rule.implicants)

    def add(self, conflicts: list[Conflict]) -> None:
        """Take over what is new in a growing list of conflicts, for every unit."""
        new = conflicts[self._seen :]
        self._seen = len(conflicts)
        if not new:
            return
        longest = max(len(on) + len(off) for on, off in new)
        members = np.zeros((len(new), longest), dtype=np.int64)
        used = np.zeros((len(new), longest), dtype=bool)
        for number, (on, off) in enumerate(new):
            members[number, : len(on) + len(off)] = on + off
            used[number, : len(on) + len(off)] = True
        for unit in range(len(self.rule.weights)):
            # 1 - r is the variable of a given-up input, or one minus the variable of a choice.
            signs = np.where(self.is_choice[members, unit], -1.0, 1.0) * used
            self._blocks.append(
                (self._columns[members, unit], signs, 1.0 - (signs < 0).sum(axis=1))
            )

    def program(self, *, most: float) -> Program:
        """Write the master problem, restricted to a cost between the bound and ``most``.

        Where both are equal any feasible point will do, and there is no objective.
        """
        program = Program()
        n_inputs = len(self.wanted)
        given_up = program.add_variables("e", (n_inputs,), integer=True)
        program.add_variables("r", (int(self.is_choice.sum()),), integer=True)
        for value, clauses in self.sides():
            rows = np.flatnonzero(self.wanted == value)
            for clause in clauses:
                if len(clause) > 1:
                    columns = np.column_stack([given_up[rows], self._columns[rows][:, clause]])
                    program.add_rows("clause", columns, 1.0, lower=1.0)
        for columns, signs, lower in self._blocks:
            program.add_rows("conflict", columns, signs, lower=lower)
        costs = self.costs.astype(float)
        decides = most <= self.bound
        least = -math.inf if decides else float(self.bound)
        program.add_rows("cost", given_up[None], costs, lower=least, upper=most)
        if not decides:
            program.minimise(given_up, costs)
        return program

    def needs(self, solution: FloatArray, order: NDArray[np.int64]) -> BoolArray:
        """Which input needs its value at which unit in a solution, as few as the clauses allow.

        Units are relieved in the given order of what they need not do.
        """
        values = solution > 0.5
        kept = ~values[: len(self.wanted)]
        needs = np.where(self.is_choice, values[self._columns], ~values[self._columns])
        needs &= kept[:, None]
        for unit in order:
            fewer = needs.copy()
            fewer[:, unit] = False
            for value, clauses in self.sides():
                rows = self.wanted == value
                served = np.ones(len(kept), dtype=bool)
                for clause in clauses:
                    served &= fewer[:, clause].any(axis=1)
                needs[rows & served, unit] = False
        return np.asarray(needs)


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
