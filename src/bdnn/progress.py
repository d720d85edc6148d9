"""What is shown while a run works: a live bar on a terminal or in a notebook, else lines."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Generic, Self, TypeVar


def is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


class Words(str):
    """A text that is shown as it is read, line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Bar:
    """A bar with a line of text: HTML where that is shown, else the text."""

    text: str
    seconds: float
    share: float  # of the way, NaN if nobody knows how long it is

    def __repr__(self) -> str:
        return f"{self.seconds:.1f} s  {self.text}"

    def _repr_html_(self) -> str:
        # Without a value the browser shows that something goes on.
        value = "" if math.isnan(self.share) else f' value="{min(self.share, 1.0):.3f}"'
        return f"<progress{value}></progress> <code>{escape(repr(self))}</code>"

    def show(self) -> Any:
        """Show it below the cell; ``update`` of what is returned shows another in its place."""
        return sys.modules["IPython"].display.display(self, display_id=True)


Moment = TypeVar("Moment")

_TICK = 0.2
_LINE_EVERY = 1.0
_HEARTBEAT = 10.0
_NOTHING = "prepare"


class Lines:
    """When to write a line: on a change, once a second at most, after ten anyway, and last."""

    def __init__(self) -> None:
        self._text = _NOTHING
        self._seconds = -math.inf

    def is_due(self, seconds: float, text: str, *, has_ended: bool = False) -> bool:
        """Tell whether to write a text now, and take it for written then."""
        waited = seconds - max(self._seconds, 0.0)
        is_free = has_ended or seconds - self._seconds >= _LINE_EVERY
        if (text != self._text and is_free) or waited >= _HEARTBEAT:
            self._text, self._seconds = text, seconds
            return True
        return False


class ProgressDisplay(Generic[Moment]):
    """Shows how far a run is; an object of it is the run's callback.

    A run calls it from whatever thread it computes in, possibly thousands of times a second, so
    that a call only takes down the newest moment. A thread of its own shows it now and then.
    """

    def __init__(
        self,
        describe: Callable[[Moment], str],  # writes a moment in one line
        # What the bar runs against: seconds, unless ``reached`` counts something else.
        total: float,
        *,
        # How much of the total is done at a moment.
        reached: Callable[[Moment], float] | None = None,
        # Whether to draw a bar; found out from standard error if not given.
        live: bool | None = None,
    ) -> None:
        self.describe = describe
        self.total = total
        self.reached = reached
        self.live = sys.stderr.isatty() if live is None else live
        self._moment: Moment | None = None
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._has_failed = False
        self._cell: Any = None  # where a notebook shows the bar
        show = self._draw if self.live else self._write_lines
        if live is None and is_notebook():
            show = self._update_cell
        self._thread = threading.Thread(target=show, name="bdnn-progress", daemon=True)

    def __call__(self, moment: Moment) -> None:
        """Take down a moment of the run."""
        self._moment = moment

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if is_notebook():  # known to belong to this cell, as long as its own thread says so
            self._cell = self._bar().show()
        self._thread.start()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self._has_failed = kind is not None
        self._ended.set()
        self._thread.join()

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def _text(self) -> str:
        return _NOTHING if self._moment is None else self.describe(self._moment)

    def _write_lines(self) -> None:
        lines = Lines()
        has_ended = False
        while not has_ended:
            has_ended = self._ended.wait(_TICK)
            if self._has_failed:  # an error is the last word
                return
            seconds, text = self._seconds, self._text
            if lines.is_due(seconds, text, has_ended=has_ended):
                # Of a terminal that was closed, what is told there is lost and nothing else.
                with suppress(OSError):
                    print(f"{seconds:7.1f} s  {text}", file=sys.stderr, flush=True)  # noqa: T201

    def _bar(self) -> Bar:
        return Bar(
            self._text,
            self._seconds,
            self._done / self.total if math.isfinite(self.total) else math.nan,
        )

    @property
    def _done(self) -> float:
        if self.reached is None:
            return self._seconds
        return 0.0 if self._moment is None else self.reached(self._moment)

    def _update_cell(self) -> None:
        """Keep a bar below the cell, which stays full with the last moment."""
        while not self._ended.wait(_TICK):
            self._cell.update(self._bar())
        if not self._has_failed:
            self._cell.update(replace(self._bar(), share=1.0))

    def _draw(self) -> None:
        """Draw a bar that is gone afterwards: time, share, and what is going on."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        bar = Progress(
            TimeElapsedColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        task = bar.add_task(_NOTHING, total=self.total if math.isfinite(self.total) else None)
        with bar:
            while not self._ended.wait(_TICK):
                bar.update(task, completed=self._done, description=self._text)
