"""What is proven of the objective: a number, the argument, and what it takes for granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Condition:
    """What a bound takes for granted; empty where it holds for every network of the problem.

    Attributes
    ----------
    margin : float
        The bound is about networks whose inactive units stay so far below their thresholds; one of
        a smaller loss may be among the others.
    tolerance : Fraction
        The objective may lie below the bound by so much: a solver's arithmetic, or a loss of real
        numbers that nobody adds up exactly.
    """

    margin: float = 0.0
    tolerance: Fraction = Fraction(0)

    def __bool__(self) -> bool:
        """Whether anything is taken for granted."""
        return self.margin > 0 or self.tolerance > 0

    @property
    def kind(self) -> int:
        """What it is about, the weaker the less: nothing, a tolerance, a margin."""
        return 2 if self.margin > 0 else int(self.tolerance > 0)

    def __or__(self, other: Condition) -> Condition:
        """What two arguments together take for granted."""
        return Condition(max(self.margin, other.margin), max(self.tolerance, other.tolerance))

    def __str__(self) -> str:
        parts = []
        if self.margin > 0:
            parts.append(f"among networks that keep a margin of {self.margin:g}")
        if self.tolerance > 0:
            parts.append(f"within a tolerance of {float(self.tolerance):.3g}")
        return " ".join(parts)


@dataclass(frozen=True)
class Bound:
    """A lower bound on the objective of networks.

    Attributes
    ----------
    value : Fraction
        Exact: floats are fractions, and no rounding makes a bound too large.
    origin : str
        The argument or solver that proves it, for people; nothing is decided by it.
    condition : Condition
        What the argument takes for granted.
    certificate : mapping, optional
        What a checker needs to repeat the proof, as plain data.
    """

    value: Fraction
    origin: str
    condition: Condition = Condition()
    certificate: Mapping[str, Any] | None = None

    def improves(self, other: Bound) -> bool:
        """Tell whether this says more than another: it is larger, or the same with a proof."""
        is_same = (self.value, self.origin) == (other.value, other.origin)
        return self.value > other.value or (is_same and self.certificate is not None)

    def in_units(self, unit: Fraction) -> Bound:
        """The same where losses are multiples of a unit that is so many times smaller."""
        condition = replace(self.condition, tolerance=self.condition.tolerance * unit)
        return replace(self, value=self.value * unit, condition=condition)

    def is_refuted_by(self, objective: Fraction) -> bool:
        """Tell whether a network of this objective shows that it does not hold."""
        return objective < self.value - self.condition.tolerance

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{float(self.value):g}", str(self.condition))))


class BestBounds:
    """The best bound of every kind of condition: none, a tolerance, a margin.

    Where a network refutes one with a margin, the others still hold.
    """

    def __init__(self, first: Bound) -> None:
        self._held = {first.condition.kind: first}
        self._least = replace(first, value=Fraction(0), origin="zero")

    @property
    def best(self) -> Bound:
        """The largest one; of equal ones that of the weaker condition."""
        held = (self._held[kind] for kind in sorted(self._held))
        return max(held, key=lambda bound: bound.value, default=self._least)

    def add(self, bound: Bound) -> bool:
        """Take a bound, unless one that takes no more for granted is as large."""
        kind = bound.condition.kind
        known = (held for other, held in self._held.items() if other <= kind)
        if not all(bound.improves(held) for held in known):
            return False
        self._held[kind] = bound
        return True

    def drop_above(self, objective: Fraction) -> list[Bound]:
        """Leave out what a network of this objective refutes."""
        refuted = {k: bound for k, bound in self._held.items() if bound.is_refuted_by(objective)}
        for kind in refuted:
            del self._held[kind]
        return list(refuted.values())
