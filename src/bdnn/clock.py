"""Time as searches and bounds see it: a slot that is over at some moment, or when told to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]


def _goes_on() -> bool:
    return False


class Ticks:
    """A clock that goes on by one step whenever it is read, whatever the machine does meanwhile.

    With it a test says how often a search may look at the clock, and nothing depends on speed.
    """

    def __init__(self, step: float = 1.0) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        """Read the time."""
        self.now += self.step
        return self.now


@dataclass(frozen=True)
class Slot:
    """A stretch of time that one piece of work may take."""

    deadline: float = math.inf  # moment of the clock at which the slot ends; infinite for no end
    clock: Clock = time.perf_counter  # the time now, in seconds
    # Whether the work is to end before the deadline: asked each time, so that it may also tell that
    # the work goes on.
    is_stopped: Callable[[], bool] = _goes_on

    @classmethod
    def of(
        cls,
        seconds: float,
        *,
        clock: Clock = time.perf_counter,
        is_stopped: Callable[[], bool] = _goes_on,
    ) -> Slot:
        """So many seconds from now on."""
        return cls(clock() + seconds, clock, is_stopped)

    def __reduce__(self) -> tuple[Callable[[float], Slot], tuple[float]]:
        """What another process gets is the time that is left: clocks of machines differ."""
        return Slot.of, (self.remaining,)

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self.deadline - self.clock())

    def is_over(self) -> bool:
        """Tell whether the work has to end now."""
        return self.is_stopped() or self.clock() >= self.deadline

    def until(self, is_stopped: Callable[[], bool]) -> Slot:
        """The same slot, which also ends as soon as something else is true."""
        return Slot(self.deadline, self.clock, lambda: self.is_stopped() or is_stopped())

    def part(self, share: float = 1.0, *, most: float = math.inf) -> Slot:
        """A share of what is left, from now on, and at most so many seconds."""
        now = self.clock()
        seconds = min(share * max(0.0, self.deadline - now), most) if share > 0 else 0.0
        return Slot(min(now + seconds, self.deadline), self.clock, self.is_stopped)
