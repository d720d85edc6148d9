"""What a training run shows while it runs: a live bar on a terminal, lines anywhere else."""

from __future__ import annotations

import math
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from bdnn.cli.console import percent

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from bdnn.training.result import Progress

_TICK = 0.2
_LINE_EVERY = 1.0
_HEARTBEAT = 10.0


class ProgressDisplay:
    """Shows loss, bound and gap of a run; an object of it is the estimator's callback.

    Training calls it from whatever thread it computes in, possibly thousands of times a second,
    so that a call only takes down the newest moment. A thread of its own shows it now and then.

    Parameters
    ----------
    time_limit : float
        Seconds, against which the bar runs.
    live : bool, optional
        Whether to draw a bar; found out from standard error if not given.
    """

    def __init__(self, time_limit: float, *, live: bool | None = None) -> None:
        self.time_limit = time_limit
        self.live = sys.stderr.isatty() if live is None else live
        self._moment: Progress | None = None
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, name="bdnn-progress", daemon=True)

    def __call__(self, moment: Progress) -> None:
        """Take down a moment of the run."""
        self._moment = moment

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _show(self) -> None:
        if self.live:
            self._draw()
        else:
            self._write_lines()

    def _write_lines(self) -> None:
        """Write a line when something changed, at most one a second, and one every ten anyway."""
        shown: Any = None
        last = -math.inf
        while not self._ended.wait(_TICK):
            moment = self._moment
            state = None if moment is None else (moment.phase, moment.loss, moment.bound)
            waited = self._seconds - last
            if (state != shown and waited >= _LINE_EVERY) or waited >= _HEARTBEAT:
                shown, last = state, self._seconds
                typer.echo(f"{last:7.1f} s  {describe(moment)}", err=True)

    def _draw(self) -> None:
        bar = make_bar()
        total = self.time_limit if math.isfinite(self.time_limit) else None
        task = bar.add_task("prepare", total=total)
        with bar:
            while not self._ended.wait(_TICK):
                bar.update(task, completed=self._seconds, description=describe(self._moment))


def describe(moment: Progress | None) -> str:
    """Write a moment of a run in one line."""
    if moment is None:
        return "prepare"
    parts = [
        f"{moment.phase:<8}",
        f"loss {_number(moment.loss)}",
        f"bound {_number(moment.bound)}",
        f"gap {percent(moment.gap)}",
    ]
    return "  ".join(parts)


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "unknown"


def make_bar() -> Bar:
    """A bar on standard error that is gone afterwards: time, share, and what is going on."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TimeElapsedColumn(),
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
