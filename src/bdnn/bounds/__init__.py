"""Lower bounds on the objective of every network: one argument per file, one protocol for all."""

from typing import Any

from bdnn.bounds.argument import AllOf, BoundArgument, FirstOf, Irreducible
from bdnn.bounds.enumeration import Enumeration
from bdnn.bounds.half_spaces import HalfSpaces
from bdnn.bounds.lines import Lines
from bdnn.bounds.states import Levels, OutputPatterns
from bdnn.clock import Slot
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.problem import Problem

#: Bounds that are cheap enough for every run, the simplest argument first.
FREE = AllOf(
    (
        Irreducible(),
        OutputPatterns(),
        Levels(),
        Lines(),
        FirstOf((Enumeration(), HalfSpaces())),
    )
)


def lower_bound(problem: Problem[Any], slot: Slot) -> Bound:
    """Find the best of these bounds; of equal ones the simplest argument is named."""
    return list(FREE.bounds(problem, slot))[-1]


__all__ = ["FREE", "AllOf", "Bound", "BoundArgument", "Condition", "FirstOf", "lower_bound"]
