"""What a model file claims, what became of it, and the single things that claims are made of.

Rows are counted from 1, as in messages, and written such as ``1-4,6,9-20``.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from bdnn import limits

Verdict = Literal["proven", "claimed", "false"]

_RATIO = re.compile(r"([-+]?\d+)/(\d+)")
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")
_SHOWN = 60
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


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
    """A moment after which no check goes on."""

    def __init__(
        self,
        seconds: float = math.inf,  # from now
    ) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise :class:`OutOfTimeError` if the time is used up."""
        if time.monotonic() > self._end:
            raise OutOfTimeError(f"not finished in {self.seconds:g} s")


def exact(value: Any) -> Fraction:
    """Read a number exactly: a JSON number, or a text such as ``"0.1"`` or ``"1/3"``.

    Raises ValueError if it is none, or one of more digits than anybody needs.
    """
    if type(value) in (int, float):
        return Fraction(value)
    if isinstance(value, str) and len(value) <= limits.NUMBER_CHARACTERS:
        ratio = _RATIO.fullmatch(value)
        if ratio and int(ratio[2]):
            return Fraction(int(ratio[1]), int(ratio[2]))
        decimal = _DECIMAL.fullmatch(value)
        if decimal and abs(int((decimal[2] or "e0")[1:])) <= limits.EXPONENT:
            return Fraction(value)
    raise ValueError(f"{shown(value)} is no number")


def place(value: Any) -> int:
    """Read a place that is counted from 0."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{shown(value)} is no place")
    return value


def as_list(value: Any) -> list[Any]:
    """Read a list."""
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return value


def positive(value: Any) -> int:
    """Read a whole number from 1."""
    if place(value) == 0:
        raise ValueError("a number is 0")
    return int(value)


def key_of(label: Any) -> tuple[str, Any]:
    """Make labels comparable: numbers by value and texts by letters, never with each other."""
    if type(label) not in (str, int, float, bool):
        raise ValueError(f"{shown(label)} is no label")
    return ("text", label) if isinstance(label, str) else ("number", label)


def shown(value: Any) -> str:
    """Write something from a file into a sentence: short, on one line, nothing but letters."""
    text = ascii(value) if not isinstance(value, str) else repr(value[: 2 * _SHOWN])
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def number_text(value: Fraction) -> str:
    """Write a number for a reader."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    try:
        return f"{float(value):.9g}"
    except OverflowError:
        return f"{'-' * (value < 0)}more than 1e308"


@dataclass(frozen=True)
class Rows:
    """Ascending row numbers, counted from 0, as ranges that take no memory until they are used."""

    ranges: tuple[range, ...]

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __iter__(self) -> Iterator[int]:
        for part in self.ranges:
            yield from part

    @property
    def last(self) -> int:
        """The largest row number, -1 if there is none."""
        return self.ranges[-1][-1] if self.ranges else -1


def parse_rows(text: object) -> Rows:
    """Read row numbers.

    Raises ValueError if they are none, or not ascending.
    """
    if not isinstance(text, str):
        raise ValueError("the rows are no text")
    ranges = []
    before = 0
    for part in text.split(",") if text else ():
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part[:20]!r} is no row number")
        first, last = int(match[1]), int(match[2] or match[1])
        if not before < first <= last:
            raise ValueError(f"the rows {part!r} are out of order")
        ranges.append(range(first - 1, last))
        before = last
    return Rows(tuple(ranges))
