"""What a raw column is, and how it becomes features: as a number, or one per text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bdnn.encoding.table import Table, list_names, list_rows, read_number
from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray

MissingRule = Literal["mean", "median", "most-frequent"]

# More different texts than this are names or remarks, not categories.
_MOST_CATEGORIES = 200


@dataclass(frozen=True)
class Column:
    """A raw column.

    Parameters
    ----------
    name : str
    values : tuple of str
        Sorted texts of a category, each of which has a feature of its own; empty for a number.
    fill : float, str or None
        What stands in for a missing cell; None if missing cells are refused.
    """

    name: str
    values: tuple[str, ...] = ()
    fill: float | str | None = None

    @property
    def kind(self) -> Literal["number", "category"]:
        """What its cells are."""
        return "category" if self.values else "number"

    def encode(self, table: Table, place: int) -> FloatArray:
        """Make the features of a column of a table, refusing what was not learned."""
        gaps = table.missing(place)
        if gaps.any() and self.fill is None:
            raise DataError(
                f"column {table.names[place]!r} of {table.source} has no value in "
                f"{list_rows(gaps)}: remove these rows, or train with --missing mean, median or "
                "most-frequent."
            )
        if not self.values:
            table.refuse_texts(place)
            table.refuse_huge(place)
            numbers = table.numbers[:, place].copy()
            numbers[gaps] = self.fill
            return numbers[:, None]
        texts = table.texts(place).copy()
        texts[gaps] = self.fill
        index = {value: k for k, value in enumerate(self.values)}
        codes = np.array([index.get(text, -1) for text in texts], dtype=int)
        if (codes < 0).any():
            first = int(np.argmin(codes))
            raise DataError(
                f"column {table.names[place]!r} of {table.source} holds {texts[first]!r} in "
                f"{list_rows(codes < 0)}, which did not occur in training: use one of "
                f"{list_names(self.values)}."
            )
        one_hot: FloatArray = np.eye(len(self.values))[codes]
        return one_hot


def learn_column(table: Table, place: int, missing: str | None = None) -> Column:
    """Find out what a column of a table is.

    Parameters
    ----------
    missing : {"mean", "median", "most-frequent"}, optional
        What fills missing cells; a text column takes its most frequent text with any of them.
    """
    if missing is not None and missing not in get_args(MissingRule):
        raise ModelError(
            f"missing must be 'mean', 'median' or 'most-frequent', got {missing!r}: choose one of "
            "these or leave it out."
        )
    name = table.names[place]
    gaps = table.missing(place)
    if gaps.all():
        raise DataError(
            f"column {name!r} of {table.source} has no values at all: remove the column."
        )
    if table.is_text_column(place):
        present = Counter(table.texts(place)[~gaps].tolist())
        values = tuple(sorted(present))
        _check_categories(table, place, values)
        # The first of the most frequent, in the order of the alphabet.
        favourite = max(values, key=lambda value: present[value])
        return Column(name, values, favourite if missing else None)
    table.refuse_huge(place)
    if missing is None:
        return Column(name)
    return Column(name, fill=_typical(table.numbers[~gaps, place], missing))


def _typical(values: FloatArray, rule: str) -> float:
    if rule == "most-frequent":
        different, counts = np.unique(values, return_counts=True)
        return float(different[np.argmax(counts)])
    return float(np.mean(values) if rule == "mean" else np.median(values))


def _check_categories(table: Table, place: int, values: tuple[str, ...]) -> None:
    name = table.names[place]
    commas = [value for value in values if "," in value]
    if commas and all(read_number(text.replace(",", ".", 1)) is not None for text in values):
        raise DataError(
            f"column {name!r} of {table.source} has numbers with a decimal comma such as "
            f"{commas[0]!r}: write them with a point."
        )
    if len(values) > _MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} of {table.source} has {len(values)} different texts, more than "
            f"the {_MOST_CATEGORIES} that can be encoded: remove the column or group its values."
        )
