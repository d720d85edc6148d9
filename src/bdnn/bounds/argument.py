"""What every argument for a lower bound looks like, and how several are put together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from bdnn.clock import Slot
from bdnn.problem.bound import Bound
from bdnn.problem.problem import Problem

#: A loss that is known to be reached; infinite where none is.
Upper = Fraction | float


class BoundArgument(Protocol):
    """A way to prove that no network has a smaller objective than some value."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether the argument says anything of such a problem."""
        ...

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield ever better bounds until the slot is over or one meets ``upper``.

        Parameters
        ----------
        problem : Problem
            One to which the argument applies.
        slot : Slot
        upper : Fraction or float
            A loss that is known to be reached: nobody asks for more than it.
        """
        ...


@dataclass(frozen=True)
class FirstOf:
    """The first of several arguments that proves anything."""

    arguments: Sequence[BoundArgument]

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether any of them applies."""
        return any(argument.applies(problem) for argument in self.arguments)

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield the bounds of the first one that has some."""
        for argument, part in _shared(self.arguments, problem, slot):
            has_any = False
            for bound in argument.bounds(problem, part, upper):
                has_any = True
                yield bound
            if has_any:
                return


@dataclass(frozen=True)
class AllOf:
    """Several arguments one after the other, the simplest first."""

    arguments: Sequence[BoundArgument]

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether any of them applies."""
        return any(argument.applies(problem) for argument in self.arguments)

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield what is better than everything before."""
        best: Fraction | None = None
        for argument, part in _shared(self.arguments, problem, slot):
            for bound in argument.bounds(problem, part, upper):
                if best is None or bound.value > best:
                    best = bound.value
                    yield bound
            if best is not None and best >= upper:
                return


def _shared(
    arguments: Sequence[BoundArgument], problem: Problem[Any], slot: Slot
) -> Iterator[tuple[BoundArgument, Slot]]:
    """Arguments that apply, each with its part of the time that those before it have left."""
    for number, argument in enumerate(arguments):
        if argument.applies(problem):
            yield argument, slot.part(1.0 / (len(arguments) - number))
