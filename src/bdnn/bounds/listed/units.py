"""Lower bounds for narrow networks with integer weights, from a list of all units.

As in :mod:`bdnn.bounds.benders` both outputs of two classes cost the same and one may be the
opposite of the other, so the smallest loss is what is irreducible and twice the least cost of one
output. Units may be turned round, because weight sets hold the negatives of their weights, so the
output is one of few monotone rules; a unit of weight 0 is a constant one. Shared and zero
thresholds only leave out networks, and the bound holds for them as well.

The search is branch and price. A node asks some units to be on or off at some inputs
(:mod:`bdnn.bounds.listed.relaxation`). The first level to be refuted is the least bound of all
nodes. A node that cannot be refuted is branched on one input and one team: any number of its units
may be on there, and which of them is all the same. Once all nodes cost more than the level, it is
raised and the nodes are looked at again.

As a proof that anyone can repeat it is its tree: a node that was divided has multipliers that tell
which weight vectors its parts need not look at; a node that was refuted has those that refute it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.certificate import ranks
from bdnn.bounds.lattice import Integers, gains_of, mistakes_of
from bdnn.bounds.listed import columns, table
from bdnn.bounds.listed.elimination import is_error_certain
from bdnn.bounds.listed.node import Multipliers, Node, Outcome, Task, Team
from bdnn.bounds.listed.relaxation import DENOMINATOR, Relaxation
from bdnn.bounds.listed.table import UnitTable, is_listable
from bdnn.bounds.rules import Rule, output_rules
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray
from bdnn.network.architecture import Architecture
from bdnn.parallel import Ahead, run_tasks
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

# Five units have dozens of rules, unless outputs of weights -1, 0 and 1 only count units.
_MOST_UNITS, _MOST_COUNTED = 4, 5
# Beyond four units that have many samples branching gets nowhere, and this comes first.
_ELIMINATION_SHARE = 0.9
# Bits of the sum of costs beyond which products with multipliers might not fit into 64.
_BITS = 30
# Inputs whose rows are in the first linear program; others join where they are broken.
_FIRST_INPUTS = 400

# Bound, minus the depth, a number of its own, and the node.
_Entry = tuple[int, int, int, Node]


@dataclass(frozen=True)
class ListedUnits:
    """Branch and price over whole units, for two classes and few integer weights."""

    threads: int = 1  # rules that are refuted at a time

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
        search = UnitSearch(Task(units, wanted, costs), rules)
        place = Place(problem, inputs, gains.step)

        def bound(level: int) -> Bound:
            value = problem.irreducible.value + 2 * gains.step * level
            origin = f"list of all units, {search.n_nodes} nodes"
            return Bound(value, origin, certificate=search.record.certificate(level, place))

        n_units, first = sum(shape.hidden), 0
        if n_units > _MOST_UNITS and _is_error_certain(
            units, wanted, n_units, rules, slot, self.threads
        ):
            first = int(costs.min())
            yield bound(first)
        for level in search.levels(slot, self.threads):
            found = bound(level)
            if level > first:
                yield found
            if found.value >= upper:
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
            run_tasks(is_refuted, extreme_first, n_jobs=threads, is_shared=True)
        )
    finally:
        has_ended.set()  # for other threads, after Ctrl-C


class UnitSearch:
    """A search tree over the networks whose output is one of several rules."""

    def __init__(self, task: Task, rules: Iterable[Rule]) -> None:
        self._task = task
        self._ticket = count()
        self._open: list[_Entry] = []
        self.n_nodes = 0
        self.record = Record()
        #: Whether some network costs no more than the bound.
        self.is_attained = False
        active = np.zeros(len(task.wanted), dtype=bool)
        active[:: max(1, len(task.wanted) // _FIRST_INPUTS)] = True
        for rule in rules:
            teams = [
                Team(tuple(j for j, other in enumerate(rule.weights) if other == weight))
                for weight in dict.fromkeys(rule.weights)
            ]
            self._push(0, 0, Node(rule, tuple(teams), active, number=self.record.root(rule)))
        self._fresh = len(self._open)

    @property
    def bound(self) -> int:
        """No network costs less."""
        return self._open[0][0]

    def levels(self, slot: Slot, threads: int = 1) -> Iterator[int]:
        """Refute level after level, and yield the next one each time.

        Nodes that come next are examined beside the first one, and some more so that no thread
        waits where the first one takes longest. Sooner or later all of them are
        looked at as they are, so that threads change the time and nothing else.
        """
        best = self.bound
        with Ahead(self._examine, slot=slot, threads=threads) as ahead:
            while not self.is_attained and not slot.is_over():
                following = heapq.nsmallest(2 * threads if threads > 1 else 1, self._open)
                outcome = ahead.first({entry[2]: entry for entry in following})
                level, depth, ticket, node = heapq.heappop(self._open)
                self.n_nodes += 1
                self._follow(node, level, depth, outcome, self._is_fresh(ticket))
                if self.bound > best:
                    best = self.bound
                    yield best

    def _is_fresh(self, ticket: int) -> bool:
        """Whether a node is a whole rule that was never looked at."""
        return ticket < self._fresh

    def _examine(self, entry: _Entry, slot: Slot) -> Outcome:
        level, _, ticket, node = entry
        # The relaxation of a whole rule may be far above the first level.
        least = None if self._is_fresh(ticket) else level
        return Relaxation(self._task, node, least).examine(slot)

    def _follow(self, node: Node, level: int, depth: int, outcome: Outcome, is_fresh: bool) -> None:
        children = self.record.take(node.number, outcome)
        if outcome.team < 0 or outcome.active is None:
            self.is_attained = outcome.is_attained and not is_fresh and outcome.bound <= level
            self._push(max(level, outcome.bound), depth, node)
            return
        divided = outcome.teams[outcome.team]
        others = [team for k, team in enumerate(outcome.teams) if k != outcome.team]
        for n_on, number in enumerate(children):
            parts = _divide(divided, outcome.input, n_on)
            child = Node(node.rule, (*others, *parts), outcome.active, level, number)
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


# Larger trees are more than a checker repeats in a minute, and fill the memory.
_MOST_NODES = 10_000


class Place(NamedTuple):
    """Where the inputs of a search are in a problem, and the step of its costs."""

    problem: Problem[OutputLoss]
    inputs: Integers
    step: Fraction


class _Step(NamedTuple):
    """What became of a node; without children it was refuted."""

    multipliers: Multipliers
    team: int = -1
    input: int = -1
    children: range = range(0)


class Record:
    """Nodes by their numbers, which are given out here; too many are forgotten."""

    def __init__(self) -> None:
        self._roots: list[tuple[Rule, int]] = []
        self._steps: dict[int, _Step] = {}
        self._next = 0

    @property
    def _is_complete(self) -> bool:
        return self._next <= _MOST_NODES

    def root(self, rule: Rule) -> int:
        """Begin the tree of a rule."""
        number = self._numbers(1)[0]
        self._roots.append((rule, number))
        return number

    def take(self, number: int, outcome: Outcome) -> range:
        """Put on record what became of a node, and give numbers to its parts."""
        children = range(0)
        if outcome.team >= 0:
            children = self._numbers(len(outcome.teams[outcome.team].units) + 1)
        step = _Step(outcome.multipliers, outcome.team, outcome.input, children)
        if self._is_complete:
            self._steps[number] = step
        else:
            self._steps.clear()
        return children

    def _numbers(self, count: int) -> range:
        self._next += count
        return range(self._next - count, self._next)

    def certificate(self, level: int, place: Place) -> dict[str, Any] | None:
        """Write a proof that all networks cost a level.

        None where the tree is too large, or has no part in the proof.
        """
        if not self._is_complete or not self._steps:
            return None
        all_ranks = ranks(place.problem.inputs)
        rank = [all_ranks[i] for i in place.inputs.tolist()]
        return {
            "kind": "units",
            "level": level,
            "rounding": int(place.step / place.problem.loss.step),
            "denominator": DENOMINATOR,
            "trees": [
                {"rule": [list(rule.weights), rule.threshold], "tree": self._tree(root, rank)}
                for rule, root in self._roots
            ],
        }

    def _tree(self, root: int, rank: list[int]) -> list[Any]:
        tree: list[Any] = []
        waiting = [root]
        while waiting:
            step = self._steps[waiting.pop()]
            plain = list(step.multipliers)
            plain[::3] = [rank[i] for i in plain[::3]]
            if step.team < 0:
                tree.append(plain)
                continue
            where = {"team": step.team, "input": rank[step.input]}
            tree.append({**where, "multipliers": plain})
            waiting += reversed(step.children)
        return tree
