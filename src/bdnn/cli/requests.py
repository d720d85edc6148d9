"""Requests to end a command: SIGTERM and SIGHUP do what Ctrl-C does, and none disturbs saving."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

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


def ignore() -> None:
    """Ignore Ctrl-C and requests to end from now on: the interpreter ends, and may not be hurried.

    On its way out it lets signals kill the process, which would look like work that was lost.
    """
    for number in [signal.SIGINT, *_REQUESTS]:
        signal.signal(number, signal.SIG_IGN)


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
