"""A table of raw cells: numbers in an array, with the texts at hand where there are some."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from bdnn import limits
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray

# From this share of numbers on, a column is one of numbers, and a text in it is a stray.
NUMERIC_SHARE = 0.9
_MISSING = frozenset({"", "na", "?"})  # and NaN, which reads as a number
_MOST_NAMES = 12
_MOST_ROWS = 6


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of cells, each a number, a text or missing."""

    source: str  # how messages call the table
    names: tuple[str, ...]  # names of the columns
    # Whether the names come with the data, rather than being made up as ``x1``, ``x2``,.
    header: bool
    numbers: FloatArray  # (n_rows, n_columns): NaN where a cell is text or missing
    is_text: BoolArray  # (n_rows, n_columns)
    # Yields the cells of every row again, for the columns whose texts are wanted. An all-number
    # table is thus never held as Python objects.
    rows: Callable[[], Iterator[list[str]]]
    # Places of columns whose numbers 0 and 1 are truth values.
    booleans: frozenset[int] = frozenset()
    # Columns that are neither numbers nor texts, and what they hold instead.
    refused: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a user should know of how it was read
    _texts: dict[int, NDArray[np.object_]] = field(default_factory=dict, repr=False)

    @classmethod
    def of_numbers(cls, source: str, names: tuple[str, ...], numbers: FloatArray) -> Table:
        """Make a table of an array."""
        return cls(
            source,
            names,
            True,
            numbers,
            no_text(numbers),
            lambda: (list(map(repr, row)) for row in numbers.tolist()),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, a header not counted."""
        return int(self.numbers.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.numbers.shape[1])

    def missing(self, column: int) -> BoolArray:
        """Tell which cells of a column hold nothing; a column that cannot be read is refused."""
        if column in self.refused:
            self.refuse(column, self.refused[column])
        gaps: BoolArray = np.isnan(self.numbers[:, column]) & ~self.is_text[:, column]
        return gaps

    def texts(self, column: int) -> NDArray[np.object_]:
        """Read the cells of a column as they are written, blanks around them removed."""
        if column not in self._texts:
            # One more pass over the file serves all columns that hold texts.
            wanted = {column, *np.flatnonzero(self.is_text.any(axis=0)).tolist()} - set(self._texts)
            self._texts.update(_read_texts(self.rows(), sorted(wanted), self.n_rows))
        return self._texts[column]

    def refuse(self, column: int, what: str) -> NoReturn:
        """Raise an error for a column that is no input."""
        name = self.names[column]
        raise DataError(
            f"column {name!r} of {self.source} holds {what}, which are neither measurements nor "
            f"categories: leave it out with Inputs(drop=[{name!r}]) or --drop."
        )

    def position(self, column: str | int | None) -> int:
        """Find a column by name or place, 1 being the first and -1 the last, which None means."""
        if column is None:
            return self.n_columns - 1
        if column in self.names:
            return self.names.index(str(column))
        try:
            place = int(column)
        except ValueError:
            place = 0
        if 1 <= place <= self.n_columns:
            return place - 1
        if -self.n_columns <= place <= -1:
            return self.n_columns + place
        raise DataError(
            f"{self.source} has no column {column!r}: choose one of {list_names(self.names)}, or a "
            f"place from 1 to {self.n_columns} (or -1 for the last)."
        )

    def is_text_column(self, column: int) -> bool:
        """Tell whether a column is one of texts, refusing a stray text among numbers."""
        n_texts = int(self.is_text[:, column].sum())
        if n_texts == 0:
            return False
        n_numbers = int(np.count_nonzero(~np.isnan(self.numbers[:, column])))
        if n_numbers >= NUMERIC_SHARE * (n_numbers + n_texts):
            self.refuse_texts(column)
        return True

    def refuse_texts(self, column: int) -> None:
        """Raise an error that names the rows with a text, if there are any."""
        is_text = self.is_text[:, column]
        if is_text.any():
            value = self.texts(column)[int(np.argmax(is_text))]
            is_name = not self.header and is_text.sum() == is_text[0]
            remedy = (
                "correct it, or say --header if it is a name" if is_name else "correct or empty it"
            )
            raise DataError(
                f"column {self.names[column]!r} of {self.source} has numbers but the text "
                f"{value!r} in {list_rows(is_text)}: {remedy}."
            )

    def refuse_huge(self, column: int) -> None:
        """Raise an error that names the rows with an infinite or enormous number, if any."""
        size = np.abs(self.numbers[:, column])
        for is_bad, what in (
            (np.isinf(size), "infinite"),
            (size > limits.LARGEST_INPUT, f"beyond {limits.LARGEST_INPUT:g}"),
        ):
            if is_bad.any():
                raise DataError(
                    f"column {self.names[column]!r} of {self.source} is {what} in "
                    f"{list_rows(is_bad)}: correct or rescale it."
                )


def no_text(numbers: FloatArray) -> BoolArray:
    """Make a mask that says of every cell it is no text, without memory for every cell."""
    return np.broadcast_to(np.zeros((), dtype=bool), numbers.shape)


def read_number(cell: str) -> float | None:
    """Read a number, NaN from a cell that says it is missing, None from any other text."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan if cell.strip().lower() in _MISSING else None
    # Python reads 1_000 as a number, other readers of CSV do not.
    return None if "_" in cell else number


def list_names(names: Sequence[str]) -> str:
    """Write names into a sentence, the first ones if there are many."""
    return _listed([repr(name) for name in names])


def list_counts(counts: Mapping[str, int]) -> str:
    """Write names, each with its count, into a sentence, the first ones if there are many."""
    return _listed([f"{name!r} ({count})" for name, count in counts.items()])


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _MOST_NAMES
    shown = ", ".join(words[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def list_rows(rows: BoolArray) -> str:
    """Name the rows of a mask in a sentence, counted from 1, the first ones if there are many."""
    numbers = [str(i + 1) for i in np.flatnonzero(rows)]
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    shown, more = numbers[:_MOST_ROWS], len(numbers) - _MOST_ROWS
    last = f"{more} more" if more > 0 else shown.pop()
    return f"rows {', '.join(shown)} and {last}"


def _read_texts(
    rows: Iterable[list[str]], columns: Sequence[int], n_rows: int
) -> dict[int, NDArray[np.object_]]:
    texts = {column: np.empty(n_rows, dtype=object) for column in columns}
    known: dict[str, str] = {}  # equal texts share one object
    for i, row in enumerate(rows):
        for column, cells in texts.items():
            cell = row[column].strip()
            cells[i] = known.setdefault(cell, cell)
    return texts
