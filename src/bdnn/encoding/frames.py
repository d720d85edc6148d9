"""Tables from pandas, polars, pyarrow and arrays of objects; the one file that knows narwhals.

A cell means the same wherever it comes from: NaN and null are missing, texts that read as numbers
are numbers, and true and false are truth values. Only a column that its table calls categorical
keeps numbers as texts.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.columns import number_text
from bdnn.encoding.table import Table, no_text, read_number
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray

# Beyond this, doubles no longer hold every whole number.
_LARGEST_WHOLE = 2**53


def is_frame(X: object) -> bool:
    """Whether something is a table of typed columns."""
    if isinstance(X, np.ndarray | list | tuple):
        return False
    from narwhals.stable.v2.dependencies import is_into_dataframe

    return bool(is_into_dataframe(X))


def frame_table(X: Any, source: str = "X") -> Table:
    """A table of a frame's columns."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    columns = []
    for place in range(len(frame.columns)):
        series = frame[:, place]
        dtype = series.dtype
        if dtype.is_temporal():
            columns.append(_Cells.refused(len(series), "dates or times"))
        elif dtype.is_nested() or dtype == nw.Binary:
            columns.append(_Cells.refused(len(series), f"values of type {dtype}"))
        elif dtype.is_numeric():
            found = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=float)
            is_number = dtype.is_integer() and np.nanmax(np.abs(found), initial=0) > _LARGEST_WHOLE
            columns.append(
                _Cells.refused(len(found), "whole numbers beyond 2**53")
                if is_number
                else _Cells(found)
            )
        else:
            is_category = dtype in (nw.Categorical, nw.Enum)
            columns.append(_read(series.to_list(), is_category=is_category))
    return _table(source, tuple(map(str, frame.columns)), columns, header=True)


def object_table(X: Any, source: str = "X") -> Table:
    """A table of an array of numbers, texts and other objects."""
    array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise DataError(
            f"{source} must have rows and columns, got shape {array.shape}: give a table."
        )
    names = tuple(f"x{j}" for j in range(1, array.shape[1] + 1))
    return _table(source, names, [_read(cells.tolist()) for cells in array.T], header=False)


@dataclass(frozen=True)
class _Cells:
    """A column: numbers, texts where there are some, or why it cannot be read."""

    numbers: FloatArray
    texts: NDArray[np.object_] | None = None
    is_boolean: bool = False
    why: str | None = None

    @classmethod
    def refused(cls, count: int, why: str) -> _Cells:
        return cls(np.full(count, np.nan), why=why)

    @property
    def is_text(self) -> BoolArray:
        if self.texts is None:
            return np.zeros(len(self.numbers), dtype=bool)
        return np.array([text is not None for text in self.texts], dtype=bool)


def _read(cells: Sequence[Any], *, is_category: bool = False) -> _Cells:
    """Read Python's own objects; in a category all are texts."""
    found = np.full(len(cells), np.nan)
    texts = np.full(len(cells), None, dtype=object)
    kinds = set()
    for i, cell in enumerate(cells):
        if cell is None or (isinstance(cell, float | np.floating) and cell != cell):
            continue
        if isinstance(cell, bool | np.bool_):
            found[i] = float(cell)
            kinds.add("boolean")
        elif isinstance(cell, str):
            number = read_number(cell)
            if number is None or (is_category and number == number):
                texts[i] = cell.strip()
            else:
                found[i] = number
                kinds.add("number")
        elif isinstance(cell, numbers.Real | Decimal):
            found[i] = float(cell)
            kinds.add("number")
        elif str(cell) not in ("<NA>", "NaT", "nan"):
            return _Cells.refused(len(cells), f"values of type {type(cell).__name__}")
    is_text = np.array([text is not None for text in texts], dtype=bool)
    is_boolean = kinds == {"boolean"} and not is_text.any()
    if is_category or (is_text.any() and "boolean" in kinds):
        for i in np.flatnonzero(~is_text & ~np.isnan(found)).tolist():
            own = cells[i]
            texts[i] = str(own) if isinstance(own, bool | np.bool_) else number_text(found[i])
        is_text |= ~np.isnan(found)
    found[is_text] = np.nan
    return _Cells(found, texts if is_text.any() else None, is_boolean)


def _table(source: str, names: tuple[str, ...], columns: list[_Cells], *, header: bool) -> Table:
    if len(set(names)) != len(names):
        raise DataError(f"{source} has two columns of one name: give every column its own.")
    values = np.column_stack([part.numbers for part in columns])
    texts, booleans, refused = {}, set(), {}
    for j, part in enumerate(columns):
        if part.texts is not None:
            as_written = [number_text(v) if v == v else "" for v in part.numbers.tolist()]
            texts[j] = np.where(part.is_text, part.texts, np.array(as_written, dtype=object))
        if part.is_boolean:
            booleans.add(j)
        if part.why is not None:
            refused[j] = part.why
    is_text = np.column_stack([p.is_text for p in columns]) if texts else no_text(values)

    def rows() -> Iterator[list[str]]:
        return (list(map(repr, row)) for row in values.tolist())

    return Table(
        source, names, header, values, is_text, rows, frozenset(booleans), refused, (), texts
    )
