"""The search over units as a proof that anyone can repeat: its tree, with multipliers at all nodes.

A node that was divided has multipliers that tell which weight vectors its parts need not look at; a
node that was refuted has those that refute it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from bdnn.bounds.certificate import ranks
from bdnn.bounds.lattice import Integers
from bdnn.bounds.listed.node import Multipliers, Outcome
from bdnn.bounds.listed.relaxation import DENOMINATOR
from bdnn.bounds.rules import Rule
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

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
