"""What a child process starts with."""

from __future__ import annotations

import signal


def default_signals() -> None:
    """For ``preexec_fn``: undo what a shell in the background or nohup ignores for all below it."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
