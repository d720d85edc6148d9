"""Branch and price: lower bounds for narrow networks whose first layer has few weight vectors.

A node asks some units to be on or off at some inputs (:mod:`bdnn.bounds.listed.relaxation`). The
first level to be refuted is the least bound of all nodes. A node that cannot be refuted is branched
on one input and one team: any number of its units may be on there, and which of them is all the
same. Once all nodes cost more than the level, it is raised and the nodes are looked at again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.node import Node, Outcome, Team
from bdnn.bounds.listed.relaxation import Relaxation
from bdnn.bounds.listed.table import UnitTable
from bdnn.bounds.rules import Rule
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray

# Inputs whose rows are in the first linear program; others join where they are broken.
_FIRST_INPUTS = 400


class UnitSearch:
    """A search tree over the networks of several rules.

    Parameters
    ----------
    table : UnitTable
    wanted : array of bool, one per input
        Whether the output should be 1.
    costs : array of int, one per input
        What giving up an input costs.
    rules : threshold functions the output may be
    """

    def __init__(
        self,
        table: UnitTable,
        wanted: BoolArray,
        costs: NDArray[np.int64],
        rules: Iterable[Rule],
    ) -> None:
        self._relaxation = Relaxation(table, wanted, costs)
        self._ticket = count()
        self._open: list[tuple[int, int, int, Node]] = []
        self.n_nodes = 0
        #: Whether some network costs no more than the bound.
        self.is_attained = False
        active = np.zeros(len(wanted), dtype=bool)
        active[:: max(1, len(wanted) // _FIRST_INPUTS)] = True
        for rule in rules:
            teams = [
                Team(tuple(j for j, other in enumerate(rule.weights) if other == weight))
                for weight in dict.fromkeys(rule.weights)
            ]
            self._push(0, 0, Node(rule, tuple(teams), active))
        self._fresh = len(self._open)

    @property
    def bound(self) -> int:
        """No network costs less."""
        return self._open[0][0]

    def levels(self, slot: Slot) -> Iterator[int]:
        """Refute level after level, and yield the next one each time."""
        best = self.bound
        while not self.is_attained and not slot.is_over():
            level, depth, _, node = heapq.heappop(self._open)
            self.n_nodes += 1
            # The relaxation of a whole rule may be far above the first level.
            is_fresh = self.n_nodes <= self._fresh
            outcome = self._relaxation.examine(node, None if is_fresh else level, slot)
            self._follow(node, level, depth, outcome, is_fresh)
            if self.bound > best:
                best = self.bound
                yield best

    def _follow(self, node: Node, level: int, depth: int, outcome: Outcome, is_fresh: bool) -> None:
        if outcome.team < 0 or outcome.active is None:
            self.is_attained = outcome.is_attained and not is_fresh and outcome.bound <= level
            self._push(max(level, outcome.bound), depth, node)
            return
        divided = outcome.teams[outcome.team]
        others = [team for k, team in enumerate(outcome.teams) if k != outcome.team]
        for n_on in range(len(divided.units) + 1):
            parts = _divide(divided, outcome.input, n_on)
            child = Node(node.rule, (*others, *parts), outcome.active, level)
            self._push(level, depth - 1, child)

    def _push(self, bound: int, depth: int, node: Node) -> None:
        # Of equal bounds the deepest node first, so that few of them are open.
        heapq.heappush(self._open, (bound, depth, next(self._ticket), node))


def _divide(team: Team, where: int, n_on: int) -> list[Team]:
    """Let the first units of a team be on at an input and the others off."""
    on = replace(
        team,
        units=team.units[:n_on],
        on=(*team.on, where),
        columns=tuple(u for u in team.columns if u[where]),
    )
    off = replace(
        team,
        units=team.units[n_on:],
        off=(*team.off, where),
        columns=tuple(u for u in team.columns if not u[where]),
    )
    return [part for part in (on, off) if part.units]
