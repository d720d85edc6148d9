"""How one column of a table becomes features: as a number, or one-hot from its texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from bdnn import limits
from bdnn.datasets.tables.layout import NUMERIC_SHARE, read_number
from bdnn.datasets.tables.table import Table, list_names
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray

# More different texts than this are names or remarks, not categories.
_MOST_CATEGORIES = 200
_MOST_ROWS = 6


@dataclass(frozen=True)
class ColumnCode:
    """How one column becomes features.

    Parameters
    ----------
    name : str
    categories : tuple of str or None
        Sorted texts, each of which gets a feature of its own; None for a column of numbers.
    fill : float, str or None
        What stands in for a missing cell; None if missing cells are refused.
    """

    name: str
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features this column gives."""
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


def is_text_column(table: Table, column: int) -> bool:
    """Tell whether a column is one of texts, raising an error for a stray text among numbers."""
    is_text = table.is_text[:, column]
    n_texts = int(is_text.sum())
    if n_texts == 0:
        return False
    n_numbers = int(np.count_nonzero(~np.isnan(table.numbers[:, column])))
    if n_numbers >= NUMERIC_SHARE * (n_numbers + n_texts):
        _refuse_texts(table, column)
    return True


def list_rows(rows: BoolArray) -> str:
    """Name the rows of a mask in a sentence, counted from 1, the first ones if there are many."""
    numbers = [str(i + 1) for i in np.flatnonzero(rows)]
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    shown, more = numbers[:_MOST_ROWS], len(numbers) - _MOST_ROWS
    last = f"{more} more" if more > 0 else shown.pop()
    return f"rows {', '.join(shown)} and {last}"


def refuse_huge(table: Table, column: int) -> None:
    """Raise an error that names the rows with an infinite or enormous number, if there are any."""
    size = np.abs(table.numbers[:, column])
    for is_bad, what in (
        (np.isinf(size), "infinite"),
        (size > limits.LARGEST_INPUT, f"beyond {limits.LARGEST_INPUT:g}"),
    ):
        if is_bad.any():
            raise DataError(
                f"column {table.names[column]!r} of {table.source} is {what} in "
                f"{list_rows(is_bad)}: correct or rescale it."
            )


def learn_column(table: Table, column: int, missing: str | None) -> ColumnCode:
    """Find out how a column is to be encoded; see :meth:`Encoding.learn`."""
    name = table.names[column]
    gaps = table.missing(column)
    if gaps.all():
        raise DataError(
            f"column {name!r} of {table.source} has no values at all: remove the column."
        )
    if is_text_column(table, column):
        present = Counter(table.texts(column)[~gaps].tolist())
        categories = tuple(sorted(present))
        _check_categories(table, column, categories)
        # The first of the most frequent, in the order of the alphabet.
        favourite = max(categories, key=lambda category: present[category])
        return ColumnCode(name, categories, favourite if missing else None)
    refuse_huge(table, column)
    if missing is None:
        return ColumnCode(name)
    return ColumnCode(name, None, _typical(table.numbers[~gaps, column], missing))


def _typical(values: FloatArray, rule: str) -> float:
    if rule == "most-frequent":
        different, counts = np.unique(values, return_counts=True)
        return float(different[np.argmax(counts)])
    return float(np.mean(values) if rule == "mean" else np.median(values))


def _check_categories(table: Table, column: int, categories: tuple[str, ...]) -> None:
    name = table.names[column]
    commas = [category for category in categories if "," in category]
    if commas and all(read_number(text.replace(",", ".", 1)) is not None for text in categories):
        raise DataError(
            f"column {name!r} of {table.source} has numbers with a decimal comma such as "
            f"{commas[0]!r}: write them with a point."
        )
    if len(categories) > _MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} of {table.source} has {len(categories)} different texts, more than "
            f"the {_MOST_CATEGORIES} that can be encoded: remove the column or group its values."
        )


def encode_column(table: Table, column: int, code: ColumnCode) -> FloatArray:
    """Make the features of a column, refusing what was not learned."""
    gaps = table.missing(column)
    if gaps.any() and code.fill is None:
        raise DataError(
            f"column {table.names[column]!r} of {table.source} has no value in {list_rows(gaps)}: "
            "remove these rows, or train with --missing mean, median or most-frequent."
        )
    if code.categories is None:
        _refuse_texts(table, column)
        refuse_huge(table, column)
        numbers = table.numbers[:, column].copy()
        numbers[gaps] = code.fill
        return numbers[:, None]
    texts = table.texts(column).copy()
    texts[gaps] = code.fill
    index = {category: k for k, category in enumerate(code.categories)}
    codes = np.array([index.get(text, -1) for text in texts], dtype=int)
    if (codes < 0).any():
        first = int(np.argmin(codes))
        raise DataError(
            f"column {table.names[column]!r} of {table.source} holds {texts[first]!r} in "
            f"{list_rows(codes < 0)}, which did not occur in training: use one of "
            f"{list_names(code.categories)}."
        )
    one_hot: FloatArray = np.eye(len(code.categories))[codes]
    return one_hot


def _refuse_texts(table: Table, column: int) -> None:
    is_text = table.is_text[:, column]
    if is_text.any():
        value = table.texts(column)[int(np.argmax(is_text))]
        is_name = not table.header and is_text.sum() == is_text[0]
        remedy = "correct it, or say --header if it is a name" if is_name else "correct or empty it"
        raise DataError(
            f"column {table.names[column]!r} of {table.source} has numbers but the text {value!r} "
            f"in {list_rows(is_text)}: {remedy}."
        )
