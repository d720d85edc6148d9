"""Bounds that are cheap enough for every run, the simplest argument first."""

from __future__ import annotations

from typing import Any

from bdnn.bounds.argument import AllOf, FirstOf
from bdnn.bounds.enumeration import Enumeration
from bdnn.bounds.half_spaces import HalfSpaces
from bdnn.bounds.irreducible import Irreducible
from bdnn.bounds.levels import Levels
from bdnn.bounds.lines import Lines
from bdnn.bounds.output_patterns import OutputPatterns
from bdnn.clock import Slot
from bdnn.problem.bound import Bound
from bdnn.problem.problem import Problem

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
