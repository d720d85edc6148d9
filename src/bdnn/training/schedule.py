"""How the time of a run is divided, and how large a program may be: all in one place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bdnn.selection.pace import Shares


@dataclass(frozen=True)
class Share:
    """How long a phase may take.

    Parameters
    ----------
    part : float
        Of the time that is left, without what later phases are promised.
    most : float
        Seconds.
    of_limit : bool
        Whether the phase may go on until this part of the run's whole time is over instead.
    """

    part: float = 1.0
    most: float = math.inf
    of_limit: bool = False

    def seconds(self, *, left: float, limit: float, elapsed: float = 0.0) -> float:
        """Seconds of a phase that begins after ``elapsed`` of the limit."""
        seconds = self.part * limit - elapsed if self.of_limit else self.part * left
        return max(0.0, min(seconds, left, self.most))


def _sizes(**sizes: int) -> Mapping[str, int]:
    return field(default_factory=lambda: MappingProxyType(sizes))


@dataclass(frozen=True)
class Schedule:
    """Time shares of all phases, and sizes beyond which they do not begin.

    Sizes of programs are numbers of products of a weight with an input, of which rows are made.

    Parameters
    ----------
    free_bounds, earlier_bounds : Share
        Bounds without a solver, and what a run on fewer samples proves.
    planes : Share
        All planes of few dimensions, which are only begun where this time will do.
    adapt : Share
        Moves from the network of a run on fewer samples, before a solver.
    search, listed_search, lone_search : Share
        Start and descent before a solver, before a bound by a list of all units, and alone.
    slow_start : float
        Part of the search for gradients where nothing else fits into it.
    start, easier, drawn_start : float
        Parts of the search: for the start and again for its margins, for networks of an easier
        shape, and for each start of a search under constraints.
    listed_bound, conflict_bound : Share
        Bounds of narrow networks.
    explore, neighbourhood : Share
        Moves of a solver within a part of the network, and each of these.
    alternate, local, local_widen : Share
        Layers in turn: before the program of networks that hold in balls, and before wider margins,
        which are the last.
    half, searched_start : float
        Parts of what is left for one half of the layers as programs, and for a start by search.
    second_opinion : float
        Seconds of a solver that does not improve on the moves, where these ran first.
    epochs : Share
        Epochs of data splitting before a polish.
    polish : tuple of float
        Parts of what is left for each way to widen margins after the epochs.
    solve : Share
        What is not kept for reading and checking the last solution.
    widen, choose : Share
        Kept of the whole time for wider margins, and for a choice by validation.
    least_widening : float
        Seconds that wider margins may take at least.
    trial, gradients : float
        Parts of the time for a trial by validation, and of what is left for gradients.
    rushed : float
        Part of the last phase that is for training, and not for passes, where nothing is trained.
    selection : Shares
        Of a choice by validation.
    last_passes : int
        Forward passes over all samples after the last moment at which a search can stop.
    largest_programs : mapping
        Size that a solver is asked about after a search, by what a loss is about.
    largest_half : int
        Products beyond which no solver improves on the moves in seconds.
    largest_neighbourhood : int
        A neighbourhood is a whole program again, handed over many times.
    largest_table : int
        Numbers in the inputs beyond which exact arithmetic on them takes too long.
    products_per_second : int
        What building a program and handing it to a solver takes, on a slow day.
    reread_per_second : int
        The same where a solver is handed parts of a program again and again.
    """

    free_bounds: Share = Share(0.2, most=2.0)
    earlier_bounds: Share = Share(0.02, most=0.2)
    planes: Share = Share(0.5)
    adapt: Share = Share(0.1)
    search: Share = Share(0.5, of_limit=True)
    listed_search: Share = Share(0.35, of_limit=True)
    lone_search: Share = Share(0.7, of_limit=True)
    start: float = 0.25
    slow_start: float = 0.8
    easier: float = 0.3
    drawn_start: float = 0.1
    listed_bound: Share = Share(0.95)
    conflict_bound: Share = Share(0.5)
    explore: Share = Share(0.25)
    neighbourhood: Share = Share(most=2.0)
    alternate: Share = Share(0.5)
    local: Share = Share(0.7)
    local_widen: Share = Share(0.9)
    half: float = 0.4
    searched_start: float = 0.5
    second_opinion: float = 5.0
    epochs: Share = Share(0.5)
    polish: tuple[float, ...] = (0.5, 0.6, 1.0)
    solve: Share = Share(0.98)
    widen: Share = Share(0.1, most=60.0)
    choose: Share = Share(0.4, most=60.0)
    least_widening: float = 1.0
    trial: float = 0.35
    gradients: float = 0.5
    rushed: float = 0.3
    selection: Shares = field(default_factory=Shares)
    last_passes: int = 16
    largest_programs: Mapping[str, int] = _sizes(classes=400_000, numbers=3_000, guarantees=20_000)
    largest_half: int = 40_000
    largest_neighbourhood: int = 100_000
    largest_table: int = 200_000
    products_per_second: int = 1_500_000
    reread_per_second: int = 50_000
