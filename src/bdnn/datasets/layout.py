"""How a CSV file is laid out: its separator, its header, the names of its columns."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from bdnn import limits
from bdnn.checker.files import read_rows
from bdnn.encoding.table import NUMERIC_SHARE, read_number
from bdnn.errors import DataError

# From the least to the most likely to occur inside a field: with a decimal comma both ';' and ','
# cut all rows alike, and ';' is right.
_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 200

CellKind = Literal["number", "missing", "text"]


@dataclass(frozen=True)
class Layout:
    """How a CSV file is laid out.

    Parameters
    ----------
    delimiter : str
    names : tuple of str
        From the header; ``x1``, ``x2``, ... without one.
    header : bool
    skip : int
        Lines of text before the first row of data.
    """

    delimiter: str
    names: tuple[str, ...]
    header: bool
    skip: int


def cell_kind(cell: str) -> CellKind:
    """Tell whether a cell holds a number, nothing, or a text."""
    number = read_number(cell)
    if number is None:
        return "text"
    return "missing" if math.isnan(number) else "number"


def open_text(data: bytes) -> io.TextIOWrapper:
    """Open the bytes of a file as text, without a byte order mark, line ends untouched."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def find_layout(data: bytes, source: str, header: bool | None = None) -> Layout:
    """Find separator and header from the first rows.

    Parameters
    ----------
    data : bytes
    source : str
        How messages call the file.
    header : bool, optional
        Whether there is a header; found out if not given.
    """
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
        return Layout(delimiter, _position_names(len(cells[0])), False, 0)
    if len(cells) == 1:
        raise DataError(f"{source} has a header but no rows of data: give a file with rows.")
    return Layout(delimiter, _header_names(cells[0], source), True, rows[0][0])


def _first_rows(data: bytes, delimiter: str) -> list[tuple[int, list[str]]]:
    """Some rows as a separator cuts them, fewer where it cuts them into very many cells."""
    rows, n_cells = [], 0
    for row in islice(read_rows(open_text(data), delimiter), _SAMPLE_ROWS):
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
    kinds = [cell_kind(cell) for cell in first]
    if "text" not in kinds or not below:
        return "text" in kinds
    above_numbers = [
        kind
        for kind, column in zip(kinds, below, strict=False)
        if is_numeric([cell_kind(cell) for cell in column])
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


def is_numeric(kinds: Sequence[CellKind]) -> bool:
    """Tell whether a column of such cells is one of numbers."""
    numbers = kinds.count("number")
    return numbers > 0 and numbers >= NUMERIC_SHARE * (numbers + kinds.count("text"))


def _are_positions(cells: Sequence[str]) -> bool:
    """Tell whether all numbers count the columns, which is how unnamed ones get named."""
    numbers = [
        (j, read_number(cell)) for j, cell in enumerate(cells) if cell_kind(cell) == "number"
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
