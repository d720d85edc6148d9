"""The one interface behind which every solver stands."""

from __future__ import annotations

import atexit
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import SolverNotAvailableError, UnsupportedFeatureError
from bdnn.network.activation import FloatArray
from bdnn.program import Program, is_integral
from bdnn.solvers.result import EventHandler, Limits, Monitor, SolveResult, Termination


class Feature(Enum):
    """What a program may need and a solver may offer."""

    CONTINUOUS = "continuous variables"
    FRACTIONAL_ROWS = "fractional coefficients"
    QUADRATIC_OBJECTIVE = "quadratic objective"
    CONES = "second-order cones"
    START = "starts"
    EVENTS = "incumbent and bound events"


def required_features(program: Program) -> frozenset[Feature]:
    """List what a program needs from a solver."""
    needs = set()
    if not program.integer.all():
        needs.add(Feature.CONTINUOUS)
    if not all(
        is_integral(part) for part in (program.matrix.data, program.row_lower, program.row_upper)
    ):
        needs.add(Feature.FRACTIONAL_ROWS)
    if program.quadratic.any():
        needs.add(Feature.QUADRATIC_OBJECTIVE)
    if program.cones:
        needs.add(Feature.CONES)
    return frozenset(needs)


@dataclass(frozen=True)
class AbstractSolver(ABC):
    """A mixed-integer solver.

    A frozen record of settings, so that it can be an estimator's parameter.

    Parameters
    ----------
    threads : int
        Threads the solver may use.
    seed : int
        Random seed of the solver.
    log : bool
        Whether the vendor's own log goes to standard output.
    tolerance : float
        How far a row may be broken and an integer variable be off.
    """

    threads: int = 1
    seed: int = 0
    log: bool = False
    tolerance: float = 1e-7

    name: ClassVar[str]
    package: ClassVar[str]
    distribution: ClassVar[str]
    extra: ClassVar[str | None] = None
    features: ClassVar[frozenset[Feature]]

    @classmethod
    def is_available(cls) -> bool:
        """Tell whether the package is installed, without importing it or asking for a licence."""
        return find_spec(cls.package) is not None

    @classmethod
    def version(cls) -> str | None:
        """Version of the installed package, None if it is not installed."""
        try:
            return version(cls.distribution)
        except PackageNotFoundError:
            return None

    @classmethod
    def check_available(cls) -> None:
        """Raise an error with the remedy if the package is missing."""
        if not cls.is_available():
            what = f"bdnn[{cls.extra}]" if cls.extra else cls.distribution
            raise SolverNotAvailableError(
                f"solver '{cls.name}' needs the package {cls.distribution}, which is not "
                f"installed: run pip install '{what}' or choose another solver."
            )

    def check_supports(self, program: Program) -> None:
        """Raise an error that names what this solver lacks for the program."""
        missing = required_features(program) - self.features
        if missing:
            names = " and ".join(sorted(feature.value for feature in missing))
            raise UnsupportedFeatureError(
                f"solver '{self.name}' cannot handle {names}, which this model needs: choose "
                "another solver ('bdnn solvers' lists what each can do)."
            )

    def solve(
        self,
        program: Program,
        *,
        limits: Limits | None = None,
        start: FloatArray | None = None,
        on_event: EventHandler | None = None,
        slot: Slot | None = None,
    ) -> SolveResult:
        """Minimise the program.

        The vendor runs in a thread of its own, so that Ctrl-C and the time limit are heard while
        it computes. Ctrl-C ends the search and returns what it holds; a vendor that does not
        react to its time limit is left behind with the incumbent in hand.

        Parameters
        ----------
        program : Program
        limits : Limits, optional
        start : array, optional
            A feasible point; NaN where a value is not known. The result is never worse than a
            complete one.
        on_event : callable, optional
            Called with a :class:`SolverEvent` for every better solution or bound; the search
            stops when it returns True.
        slot : Slot, optional
            Looked at many times a second in the caller's thread; the search stops when it is over,
            whatever the limits leave.

        Returns
        -------
        SolveResult
        """
        slot, limits = slot or Slot(), limits or Limits()
        limits = replace(limits, seconds=min(limits.seconds, slot.remaining))
        monitor = Monitor(program, limits, on_event)
        self.check_available()
        self.check_supports(program)
        # A complete and feasible start is kept, whatever the vendor makes of it.
        if start is not None and not np.isnan(start).any() and program.violation(start) <= 1e-6:
            monitor.incumbent(start)
        outcome: list[SolveResult] = []

        def work() -> None:
            try:
                outcome.append(self._solve(monitor, start))
            except BaseException as error:  # raised again below, in the caller's thread
                monitor.error = monitor.error or error
            finally:
                monitor.done.set()

        thread = threading.Thread(target=work, name=f"bdnn-{self.name}", daemon=True)
        if not monitor.stopping:
            thread.start()
            self._wait(monitor, slot)
        if monitor.error is not None:
            raise monitor.error
        if outcome:
            return outcome[0]
        return monitor.finish(
            Termination.INTERRUPTED if monitor.interrupted else Termination.TIME_LIMIT,
            bound=monitor.bound,
            message="stopped without waiting for the solver's last word",
        )

    @staticmethod
    def _wait(monitor: Monitor, slot: Slot) -> None:
        """Wait for the solver's thread; Ctrl-C, a wish and a passed deadline become a stop."""
        limit = monitor.limits.seconds
        patience = limit + 0.3 + 0.03 * limit if math.isfinite(limit) else math.inf
        given_up = limit + 0.6 + 0.06 * limit if math.isfinite(limit) else math.inf
        try:
            while not monitor.done.is_set() and monitor.seconds <= given_up:
                try:
                    # Not Thread.join, which takes a running thread for ended after Ctrl-C:
                    # https://github.com/python/cpython/issues/90882
                    monitor.done.wait(0.05)
                    _take_back_ctrl_c()
                    monitor.repeat_stop()
                    if not monitor.stopping and slot.is_stopped():
                        monitor.stop()
                    if monitor.seconds > patience and not monitor.out_of_time:
                        monitor.stop(out_of_time=True)
                except KeyboardInterrupt:
                    if monitor.interrupted:
                        raise
                    monitor.stop()
                    given_up = min(given_up, monitor.seconds + 5.0)
        finally:
            if not monitor.done.is_set():
                monitor.close()
                _STILL_RUNNING.append(monitor)

    @abstractmethod
    def _solve(self, monitor: Monitor, start: FloatArray | None) -> SolveResult:
        """Hand the monitor's program to the vendor, report to it, translate the end.

        Runs in a thread of its own. Must keep ``monitor.limits``, report every incumbent and bound
        it learns of, end soon after ``monitor.stopping`` becomes true, and return what
        ``monitor.finish`` makes of its last word.
        """


def cone_lower(program: Program) -> FloatArray:
    """Lower bounds for vendors of squared cones: below zero these have a mirror image."""
    lower = program.lower
    for cone in program.cones:
        lower[cone.radius] = np.maximum(lower[cone.radius], 0.0)
    return lower


def _take_back_ctrl_c() -> None:
    """Set Python's handler again, which Gurobi replaces by its own without a way to forbid it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


_STILL_RUNNING: list[Monitor] = []


@atexit.register
def _wait_for_the_last() -> None:
    """Let solvers left behind end before the interpreter does, which their callbacks need."""
    deadline = time.perf_counter() + 10.0
    for monitor in _STILL_RUNNING:
        while not monitor.done.is_set() and time.perf_counter() < deadline:
            monitor.repeat_stop()
            monitor.done.wait(0.05)
