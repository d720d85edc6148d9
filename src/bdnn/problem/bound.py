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

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{float(self.value):g}", str(self.condition))))
