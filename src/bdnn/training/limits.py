"""When training has to stop, what it may use, and how its time is divided: all in one place."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral, Real

from bdnn.errors import ModelError

# Part of the time that is left for the training itself, whatever comes before it.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Limits:
    """When training has to stop.

    Parameters
    ----------
    seconds : float, default 60
        After which the best network so far is returned. Code that a learner compiles, two seconds
        on a machine's first fit, and loads in later processes is not counted.
    gap : float, default 0
        Relative gap of loss and bound that is good enough.
    nodes : int or None, default None
        Branch-and-bound nodes (CP-SAT: conflicts) after which to stop.
    loss : float or None, default None
        Loss that is good enough.
    tolerance : float, default 1e-6
        For regressors: difference of loss and bound per sample, in variances (absolute loss:
        standard deviations) of the targets, up to which a network counts as optimal.
    """

    seconds: float = 60.0
    gap: float = 0.0
    nodes: int | None = None
    loss: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not is_number(self.seconds) or not self.seconds > 0:
            raise ModelError(
                f"limits: seconds must be a positive number, got {self.seconds!r}: give for "
                "example 60."
            )
        if not is_number(self.gap) or not 0 <= self.gap < math.inf:
            raise ModelError(
                f"limits: gap must be 0 or more, got {self.gap!r}: give for example 0.01."
            )
        if self.nodes is not None and (not _is_whole(self.nodes) or self.nodes < 1):
            raise ModelError(
                f"limits: nodes must be a whole number from 1, got {self.nodes!r}: use None for "
                "none."
            )
        if self.loss is not None and (not is_number(self.loss) or not 0 <= self.loss < math.inf):
            raise ModelError(
                f"limits: loss must be a number from 0, got {self.loss!r}: use None for none."
            )
        if not is_number(self.tolerance) or not 0 < self.tolerance < 1:
            raise ModelError(
                f"limits: tolerance must be above 0 and below 1, got {self.tolerance!r}: give for "
                "example 1e-6."
            )


@dataclass(frozen=True)
class Budget(Limits):
    """Limits of a run, and what it may use."""

    seconds: float = math.inf  # see :class:`Limits`; no limit of time by default
    threads: int = 1  # threads or processes
    seed: int = 0

    @classmethod
    def of(cls, limits: Limits, *, threads: int, seed: int) -> Budget:
        """Limits of a user with what a run may use."""
        return cls(**asdict(limits), threads=threads, seed=seed)

    def after(self, seconds: float) -> Budget:
        """What is left once so many seconds are gone, at least a small share."""
        return replace(self, seconds=max(self.seconds - seconds, _LEAST_SHARE * self.seconds))


@dataclass(frozen=True)
class Share:
    """How long a phase may take."""

    part: float = 1.0  # of the time that is left, without what later phases are promised
    most: float = math.inf  # seconds
    # Whether the phase may go on until this part of the run's whole time is over instead.
    of_limit: bool = False

    def seconds(self, *, left: float, limit: float, elapsed: float = 0.0) -> float:
        """Seconds of a phase that begins after ``elapsed`` of the limit."""
        seconds = self.part * limit - elapsed if self.of_limit else self.part * left
        return max(0.0, min(seconds, left, self.most))


@dataclass(frozen=True)
class Shares:
    """Parts of the time of a choice by validation."""

    recipe: float = 0.1  # for one of several ways to train
    refit: float = 0.4  # for the training on all samples, once it is known how
    least: float = 0.5  # of a whole training that each way needs to be worth a comparison
    # For a network to be copied and for the network itself, where time is short. Samples are many
    # then and need no noise, and there is one network of each kind.
    shallow: float = 0.15
    whole: float = 0.6


@dataclass(frozen=True)
class Schedule:
    """Time shares of all phases, and sizes beyond which they do not begin.

    Sizes of programs are numbers of products of a weight with an input, of which rows are made.
    """

    # Bounds without a solver, and what a run on fewer samples proves.
    free_bounds: Share = Share(0.2, most=2.0)
    earlier_bounds: Share = Share(0.02, most=0.2)
    # All planes of few dimensions, which are only begun where this time will do.
    planes: Share = Share(0.5)
    # Moves from the network of a run on fewer samples, before a solver.
    adapt: Share = Share(0.1)
    # Start and descent before a solver, before a bound by a list of all units, and alone.
    search: Share = Share(0.5, of_limit=True)
    listed_search: Share = Share(0.35, of_limit=True)
    lone_search: Share = Share(0.7, of_limit=True)
    # Parts of the search: for the start and again for its margins, for gradients where nothing else
    # fits into it, for networks of an easier shape, and for each start under constraints.
    start: float = 0.25
    slow_start: float = 0.8
    easier: float = 0.3
    drawn_start: float = 0.1
    # Bounds of narrow networks.
    listed_bound: Share = Share(0.95)
    conflict_bound: Share = Share(0.5)
    # Moves of a solver within a part of the network, and each of these.
    explore: Share = Share(0.25)
    neighbourhood: Share = Share(most=2.0)
    # Layers in turn: before the program of networks that hold in balls, and before wider margins,
    # which are the last.
    alternate: Share = Share(0.5)
    local: Share = Share(0.7)
    local_widen: Share = Share(0.9)
    # Parts of what is left for one half of the layers as programs, and for a start by search.
    half: float = 0.4
    searched_start: float = 0.5
    # Seconds of a solver that does not improve on the moves, where these ran first.
    second_opinion: float = 5.0
    # Epochs of data splitting before a polish, and parts of what is left for each way to polish.
    epochs: Share = Share(0.5)
    polish: tuple[float, ...] = (0.5, 0.6, 1.0)
    # What is not kept for reading and checking the last solution.
    solve: Share = Share(0.98)
    # Kept of the whole time for wider margins, which may take some seconds at least, and for a
    # choice by validation.
    widen: Share = Share(0.1, most=60.0)
    least_widening: float = 1.0
    choose: Share = Share(0.4, most=60.0)
    # Parts of the time for a trial by validation, and of what is left for gradients.
    trial: float = 0.35
    gradients: float = 0.5
    # Part of the last phase that is for training, and not for passes, where nothing is trained.
    rushed: float = 0.3
    selection: Shares = field(default_factory=Shares)
    # Forward passes over all samples after the last moment at which a search can stop.
    last_passes: int = 16
    # Size beyond which no solver improves on moves in seconds, and of a whole program that is
    # handed over many times.
    largest_half: int = 40_000
    largest_neighbourhood: int = 100_000
    # Numbers in the inputs beyond which exact arithmetic on them takes too long.
    largest_table: int = 200_000
    # What building a program and handing it to a solver takes, on a slow day, and where a solver is
    # handed parts of a program again and again.
    products_per_second: int = 1_500_000
    reread_per_second: int = 50_000


def is_number(value: object) -> bool:
    """Tell numbers from what a user may give by mistake, True and False included."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(name: str, value: object) -> None:
    """Refuse a setting that is no positive number."""
    if not is_number(value) or not value > 0:  # type: ignore[operator]
        raise ModelError(f"{name} must be positive, got {value!r}: raise it.")


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
