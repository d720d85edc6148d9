"""Time as searches and bounds see it: a slot that is over at some moment, or when told to stop.

Code that is compiled or loaded in a thread of its own is waited for as long as a slot lasts.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Clock = Callable[[], float]
Done = TypeVar("Done")


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


_POLL_SECONDS = 0.05


class BackgroundLoad:
    """Something to be loaded once per process, in a thread of its own."""

    def __init__(
        self,
        # Does it; a failure shows itself where the code is used, with a traceback that helps.
        load: Callable[[], None],
        name: str,  # of the thread
    ) -> None:
        self._load = load
        self._name = name
        self._ready = threading.Event()
        self._started = threading.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether it is loaded."""
        return self._ready.is_set()

    def start(self) -> None:
        """Begin to load it, unless that was begun before."""
        if not self._ready.is_set() and self._started.acquire(blocking=False):
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            # An interpreter that ends while a compiler works may crash.
            atexit.register(thread.join)
            thread.start()

    def wait(self, slot: Slot) -> bool:
        """Load it; tell whether it is ready, or the slot was over before."""
        self.start()
        while not self._ready.wait(_POLL_SECONDS):
            if slot.is_over():
                return False
        return True

    def _run(self) -> None:
        try:
            self._load()
        finally:
            self._ready.set()
            atexit.unregister(threading.current_thread().join)


def to_the_end(finish: Callable[[], Done]) -> Done:
    """Do what is left to do with a trained network; Ctrl-C only begins it anew.

    It takes a moment, and whoever asks for the end wants to keep the network.
    """
    try:
        return finish()
    except KeyboardInterrupt:
        return finish()
