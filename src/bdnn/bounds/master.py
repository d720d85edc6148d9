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
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.rules import Rule, Units
from bdnn.bounds.separation import Conflict
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.program import IndexArray, Program


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
