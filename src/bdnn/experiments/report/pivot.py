"""Tables with several levels of headings: entries placed by their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from bdnn.experiments.experiment import Table
from bdnn.experiments.numbers import Entry

Heading = tuple[str, ...]

_WORDS = {
    "hidden": "hidden layers",
    "radius": "defence",
    "f1": "F1",
    "seconds": "time (s)",
    "accuracy": "accuracy (%)",
    "max accuracy": "largest",
    "min accuracy": "smallest",
    "precision": "precision (%)",
    "recall": "recall (%)",
    "gap": "gap (%)",
    "proven": "proven (%)",
    "largest_class": "largest class (%)",
    "smallest_class": "smallest class (%)",
    "train_error": "training error (%)",
    "validation_error": "validation error (%)",
    "epoch_seconds": "seconds",
}
# Axes whose values say nothing without the axis.
_NUMERIC = ("hidden", "samples", "radius")


def word(name: str) -> str:
    """A name as people write it."""
    return _WORDS.get(name, name.replace("_", " "))


@dataclass(frozen=True)
class Pivot:
    """A table of entries.

    Parameters
    ----------
    corner : tuple of str
        What the levels of row headings are.
    columns, rows : list of headings
        One text per level.
    cells : mapping of (row, column) to Entry
    """

    corner: Heading
    columns: list[Heading]
    rows: list[Heading]
    cells: dict[tuple[Heading, Heading], Entry]

    @classmethod
    def of(cls, table: Table, listed: Sequence[Entry]) -> Pivot:
        """Place entries; headings keep the order in which they come."""
        rows: dict[Heading, None] = {}
        columns: dict[Heading, None] = {}
        cells = {}
        for entry in listed:
            row = tuple(word(entry.at.get(name, "")) for name in table.rows)
            column = tuple(_over_column(name, entry.at.get(name, "")) for name in table.columns)
            rows[row] = columns[column] = None
            cells[row, column] = entry
        # Headings of one level stand together, in the order in which they first come.
        return cls(
            tuple(map(word, table.rows)), _together(list(columns)), _together(list(rows)), cells
        )

    def spans(self, headings: Sequence[Heading], level: int) -> list[tuple[str, int]]:
        """Texts of a level, each with the number of headings that it stands over."""
        return [
            (prefix[level], len(list(group)))
            for prefix, group in groupby(heading[: level + 1] for heading in headings)
        ]


def _over_column(name: str, value: str) -> str:
    """A column's heading, which no corner explains: a value of the grid has its name with it."""
    return f"{word(name)} {value}" if value and name in _NUMERIC else word(value)


def _together(headings: list[Heading]) -> list[Heading]:
    order: dict[Heading, int] = {}
    for heading in headings:
        for level in range(len(heading)):
            order.setdefault(heading[: level + 1], len(order))
    return sorted(headings, key=lambda h: [order[h[: level + 1]] for level in range(len(h))])
