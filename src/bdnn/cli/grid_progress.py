"""What a run of many cells shows: a live bar on a terminal, lines anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from bdnn.cli.experiments import duration
from bdnn.cli.progress import make_bar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from bdnn.experiments.runner import Progress

_LINE_EVERY = 5.0
_SHOWN = 2


class GridProgress:
    """Shows how many cells are done, running and failed, and the time left.

    Parameters
    ----------
    live : bool, optional
        Whether to draw a bar; found out from standard error if not given.
    """

    def __init__(self, *, live: bool | None = None) -> None:
        self.live = sys.stderr.isatty() if live is None else live
        self._last = 0.0
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        if self.live:
            self._bar = make_bar()
            self._task = self._bar.add_task("prepare", total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def take(self, progress: Progress) -> None:
        """Show a moment of the run."""
        if self._bar is not None:
            self._bar.update(
                self._task,
                total=progress.total,
                completed=progress.done,
                description=describe(progress),
            )
            return
        is_over = progress.done == progress.total
        if is_over or time.monotonic() - self._last >= _LINE_EVERY:
            self._last = time.monotonic()
            typer.echo(describe(progress), err=True)


def describe(progress: Progress) -> str:
    """Write a moment of a run in one line."""
    parts = [
        f"{progress.done} of {progress.total} done",
        f"{len(progress.running)} running",
        f"{progress.failed} failed",
    ]
    if progress.seconds_left == progress.seconds_left:
        parts.append(f"{duration(progress.seconds_left)} left")
    line = ", ".join(parts)
    running = progress.running[:_SHOWN]
    return f"{line}  {'; '.join(running)}" if running else line
