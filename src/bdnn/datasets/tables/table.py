"""A user's table: a CSV file read into numbers, with the texts at hand where there are some."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bdnn import limits
from bdnn.checker.files import open_table, read_rows
from bdnn.datasets.dataset import Dataset
from bdnn.datasets.tables.layout import Layout, find_layout, open_text, read_number
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray

_BLOCK_ROWS = 16384
_MOST_NAMES = 12


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of cells, each a number, a text or missing.

    Parameters
    ----------
    source : str
        How messages call the table.
    names : tuple of str
        Names of the columns.
    header : bool
        Whether the names come with the data, rather than being made up as ``x1``, ``x2``, ...
    numbers : array of shape (n_rows, n_columns)
        NaN where a cell is text or missing.
    is_text : array of shape (n_rows, n_columns)
    rows : callable
        Yields the cells of every row again, for the columns whose texts are wanted. An
        all-number table is thus never held as Python objects.
    """

    source: str
    names: tuple[str, ...]
    header: bool
    numbers: FloatArray
    is_text: BoolArray
    rows: Callable[[], Iterator[list[str]]]
    _texts: dict[int, NDArray[np.object_]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Table:
        """Make a table of a built-in data set, without its target."""
        return cls(
            dataset.name,
            dataset.feature_names,
            True,
            dataset.X,
            _no_text(dataset.X),
            lambda: (list(map(repr, row)) for row in dataset.X.tolist()),
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
        """Tell which cells of a column hold nothing."""
        gaps: BoolArray = np.isnan(self.numbers[:, column]) & ~self.is_text[:, column]
        return gaps

    def texts(self, column: int) -> NDArray[np.object_]:
        """Read the cells of a column as they are written, blanks around them removed."""
        if column not in self._texts:
            # One more pass over the file serves all columns that hold texts.
            wanted = {column, *np.flatnonzero(self.is_text.any(axis=0)).tolist()}
            self._texts.update(_read_texts(self.rows(), sorted(wanted), self.n_rows))
        return self._texts[column]

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


def read_table(path: str | os.PathLike[str], *, header: bool | None = None) -> Table:
    """Read a CSV file, also a gzipped one.

    Separator (``,``, ``;`` or tab) and header are found out; fields may be quoted; a byte order
    mark and any line ends are fine. Cells that are empty or say NA, NaN or ? are missing.

    Parameters
    ----------
    path : path
    header : bool, optional
        Whether the first row holds the names of the columns; found out if not given.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be read, is empty or not text, or has rows of different lengths.
    """
    source = Path(path).name
    data = _read_bytes(Path(path))
    try:
        return _parse(data, source, header)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source} is not UTF-8 text (byte {error.start}): save it as CSV in UTF-8."
        ) from error
    except csv.Error as error:
        raise DataError(f"{source} cannot be read as CSV ({error}): check its quotes.") from error


def list_names(names: Sequence[str]) -> str:
    """Write names into a sentence, the first ones if there are many."""
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _read_bytes(path: Path) -> bytes:
    try:
        with open_table(path) as file:
            start = file.read(65536)
            # A binary file is told by its first bytes, before gigabytes of it are read.
            _check_text(start, path)
            data = start + file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} is a damaged gzip file: get it again.") from error
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror or error}: give the path of a CSV file."
        ) from error
    _check_text(data, path)
    return data


def _check_text(data: bytes, path: Path) -> None:
    if b"\0" in data:
        raise DataError(f"{path.name} is not a text file: give a CSV file in UTF-8.")


def _parse(data: bytes, source: str, header: bool | None) -> Table:
    layout = find_layout(data, source, header)

    def rows() -> Iterator[list[str]]:
        every = (row for _, row in read_rows(open_text(data), layout.delimiter))
        return islice(every, int(layout.header), None)

    numbers = _parse_fast(data, layout)
    if numbers is not None:
        return Table(source, layout.names, layout.header, numbers, _no_text(numbers), rows)
    numbers, is_text = _parse_cells(rows(), len(layout.names), source)
    return Table(source, layout.names, layout.header, numbers, is_text, rows)


def _no_text(numbers: FloatArray) -> BoolArray:
    """Make a mask that says of every cell it is no text, without memory for every cell."""
    return np.broadcast_to(np.zeros((), dtype=bool), numbers.shape)


def _parse_fast(data: bytes, layout: Layout) -> FloatArray | None:
    """Read a file of numbers only, without making an object of any cell; None for other files."""
    if not _has_short_lines(data):
        return None
    try:
        numbers: FloatArray = np.loadtxt(
            open_text(data),
            delimiter=layout.delimiter,
            skiprows=layout.skip,
            comments=None,
            # Without quotes a row is a line, whose length is bounded.
            quotechar=None,
            ndmin=2,
        )
    except ValueError:
        return None
    return numbers if numbers.shape[1] == len(layout.names) else None


def _has_short_lines(data: bytes) -> bool:
    """Tell whether no line is longer than a row may be."""
    size = limits.ROW_CHARACTERS
    ends = (
        max(data.rfind(b"\n", first, first + size), data.rfind(b"\r", first, first + size))
        for first in range(0, len(data) - size, size // 2)
    )
    return all(end >= 0 for end in ends)


def _parse_cells(
    rows: Iterable[list[str]], n_columns: int, source: str
) -> tuple[FloatArray, BoolArray]:
    rows = iter(rows)
    numbers, is_text = [], []
    done = 0
    while block := list(islice(rows, _BLOCK_ROWS)):
        for i, row in enumerate(block, start=done + 1):
            if len(row) != n_columns:
                raise DataError(
                    f"row {i} of {source} has {len(row)} fields where {n_columns} are expected: "
                    "check its separators and quotes."
                )
        parsed = [_parse_column(cells) for cells in zip(*block, strict=True)]
        numbers.append(np.column_stack([values for values, _ in parsed]))
        is_text.append(np.column_stack([text for _, text in parsed]))
        done += len(block)
    return np.concatenate(numbers), np.concatenate(is_text)


def _parse_column(cells: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    values = list(map(read_number, cells))
    numbers = np.array(values, dtype=float)  # None becomes NaN
    return numbers, np.array([value is None for value in values])


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
