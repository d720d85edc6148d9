"""What a model file claims, what became of it, and the time that all checks have together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["proven", "claimed", "false"]


@dataclass(frozen=True)
class Claim:
    """One claim of a model file.

    Attributes
    ----------
    name : str
    verdict : {"proven", "claimed", "false"}
        Recomputed and right; not contradicted but resting on somebody's word; or wrong.
    detail : str
        What was found.
    """

    name: str
    verdict: Verdict
    detail: str


def proven(name: str, detail: str) -> Claim:
    """Make a claim that was recomputed and is right."""
    return Claim(name, "proven", detail)


def claimed(name: str, detail: str) -> Claim:
    """Make a claim that nothing contradicts and nothing here proves."""
    return Claim(name, "claimed", detail)


def false(name: str, detail: str) -> Claim:
    """Make a claim that is wrong."""
    return Claim(name, "false", detail)


def judged(name: str, holds: bool, detail: str) -> Claim:
    """Make a claim that could be decided."""
    return proven(name, detail) if holds else false(name, detail)


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """What becomes of a claim that rests on several others."""
    order: list[Verdict] = ["false", "claimed", "proven"]
    return min(verdicts, key=order.index)


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
