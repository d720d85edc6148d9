"""What a half-space must cost at least: packing and covering of conflicts.

Without a hidden layer, or with a single unit in the first, every output is a half-space of the
inputs, the outside of one, or constant. A conflict is a small set of inputs, some wanted on and
some wanted off, whose convex hulls share a point (:mod:`bdnn.bounds.separation`). No half-space
serves all of them, so with costs ``c_i`` of a mistake an output costs at least

    min  sum_i c_i x_i   subject to   sum_{i in C} x_i >= 1  for every conflict C,  x >= 0.

Conflicts are generated: the present ``x`` as costs of the program of meeting hulls looks for one
that is not yet respected. The bound is the value of a packing, the dual solution, which is made
feasible in integers. What is left of the time goes to the same problem with ``x`` in {0, 1}, whose
value is the least cost itself once no conflict is violated: the master problem of
:mod:`bdnn.bounds.benders` for one unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.benders import BITS, ConflictArgument, CutSearch
from bdnn.bounds.certificate import certificate
from bdnn.bounds.covering import DENOMINATOR, ConflictRow, Leaf
from bdnn.bounds.enumeration import is_one_plane
from bdnn.bounds.lattice import Integers, gains_of, mistakes_of
from bdnn.bounds.rules import threshold_rules
from bdnn.bounds.separation import Conflict
from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.solvers.highs import GrowingProgram
from bdnn.solvers.registry import get_solver

# Conflicts that are looked for with one solution of the covering problem.
_PER_ROUND = 10
_NEGLIGIBLE = 1e-6
# Largest sum of costs that a solver of linear programs keeps apart; beyond, integers have to.
_KEPT_APART = 10_000
# Numbers in the inputs beyond which exact arithmetic on them takes too long.
_LARGEST_TABLE = 200_000


@dataclass(frozen=True)
class HalfSpaces(ConflictArgument):
    """Conflicts of every output."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether every output is a half-space of not too many inputs."""
        return (
            isinstance(problem.loss, OutputLoss)
            and is_one_plane(problem.architecture)
            and 0 < problem.inputs.size <= _LARGEST_TABLE
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield a better bound for every cost of an output that is refuted."""
        gains = gains_of(problem.loss, bits=BITS)
        outputs = self._outputs(problem.inputs, gains.values)
        value = problem.irreducible.value

        def total() -> Bound:
            levels = sum(output.copies * output.level for output in outputs)
            proofs = [proof for output in outputs for proof in output.proofs(output.number)]
            return Bound(
                value + gains.step * levels,
                "half-space certificates",
                certificate=certificate(problem, gains.step, proofs),
            )

        for stage in (_Output.pack, _Output.levels):
            for number, output in enumerate(outputs):
                for _ in stage(output, slot.part(1.0 / (len(outputs) - number))):
                    if total().value >= upper:
                        for one in outputs:
                            one.find_trees(slot)
                        yield total()
                        return
                    yield total()
        if len(outputs) == 1:
            self._attain(problem.architecture, outputs[0].attained)

    def _outputs(self, inputs: FloatArray, gains: Integers) -> list[_Output]:
        """One for each pair of outputs that are each other's opposite, and so are half-spaces."""
        found: list[_Output] = []
        for number, column in reversed(list(enumerate(gains.T))):
            twin = next((o for o in found if np.array_equal(o.gains, -column)), None)
            if twin is not None:
                twin.copies += 1
            elif column.any():
                found.append(_Output(inputs, number, column, self.seed, self.threads))
        return found


class _Output(CutSearch):
    """One output, or several that cost the same, and what is proven of it."""

    def __init__(
        self, inputs: FloatArray, number: int, gains: Integers, seed: int, threads: int
    ) -> None:
        self.number, self.gains, self.copies = number, gains, 1
        mistakes = mistakes_of(gains)
        name = "highs" if int(mistakes.costs.sum()) <= _KEPT_APART else "cpsat"
        engine = get_solver(name, threads=threads, seed=seed)
        super().__init__(inputs, mistakes, threshold_rules(1), engine, seed)

    def pack(self, slot: Slot) -> Iterator[int]:
        """Yield better levels by fractional packings, until no conflict is violated."""
        if slot.is_over():
            return
        hulls = self.separator.hulls(np.flatnonzero(self.wanted), np.flatnonzero(~self.wanted))
        if hulls is None:
            return
        n_inputs, none = len(self.costs), np.zeros(len(self.costs), dtype=bool)
        program = GrowingProgram()
        program.add_rows(np.zeros((n_inputs, 0)), self.costs.astype(float))
        x = np.zeros(n_inputs)
        while not slot.is_over():
            found: list[Conflict] = []
            used = np.zeros(n_inputs)
            for _ in range(_PER_ROUND):
                conflict = hulls.conflict(x + used, none, self._rng)
                members = list(conflict.on + conflict.off)
                if x[members].sum() > 1.0 - _NEGLIGIBLE or slot.is_over():
                    break
                used[members] += 1.0
                if conflict not in found and self.separator.certify(conflict):
                    found.append(conflict)
            if not found:
                return
            self.conflicts += found
            program.add_variables(
                -np.ones(len(found)), np.full(len(found), np.inf), _marks(found, n_inputs)
            )
            vertex = program.solve()
            x = vertex.row_prices
            level, multipliers = packed(self.conflicts, vertex.variables, self.costs)
            if level > self.level:
                self.level = level
                leaf: Leaf = [(ConflictRow(k, 0), y) for k, y in enumerate(multipliers) if y]
                self._take(level, [[leaf]])
                yield level


def packed(conflicts: list[Conflict], shares: FloatArray, costs: Integers) -> tuple[int, list[int]]:
    """Bound what conflicts cost together, whatever shares a program proposes for them.

    Shares become integers over a denominator, the multipliers, and are scaled down where an input
    is charged more than it costs. Costs are integers, so that the least one is the next integer.
    """
    safe = np.clip(np.nan_to_num(shares), 0.0, float(costs.max()))
    whole = [int(value * DENOMINATOR) for value in safe.tolist()]
    charged = [0] * len(costs)
    for (on, off), value in zip(conflicts, whole, strict=True):
        for member in on + off:
            charged[member] += value
    excess = max(
        Fraction(charge, int(cost) * DENOMINATOR)
        for charge, cost in zip(charged, costs.tolist(), strict=True)
    )
    multipliers = [math.floor(value / max(Fraction(1), excess)) for value in whole]
    return -(-sum(multipliers) // DENOMINATOR), multipliers


def _marks(conflicts: list[Conflict], n_inputs: int) -> FloatArray:
    """One column per conflict with ones at its members."""
    marks = np.zeros((n_inputs, len(conflicts)))
    for number, (on, off) in enumerate(conflicts):
        marks[list(on + off), number] = 1.0
    return marks
