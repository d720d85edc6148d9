"""Values of long grids: `make test` runs the others, `make test-all` runs all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import settings

#: Whether long tests are left out, which `conftest.py` finds out.
is_quick = False


def long(*values: object) -> list[object]:
    """Values of a parameter that only the long run takes."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]


def examples(count: int) -> settings:
    """How many examples hypothesis draws; the quick run takes the first quarter."""
    return settings(max_examples=-(-count // 4) if is_quick else count, deadline=None)


def in_turn(rows: Iterable[object], columns: Iterable[object]) -> list[object]:
    """All pairs; in the quick run rows take turns, so that each meets one column.

    Lists of both sides are joined to the values of one test.
    """
    columns = list(columns)
    return [
        pytest.param(
            *_values(row),
            *_values(column),
            marks=pytest.mark.long if (i - j) % len(columns) else (),
        )
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def _values(entry: object) -> tuple[object, ...]:
    return entry if isinstance(entry, tuple) else (entry,)
