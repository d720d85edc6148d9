"""Lower bounds for narrow networks with integer weights, from a list of all units.

As in :mod:`bdnn.bounds.benders` both outputs of two classes cost the same and one may be the
opposite of the other, so the smallest loss is what is irreducible and twice the least cost of one
output. Units may be turned round, because weight sets hold the negatives of their weights, so the
output is one of few monotone rules; a unit of weight 0 is a constant one. Shared and zero
thresholds only leave out networks, and the bound holds for them as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

from bdnn.bounds.argument import Upper
from bdnn.bounds.gains import gains_of, mistakes_of
from bdnn.bounds.listed import columns, table
from bdnn.bounds.listed.elimination import is_error_certain
from bdnn.bounds.listed.search import UnitSearch
from bdnn.bounds.listed.table import UnitTable, is_listable
from bdnn.bounds.rules import Rule, output_rules
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray
from bdnn.network.architecture import Architecture
from bdnn.parallel import run_tasks
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

# Five units have dozens of rules, unless outputs of weights -1, 0 and 1 only count units.
_MOST_UNITS, _MOST_COUNTED = 4, 5
# Beyond four units that have many samples branching gets nowhere, and this comes first.
_ELIMINATION_SHARE = 0.9
# Bits of the sum of costs beyond which products with multipliers might not fit into 64.
_BITS = 30


@dataclass(frozen=True)
class ListedUnits:
    """Branch and price over whole units, for two classes and few integer weights.

    Parameters
    ----------
    threads : int
        Rules that are refuted at a time.
    """

    threads: int = 1

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether all units of the first layer can be listed, and are few enough."""
        shape = problem.architecture
        return (
            isinstance(problem.loss, OutputLoss)
            and shape.n_outputs == 2
            and not shape.has_levels
            and len(shape.hidden) <= 1
            and sum(shape.hidden) <= most_listed(shape)
            and is_listable(shape.weights[0], *problem.inputs.shape)
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield a bound for every cost that is refuted."""
        gains = gains_of(problem.loss, bits=_BITS)
        inputs, wanted, costs = mistakes_of(gains.values[:, 1])
        if not len(inputs) or not table.KERNELS.wait(slot):
            return
        shape = problem.architecture
        units = UnitTable(problem.inputs[inputs], shape.weights[0], slot)
        if not units.is_complete:
            return
        rules = output_rules(shape)
        search = UnitSearch(units, wanted, costs, rules)

        def bound(level: int) -> Bound:
            value = problem.irreducible.value + 2 * gains.step * level
            return Bound(value, f"list of all units, {search.n_nodes} nodes")

        n_units, first = sum(shape.hidden), 0
        if n_units > _MOST_UNITS and _is_error_certain(
            units, wanted, n_units, rules, slot, self.threads
        ):
            first = int(costs.min())
            yield bound(first)
        for level in search.levels(slot):
            if level > first:
                yield bound(level)
            if bound(level).value >= upper:
                return


def most_listed(shape: Architecture) -> int:
    """Give the largest number of units whose bound is worth a try."""
    outputs = shape.weights[-1]
    return _MOST_COUNTED if outputs.integer and outputs.limit == 1 else _MOST_UNITS


def _is_error_certain(
    units: UnitTable,
    wanted: BoolArray,
    n_units: int,
    rules: list[Rule],
    slot: Slot,
    threads: int,
) -> bool:
    """Tell whether a first error is proven, for more units than branching copes with."""
    # Threads look at the clock alone: whom the slot asks besides may not expect them.
    has_ended = Event()
    part = Slot(slot.part(_ELIMINATION_SHARE).deadline, slot.clock, has_ended.is_set)

    def is_refuted(rule: Rule) -> bool:
        certain = not part.is_over() and is_error_certain(
            units, wanted, n_units, rule.threshold, part.is_over
        )
        if not certain:
            has_ended.set()
        return certain

    # The rules of half of the units are the hardest.
    extreme_first = sorted(rules, key=lambda rule: -abs(2 * rule.threshold - n_units - 1))
    try:
        return columns.KERNELS.wait(part) and all(
            run_tasks(is_refuted, extreme_first, n_jobs=threads)
        )
    finally:
        has_ended.set()  # for other threads, after Ctrl-C
