"""What a command shows while it works: a live bar on a terminal, lines anywhere else.

Of requests to end, SIGTERM and SIGHUP do what Ctrl-C does, and none disturbs the saving.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Generic, Self, TypeVar

import typer

# Windows has no SIGHUP.
_REQUESTS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """Let a request to end raise ``KeyboardInterrupt``, once, unless a caller has it ignored.

    A closed terminal sends its signal twice, by itself and by its shell; the second must not end
    what saves the best network after the first, nor the interpreter on its way out. So a request
    leaves the others ignored, after this block too: the process is ending.
    """

    def end(number: int, frame: FrameType | None) -> None:
        for request in wanted:
            signal.signal(request, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    wanted = [number for number in _REQUESTS if signal.getsignal(number) is signal.SIG_DFL]
    with _handled(wanted, end):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and requests to end while what was made is brought to safety."""
    with _handled([signal.SIGINT, *_REQUESTS], signal.SIG_IGN):
        yield


@contextmanager
def _handled(numbers: Iterable[int], handler: Callable[..., Any] | int) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it receives signals
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            if signal.getsignal(number) == handler:  # not changed since
                signal.signal(number, signal.SIG_DFL if old is None else old)


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
        show = self._draw if self.live else self._write_lines
        self._thread = threading.Thread(target=show, name="bdnn-progress", daemon=True)

    def __call__(self, moment: Moment) -> None:
        """Take down a moment of the run."""
        self._moment = moment

    def __enter__(self) -> Self:
        self._started = time.monotonic()
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
                typer.echo(f"{seconds:7.1f} s  {text}", err=True)

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
                done = self._seconds
                if self.reached is not None:
                    done = 0.0 if self._moment is None else self.reached(self._moment)
                bar.update(task, completed=done, description=self._text)
