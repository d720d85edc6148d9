"""What a solver says, while it runs and in the end, and what it is told meanwhile."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.program import Program

# What no number of a program comes near to. Vendors use it, or more, for what has no bound.
INFINITE = 1e20


class Termination(Enum):
    """Why a solver stopped; whether it holds a solution is told by the result alone."""

    OPTIMAL = "optimal"
    GAP_LIMIT = "gap limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Limits:
    """When a solver has to stop.

    Parameters
    ----------
    seconds : float
        Wall-clock time, building of the vendor's model included.
    gap : float
        Relative gap at which the search may end, see :func:`relative_gap`.
    absolute_gap : float
        Absolute difference of objective and bound at which the search may end. For an objective
        that takes only integer values anything below 1 is exact.
    nodes : int or None
        Branch-and-bound nodes; CP-SAT, which has none, counts conflicts.
    """

    seconds: float = math.inf
    gap: float = 0.0
    absolute_gap: float = 1e-6
    nodes: int | None = None


@dataclass(frozen=True)
class SolverEvent:
    """A better solution or a better bound, told while the solver runs."""

    kind: Literal["incumbent", "bound"]
    seconds: float
    objective: float
    bound: float
    solution: FloatArray | None = None


@dataclass(frozen=True)
class SolveResult:
    """The end of a solve.

    Parameters
    ----------
    termination : Termination
        Why the solver stopped.
    solution : array or None
        Best point, or None if none was found.
    objective, bound : float
        Value of that point (inf without one) and proven lower bound (-inf without one).
    seconds : float
    nodes : int
    message : str
        The vendor's own word for the status.
    """

    termination: Termination
    solution: FloatArray | None
    objective: float
    bound: float
    seconds: float
    nodes: int = 0
    message: str = ""

    @property
    def gap(self) -> float:
        """Relative distance of objective and bound."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """Distance of objective and bound relative to the objective, 0 where they meet.

    The formula is the same for all solvers: ``|objective - bound| / |objective|``, and infinite
    without both numbers.
    """
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return math.inf
    distance = abs(objective - bound)
    if distance <= 1e-9 * max(1.0, abs(objective)):
        return 0.0
    return distance / abs(objective) if objective else math.inf


EventHandler = Callable[[SolverEvent], bool | None]


class Monitor:
    """The line between a running solver and whoever waits for it.

    A back end takes the program and the limits from here, reports incumbents and bounds, asks
    :attr:`stopping`, and says its last word by :meth:`finish`. While the vendor searches it may
    also lend a function that makes the search end at once, see :meth:`stopped_by`.
    """

    def __init__(
        self, program: Program, limits: Limits, handler: EventHandler | None = None
    ) -> None:
        self.started = time.perf_counter()
        self.program = program
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

    def incumbent(self, solution: FloatArray, bound: float = -math.inf) -> None:
        """Report a solution; only a better one than before is kept and told."""
        objective = self.program.objective(np.asarray(solution))
        if self._closed or objective >= self.objective:
            return
        self.solution = np.array(solution, dtype=float)
        self.objective = objective
        if abs(bound) < INFINITE:
            self.bound = max(self.bound, bound)
        self._tell("incumbent", self.solution)

    def improve_bound(self, bound: float) -> None:
        """Report a lower bound; only a better one than before is kept and told."""
        if not self._closed and abs(bound) < INFINITE and bound > self.bound + 1e-9:
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

    def finish(
        self,
        termination: Termination,
        *,
        solution: FloatArray | None = None,
        bound: float | None = -math.inf,
        nodes: int = 0,
        message: str = "",
    ) -> SolveResult:
        """Put together a back end's last word and what was heard before.

        No bound at all is that of a program without integers, which is its objective if optimal.
        """
        objective = math.inf if solution is None else self.program.objective(solution)
        if bound is None:
            bound = objective if termination is Termination.OPTIMAL else -math.inf
        bound = bound if abs(bound) < INFINITE else -math.inf
        if solution is None or self.objective < objective:
            solution, objective = self.solution, self.objective
        if termination is Termination.INTERRUPTED and self.out_of_time and not self.interrupted:
            termination = Termination.TIME_LIMIT
        # Vendors call a search optimal that ended at the wanted gap.
        is_far = bound < objective - 1e-6 * max(1.0, abs(objective))
        if termination is Termination.OPTIMAL and is_far:
            termination = Termination.GAP_LIMIT
        bound = max(bound, self.bound)
        if termination is Termination.UNBOUNDED:
            solution, bound = None, -math.inf  # any point of a ray would be as good
        return SolveResult(
            termination,
            solution,
            objective if solution is not None else math.inf,
            min(bound, objective),
            self.seconds,
            nodes,
            message,
        )

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
