"""What a raw column is, and its cells as numbers.

The *codes* of a table are a matrix of one number per cell: the number itself, 0 or 1 of a boolean,
the place of a text among the texts of its column (-1 for one that is not listed), NaN for a
missing cell. An array of numbers is its own codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.inputs import Inputs
from bdnn.encoding.table import Table, list_names, list_rows, read_number
from bdnn.errors import DataError
from bdnn.network.activation import FloatArray

Kind = Literal["number", "boolean", "category"]
#: What a missing cell means: only the bit for missing ones is on; the column's fill; the fill, and
#: one says so, since training rows had none; or it is refused.
Missing = Literal["bit", "fill", "none", "error"]

_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Column:
    """A raw column."""

    name: str
    kind: Kind = "number"
    values: tuple[str, ...] = ()  # sorted texts of a category
    fill: float | str | None = None  # what stands in for a missing cell, None where nothing does
    missing: Missing = "none"  # what a missing cell means
    factor: float = 1.0  # how far a move of 1 is in scaled units, for a column of bits alone

    @property
    def filling(self) -> float:
        """The code of the fill."""
        if self.fill is None:
            return np.nan
        return float(self._places[self.fill] if isinstance(self.fill, str) else self.fill)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: k for k, value in enumerate(self.values)}

    def codes(self, table: Table, place: int) -> FloatArray:
        """Codes of a column of a table."""
        if self.kind == "category":
            return self._codes_of_texts(table.texts(place), ~table.missing(place))
        table.missing(place)
        codes = table.numbers[:, place].copy()
        if self.kind == "boolean" and table.is_text[:, place].any():
            texts, is_text = table.texts(place), table.is_text[:, place]
            codes[is_text] = [_TRUTH.get(text.lower(), np.nan) for text in texts[is_text]]
            is_odd = is_text & np.isnan(codes)
        elif self.kind == "boolean":
            is_odd = ~np.isnan(codes) & (codes != 0) & (codes != 1)
        else:
            table.refuse_texts(place)
            table.refuse_huge(place)
            return codes
        if is_odd.any():
            raise DataError(
                f"column {table.names[place]!r} of {table.source} is true or false, got "
                f"{table.texts(place)[int(np.argmax(is_odd))]!r} in {list_rows(is_odd)}: correct."
            )
        return codes

    def _codes_of_texts(self, texts: NDArray[np.object_], present: NDArray[np.bool_]) -> FloatArray:
        codes, known = np.full(len(texts), np.nan), dict(self._places)
        for i in np.flatnonzero(present):
            text = texts[i]
            if text not in known:  # another way to write a number is the same text
                number = read_number(text)
                known[text] = self._places.get("" if number is None else number_text(number), -1)
            codes[i] = known[text]
        return codes


@dataclass(frozen=True)
class Number:
    """A scaled input: ``(feature - shift) * factor``."""

    column: int
    value: str | None = None  # if set, the feature is 1 where the column holds this text, else 0
    shift: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True)
class Bit:
    """An input that is 1 or 0."""

    column: int
    # Whether the raw value is at least ``value``, is the text ``value``, or is missing.
    kind: Literal["ge", "is", "missing"]
    value: float | str | None = None


def number_text(number: float) -> str:
    """The shortest text of a number, without a point for a whole one."""
    is_whole = abs(number) < 2.0**53 and number == int(number)
    return str(int(number)) if is_whole else repr(float(number))


def learn_columns(
    table: Table, inputs: Inputs, *, target: int | None = None
) -> tuple[tuple[Column, ...], FloatArray]:
    """Find out what the columns of a table are, and its codes.

    Columns that are to be dropped are left out, and so is the one of the target.
    """
    named = set(_places(table, inputs.categories, "categories"))
    left_out = {target, *_places(table, inputs.drop, "drop")}
    places = [j for j in range(table.n_columns) if j not in left_out]
    if not places:
        raise DataError(f"{table.source} has no column to learn from: drop fewer of them.")
    columns = tuple(_learn_column(table, j, inputs, is_category=j in named) for j in places)
    codes = [column.codes(table, j) for column, j in zip(columns, places, strict=True)]
    return columns, np.column_stack(codes)


def _places(table: Table, names: Sequence[str | int], option: str) -> list[int]:
    found = []
    for name in names:
        place = table.names.index(name) if name in table.names else name
        if not isinstance(place, int) or not 0 <= place < table.n_columns:
            raise DataError(
                f"{option} names the column {name!r}, which {table.source} has not: choose one of "
                f"{list_names(table.names)}."
            )
        found.append(place)
    return found


def _learn_column(table: Table, place: int, inputs: Inputs, *, is_category: bool) -> Column:
    name, gaps = table.names[place], table.missing(place)
    if gaps.all():
        raise DataError(
            f"column {name!r} of {table.source} has no values at all: drop it "
            f"(Inputs(drop=[{name!r}]), --drop)."
        )
    if gaps.any() and inputs.missing == "error":
        raise DataError(
            f"column {name!r} of {table.source} has no value in {list_rows(gaps)}: remove these "
            "rows, or train with missing='auto' (--missing auto)."
        )
    if place in table.booleans and not is_category:
        return Column(name, "boolean")
    if not is_category and not table.is_text_column(place):
        table.refuse_huge(place)
        return Column(name)
    texts = table.texts(place)[~gaps].tolist()
    if is_category and not table.is_text[:, place].any():
        texts = [number_text(number) for number in table.numbers[~gaps, place].tolist()]
    counts = Counter(texts)
    if not is_category and all(text.lower() in _TRUTH for text in counts):
        return Column(name, "boolean")
    if not is_category:
        _refuse_decimal_commas(table, place, sorted(counts))
        if all(map(_is_date, counts)):
            table.refuse(place, "dates or times")
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[: inputs.max_categories]
    return Column(name, "category", tuple(sorted(frequent)))


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _refuse_decimal_commas(table: Table, place: int, values: Sequence[str]) -> None:
    commas = [value for value in values if "," in value]
    if commas and all(read_number(text.replace(",", ".", 1)) is not None for text in values):
        raise DataError(
            f"column {table.names[place]!r} of {table.source} has numbers with a decimal comma "
            f"such as {commas[0]!r}: write them with a point."
        )
