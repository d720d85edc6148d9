"""Row numbers as text, such as ``1-4,6,9-20``; rows are counted from 1, as in messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


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

    Raises
    ------
    ValueError
        If they are none, or not ascending.
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
