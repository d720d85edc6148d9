"""Tables of the user's own: CSV files."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from bdnn import limits
from bdnn.checker.files import open_table, read_rows
from bdnn.datasets.layout import Layout, find_layout, open_text
from bdnn.encoding.table import Table, no_text, read_number
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray

_BLOCK_ROWS = 16384


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
        return Table(source, layout.names, layout.header, numbers, no_text(numbers), rows)
    numbers, is_text = _parse_cells(rows(), len(layout.names), source)
    return Table(source, layout.names, layout.header, numbers, is_text, rows)


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
