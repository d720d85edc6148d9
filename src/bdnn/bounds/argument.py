"""What every argument for a lower bound looks like, and how several are put together.

To add a bound, write a frozen dataclass with the two methods of :class:`BoundArgument` in a file of
its own; :class:`Irreducible` is the smallest example.

* ``applies`` looks at shapes and sizes only: kind of loss, outputs, hidden units, weight set. It
  says no where the argument is silent or would take too long, and never because of a term:
  constraints only leave out networks and prices are never negative, so that a bound without them
  holds with them.
* ``bounds`` yields :class:`~bdnn.problem.bound.Bound` records, each better than the last: larger,
  or the same with a certificate. It looks at ``slot.is_over()`` between pieces of bounded work, and
  ends where a bound meets ``upper``. What is cut short yields what is proven by then, or nothing.
* A bound is true to the last digit. Add and compare integers or fractions:
  :func:`~bdnn.bounds.lattice.gains_of` writes what answers are worth as integers of one step. A
  linear program may propose multipliers or a certificate, and integers then decide what these
  prove. What is left to a solver goes through :func:`~bdnn.bounds.lattice.solver_bound`, which
  states its margin and tolerance as the bound's condition.
* ``origin`` names the argument in the user's words, for results and reports.

If it takes no more than a second it joins ``FREE`` in :mod:`bdnn.bounds`; otherwise the method that
gives it time names it. Tests: never above the optimum of ``tests/oracle.py``, equal to it where the
argument is exact, and a broken certificate proves nothing.
"""

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
class Irreducible:
    """What no function of the inputs avoids, whatever the network; each loss knows its own.

    Samples with equal inputs and different classes or targets cost something with any answer, and
    of balls of different classes that meet no classifier keeps both.
    """

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell that there always is one."""
        del problem
        return True

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield it."""
        del slot, upper
        yield problem.irreducible


@dataclass(frozen=True)
class _Several:
    """Some arguments, each with its part of the time that those before it have left."""

    arguments: Sequence[BoundArgument]

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether any of them applies."""
        return any(argument.applies(problem) for argument in self.arguments)

    def _parts(self, problem: Problem[Any], slot: Slot) -> Iterator[tuple[BoundArgument, Slot]]:
        for number, argument in enumerate(self.arguments):
            if argument.applies(problem):
                yield argument, slot.part(1.0 / (len(self.arguments) - number))


@dataclass(frozen=True)
class FirstOf(_Several):
    """The first of several arguments that proves anything; it then has all of the time."""

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield the bounds of the first one that has some."""
        proven: list[Bound] = []
        for argument, part in self._parts(problem, slot):

            def is_late(part: Slot = part) -> bool:
                return not proven and part.is_over()

            for bound in argument.bounds(problem, slot.until(is_late), upper):
                proven.append(bound)
                yield bound
            if proven:
                return


@dataclass(frozen=True)
class AllOf(_Several):
    """Several arguments one after the other, the simplest first."""

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield what is better than everything before."""
        best: Bound | None = None
        for argument, part in self._parts(problem, slot):
            for bound in argument.bounds(problem, part, upper):
                if best is None or bound.improves(best):
                    best = bound
                    yield bound
            if best is not None and best.value >= upper:
                return
