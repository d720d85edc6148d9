"""Tables of the user's own: CSV files, whose separator and header are found out."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from bdnn import limits
from bdnn.checker.files import open_table, read_rows
from bdnn.encoding.table import NUMERIC_SHARE, Table, no_text, read_number
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray

_BLOCK_ROWS = 16384
# From the least to the most likely to occur inside a field: with a decimal comma both ';' and ','
# cut all rows alike, and ';' is right.
_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 200
# A cell between other separators.
_DECIMAL_COMMA = re.compile(rb'(?:^|[;\t\r\n"])\s*([+-]?\d*,\d+)\s*(?=[;\t\r\n"]|$)')

CellKind = Literal["number", "missing", "text"]


def read_table(path: str | os.PathLike[str], *, header: bool | None = None) -> Table:
    """Read a CSV file, also a gzipped one.

    Separator (``,``, ``;`` or tab) and header are found out; fields may be quoted; a byte order
    mark, any line ends and comments (lines that begin with # before the first row) are fine. Cells
    that are empty or say NA, NaN or ? are missing. Between ``;`` or tabs, numbers may have a
    decimal comma.

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
        every = (row for _, row in read_rows(_open_text(data), layout.delimiter))
        return islice(every, int(layout.header), None)

    numbers = _parse_fast(data, layout)
    if numbers is not None:
        return Table(source, layout.names, layout.header, numbers, no_text(numbers), rows)
    numbers, is_text = _parse_cells(rows(), len(layout.names), source)
    notes = () if layout.delimiter == "," else _note_commas(data)
    return Table(source, layout.names, layout.header, numbers, is_text, rows, notes=notes)


def _note_commas(data: bytes) -> tuple[str, ...]:
    """Tell that commas are decimal ones, which in other countries they are not."""
    found = _DECIMAL_COMMA.search(data)
    if not found:
        return ()
    cell = found[1].decode()
    return (f"numbers are read with a decimal comma: {cell} is {cell.replace(',', '.')}",)


def _parse_fast(data: bytes, layout: Layout) -> FloatArray | None:
    """Read a file of numbers only, without making an object of any cell; None for other files."""
    if not _has_short_lines(data):
        return None
    try:
        numbers: FloatArray = np.loadtxt(
            _open_text(data),
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


@dataclass(frozen=True)
class Layout:
    """Separator, columns, header, and how many lines of text come before the data."""

    delimiter: str
    names: tuple[str, ...]
    header: bool
    skip: int


def _cell_kind(cell: str) -> CellKind:
    """Tell whether a cell holds a number, nothing, or a text."""
    number = read_number(cell)
    if number is None:
        return "text"
    return "missing" if math.isnan(number) else "number"


def _open_text(data: bytes) -> io.TextIOWrapper:
    """Open the bytes of a file as text, without a byte order mark, line ends untouched."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def find_layout(data: bytes, source: str, header: bool | None = None) -> Layout:
    """Find separator and, if it is not told, header from the first rows."""
    samples = {delimiter: _first_rows(data, delimiter) for delimiter in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda candidate: _fitness(samples[candidate]))
    rows = samples[delimiter]
    if not rows:
        raise DataError(f"{source} is empty: give a file with rows of data.")
    cells = [row for _, row in rows]
    if len(cells[0]) > limits.COLUMNS:
        raise DataError(
            f"{source} has {len(cells[0])} columns, more than the {limits.COLUMNS} that are read: "
            "check its separator, or leave columns out."
        )
    if header is None:
        header = _has_header(cells)
    if not header:
        return Layout(delimiter, _position_names(len(cells[0])), False, rows[0][0] - 1)
    if len(cells) == 1:
        raise DataError(f"{source} has a header but no rows of data: give a file with rows.")
    return Layout(delimiter, _header_names(cells[0], source), True, rows[0][0])


def _first_rows(data: bytes, delimiter: str) -> list[tuple[int, list[str]]]:
    """Some rows as a separator cuts them, fewer where it cuts them into very many cells."""
    rows, n_cells = [], 0
    for row in islice(read_rows(_open_text(data), delimiter), _SAMPLE_ROWS):
        rows.append(row)
        n_cells += len(row[1])
        if n_cells > limits.COLUMNS * _SAMPLE_ROWS:
            break
    return rows


def _fitness(rows: Sequence[tuple[int, list[str]]]) -> tuple[bool, int]:
    """Rate a separator: best is one that cuts all rows alike, else one that cuts the first most."""
    widths = {len(row) for _, row in rows}
    if len(widths) == 1 and widths != {1}:
        return True, 0
    return False, len(rows[0][1]) if rows else 0


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    first, below = rows[0], list(zip(*rows[1:], strict=False))
    kinds = [_cell_kind(cell) for cell in first]
    if "text" not in kinds or not below:
        return "text" in kinds
    above_numbers = [
        kind
        for kind, column in zip(kinds, below, strict=False)
        if _is_numeric([_cell_kind(cell) for cell in column])
    ]
    names = above_numbers.count("text")
    if names:
        # Names may be numbers, such as years; a single text among numbers is rather a stray.
        return names >= above_numbers.count("number") or _are_positions(first)
    # No column of numbers has a name: a header is a row of words that occur nowhere below them.
    return (
        "number" not in kinds
        and len(set(first)) == len(first)
        and not any(cell in column for cell, column in zip(first, below, strict=False))
    )


def _is_numeric(kinds: Sequence[CellKind]) -> bool:
    """Tell whether a column of such cells is one of numbers."""
    numbers = kinds.count("number")
    return numbers > 0 and numbers >= NUMERIC_SHARE * (numbers + kinds.count("text"))


def _are_positions(cells: Sequence[str]) -> bool:
    """Tell whether all numbers count the columns, which is how unnamed ones get named."""
    numbers = [
        (j, read_number(cell)) for j, cell in enumerate(cells) if _cell_kind(cell) == "number"
    ]
    return any(all(number == j + start for j, number in numbers) for start in (0, 1))


def _position_names(n_columns: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(1, n_columns + 1))


def _header_names(cells: Sequence[str], source: str) -> tuple[str, ...]:
    names = tuple(cell.strip() or f"column {j}" for j, cell in enumerate(cells, start=1))
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise DataError(
            f"{source} has two columns of the name {twice!r}: give every column its own name."
        )
    return names
