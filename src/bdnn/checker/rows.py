"""Row numbers as text, such as ``1-4,6,9-20``; rows are counted from 1, as in messages."""

from __future__ import annotations

import re

_MOST_ROWS = 10**8


def parse_rows(text: str) -> list[int]:
    """Read row numbers, counted from 0."""
    rows: list[int] = []
    for part in text.split(",") if text else ():
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if match is None:
            raise ValueError(f"{part!r} is no row number")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last or len(rows) + last - first > _MOST_ROWS:
            raise ValueError(f"{part!r} is no range of rows")
        rows += range(first - 1, last)
    return rows
