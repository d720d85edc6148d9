"""What a running solver tells, what it is told, and how its last word becomes a result."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.solvers.result import Limits, SolveResult, SolverEvent, Termination

EventHandler = Callable[[SolverEvent], bool | None]


class Monitor:
    """The line between a running solver and whoever waits for it.

    A back end reports incumbents and bounds here and asks :attr:`stopping`; while the vendor
    searches it may also lend a function that makes the search end at once, see
    :meth:`stopped_by`.
    """

    def __init__(self, limits: Limits, handler: EventHandler | None) -> None:
        self.started = time.perf_counter()
        self.limits = limits
        self.solution: FloatArray | None = None
        self.objective = math.inf
        self.bound = -math.inf
        self.on_stop: Callable[[], None] | None = None
        self.interrupted = False
        self.out_of_time = False
        self.done = threading.Event()
        self.error: BaseException | None = None
        self._handler = handler
        self._lock = threading.RLock()
        self._closed = False

    @property
    def seconds(self) -> float:
        """Time since the solve began."""
        return time.perf_counter() - self.started

    @property
    def remaining(self) -> float:
        """Time left of the limit."""
        return max(0.0, self.limits.seconds - self.seconds)

    @property
    def stopping(self) -> bool:
        """Whether the search has to end now."""
        return self.interrupted or self.out_of_time

    def incumbent(self, solution: FloatArray, objective: float, bound: float = -math.inf) -> None:
        """Report a solution; only a better one than before is kept and told."""
        if self._closed or objective >= self.objective:
            return
        self.solution = np.array(solution, dtype=float)
        self.objective = objective
        if math.isfinite(bound):
            self.bound = max(self.bound, bound)
        self._tell("incumbent", self.solution)

    def improve_bound(self, bound: float) -> None:
        """Report a lower bound; only a better one than before is kept and told."""
        if not self._closed and math.isfinite(bound) and bound > self.bound + 1e-9:
            self.bound = bound
            self._tell("bound", None)

    def stop(self, *, out_of_time: bool = False) -> None:
        """Ask the search to end, because of time or because somebody wants it to."""
        self.out_of_time |= out_of_time
        self.interrupted |= not out_of_time
        self.repeat_stop()

    def repeat_stop(self) -> None:
        """Pass a stop on to the vendor again, who forgets one that came before the search."""
        with self._lock:
            if self.stopping and self.on_stop is not None:
                self.on_stop()

    @contextmanager
    def stopped_by(self, on_stop: Callable[[], None]) -> Iterator[None]:
        """Lend the function that ends the vendor's search for as long as it may be called."""
        self.on_stop = on_stop
        try:
            yield
        finally:
            with self._lock:
                self.on_stop = None

    def close(self) -> None:
        """Hear nothing more from a solver that is left behind."""
        self._closed = True

    def _tell(self, kind: Literal["incumbent", "bound"], solution: FloatArray | None) -> None:
        if self._handler is None:
            return
        event = SolverEvent(kind, self.seconds, self.objective, self.bound, solution)
        try:
            wants_stop = self._handler(event)
        except BaseException as error:  # raised again where the caller waits, see `solve`
            self.error = error
            wants_stop = True
        if wants_stop:
            self.stop()


def finish(
    monitor: Monitor,
    termination: Termination,
    *,
    solution: FloatArray | None,
    objective: float,
    bound: float,
    nodes: int = 0,
    message: str = "",
) -> SolveResult:
    """Put together a back end's last word and what the monitor heard before."""
    if solution is None or monitor.objective < objective:
        solution, objective = monitor.solution, monitor.objective
    if termination is Termination.INTERRUPTED and monitor.out_of_time and not monitor.interrupted:
        termination = Termination.TIME_LIMIT
    # Vendors call a search optimal that ended at the wanted gap.
    if termination is Termination.OPTIMAL and bound < objective - 1e-6 * max(1.0, abs(objective)):
        termination = Termination.GAP_LIMIT
    bound = max(bound, monitor.bound)
    if termination is Termination.UNBOUNDED:
        solution, bound = None, -math.inf  # any point of a ray would be as good
    return SolveResult(
        termination,
        solution,
        objective if solution is not None else math.inf,
        min(bound, objective),
        monitor.seconds,
        nodes,
        message,
    )
