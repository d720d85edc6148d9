"""The time that all checks have together."""

from __future__ import annotations

import math
import time


class OutOfTimeError(Exception):
    """The time is used up before a check is done."""


class Deadline:
    """A moment after which no check goes on.

    Parameters
    ----------
    seconds : float
        From now.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise :class:`OutOfTimeError` if the time is used up."""
        if time.monotonic() > self._end:
            raise OutOfTimeError(f"not finished in {self.seconds:g} s")
