"""Bounds before, between and after searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bdnn.bounds import FREE, BoundArgument, FirstOf
from bdnn.bounds.enumeration import is_one_plane
from bdnn.clock import Slot
from bdnn.network.network import Network
from bdnn.training.driver import Phase
from bdnn.training.run import Run
from bdnn.training.schedule import Share


@dataclass(frozen=True, eq=False)
class FreeBounds(Phase):
    """Take the bounds that need no solver."""

    name: ClassVar[str] = "bound"

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Prove what the simple arguments give."""
        _prove(run, FREE, slot, self.name)


@dataclass(frozen=True, eq=False)
class EarlierBounds(Phase):
    """Take over what earlier samples prove of all samples."""

    name: ClassVar[str] = "earlier"

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there was a run on some of the samples."""
        return run.earlier is not None and run.earlier.applies(run.problem)

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Add up the bounds of both parts."""
        assert run.earlier is not None
        _prove(run, run.earlier, slot, self.name)


@dataclass(frozen=True, eq=False)
class NarrowBounds(Phase):
    """Raise the bound of a narrow network: by a list of all units, or conflicts of samples.

    Parameters
    ----------
    argument : BoundArgument
    is_listed : bool
        Whether all units are listed, so that the bound is worth more time than a search.
    when : callable
        Whether a proof is worth the time.
    """

    argument: BoundArgument
    is_listed: bool
    when: Callable[[], bool] = lambda: True

    name: ClassVar[str] = "bound"

    @classmethod
    def create(cls, run: Run[Any], patience: float) -> Self | None:
        """Find an argument that applies, to be followed for some patience."""
        problem, budget, schedule = run.problem, run.budget, run.schedule
        shape = problem.architecture
        if len(shape.hidden) > 1 or problem.inputs.size > schedule.largest_table:
            return None
        # Imported here, because it loads compiled code that other networks have no use for.
        from bdnn.bounds.benders import Benders
        from bdnn.bounds.half_spaces import HalfSpaces
        from bdnn.bounds.listed.units import ListedUnits

        def offer(network: Network) -> bool:
            return run.offer(network, cls.name)

        # The bounds of a few more units rise slowly.
        patience *= 2 if sum(shape.hidden) < 4 else 1
        listed = ListedUnits(threads=budget.threads)
        if listed.applies(problem):
            share = Share(schedule.listed_bound.part, most=patience)
            return cls(listed, is_listed=True, share=share)
        options: dict[str, Any] = {"seed": budget.seed, "threads": budget.threads, "offer": offer}
        conflicts = FirstOf((Benders(**options), HalfSpaces(**options)))
        share = Share(schedule.conflict_bound.part, most=patience)
        return cls(conflicts, is_listed=False, share=share) if conflicts.applies(problem) else None

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether a proof is worth the time."""
        del run
        return self.when()

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Follow the argument."""
        _prove(run, self.argument, slot, self.name)


@dataclass(frozen=True, eq=False)
class PlaneBounds(Phase):
    """Find the best plane of few dimensions, where that is all a network is, and prove it.

    Parameters
    ----------
    argument : BoundArgument
    """

    argument: BoundArgument

    name: ClassVar[str] = "planes"

    @classmethod
    def create(cls, run: Run[Any]) -> Self | None:
        """Find the argument if it applies, and a choice by validation is not what decides."""
        shape = run.problem.architecture
        if not is_one_plane(shape) or shape.weights[0].integer or run.validation is not None:
            return None
        # Imported here, because it loads compiled code that other networks have no use for.
        from bdnn.bounds.one_plane import OnePlane

        argument = OnePlane(offer=lambda network: run.offer(network, cls.name))
        is_worth_it = argument.applies(run.problem)
        return cls(argument, share=run.schedule.planes) if is_worth_it else None

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Go through the planes."""
        _prove(run, self.argument, slot, self.name)


def _prove(run: Run[Any], argument: BoundArgument, slot: Slot, phase: str) -> None:
    for bound in argument.bounds(run.problem, slot, run.loss):
        run.prove(bound, phase)
