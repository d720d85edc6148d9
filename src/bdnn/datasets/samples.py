"""From a table to samples: features, labels, and the encoder that made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bdnn.datasets.bundled import Dataset
from bdnn.encoding import Column, Encoder, Inputs, Table, learn_columns
from bdnn.encoding.table import list_counts, list_names, list_rows
from bdnn.errors import DataError, ModelError
from bdnn.network.activation import BoolArray, FloatArray

# Beyond this, doubles no longer hold every whole number.
_LARGEST_LABEL = 2.0**53


@dataclass(frozen=True, eq=False)
class Samples:
    """Features and labels ready for training.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Whole numbers or texts, at least two different ones; or any numbers, for a regression.
    encoder : Encoder
        What made ``X`` of the table; makes features of new tables too.
    target : str
        Name of the target column.
    target_place : int
        Where it stood among the columns, from 0.
    notes : tuple of str
        What a user should know was done to the table.
    """

    X: FloatArray
    y: NDArray[np.generic]
    encoder: Encoder
    target: str
    target_place: int
    notes: tuple[str, ...] = ()

    @classmethod
    def from_table(
        cls,
        table: Table,
        target: str | int | None = None,
        inputs: Inputs | None = None,
        *,
        numeric: bool = False,
    ) -> Samples:
        """Find out what the columns of a table are.

        Parameters
        ----------
        table : Table
        target : str or int, optional
            Name of the target column, or its place from 1; the last column if not given.
        inputs : Inputs, optional
            Columns to drop, columns that are categories.
        numeric : bool
            Whether the target is a number to be predicted and no class.
        """
        place = table.position(target)
        if table.n_columns < 2:
            raise DataError(
                f"{table.source} has one column: give at least one feature and the target "
                "(separated by ',', ';' or tab)."
            )
        if numeric:
            y: NDArray[np.generic] = read_numbers(table, place)
        else:
            y = read_labels(table, place)
            check_classes(y, table.source)
        inputs, empty = _without_empty(table, inputs or Inputs())
        columns, codes = learn_columns(table, inputs, target=place)
        notes = (*table.notes, *empty, *_note_texts(columns), *_note_gaps(columns, codes))
        encoder = Encoder(columns, header=table.header)
        return cls(codes, y, encoder, table.names[place], place, notes)

    @classmethod
    def from_dataset(cls, dataset: Dataset, inputs: Inputs | None = None) -> Samples:
        """Take the samples of a built-in data set."""
        table = Table.of_numbers(dataset.name, dataset.feature_names, dataset.X)
        columns, codes = learn_columns(table, inputs or Inputs())
        encoder = Encoder(columns, header=True)
        return cls(codes, dataset.y, encoder, dataset.target_name, table.n_columns)


def _without_empty(table: Table, inputs: Inputs) -> tuple[Inputs, list[str]]:
    """Leave out columns without any value, and tell of them."""
    places = np.flatnonzero((np.isnan(table.numbers) & ~table.is_text).all(axis=0)).tolist()
    if not places:
        return inputs, []
    names = list_names([table.names[j] for j in places])
    column = "columns" if len(places) > 1 else "column"
    note = f"left out the {column} {names} without any value"
    return replace(inputs, drop=(*inputs.drop, *places)), [note]


def _note_texts(columns: Sequence[Column]) -> list[str]:
    """Tell which columns are texts, in one line."""
    texts = [column for column in columns if column.kind == "category"]
    if len(texts) == 1:
        return [f"column {texts[0].name!r} is text: {list_names(texts[0].values)}"]
    counts = {column.name: len(column.values) for column in texts}
    return [f"{len(texts)} columns are text (values): {list_counts(counts)}"] if texts else []


def _note_gaps(columns: Sequence[Column], codes: FloatArray) -> list[str]:
    """Tell which columns lack values, in one line."""
    gaps = np.isnan(codes).sum(axis=0).tolist()
    counts = {column.name: n for column, n in zip(columns, gaps, strict=True) if n}
    if len(counts) == 1:
        (name, count), *_ = counts.items()
        return [f"column {name!r} has no value in {count} row{'s' * (count > 1)}"]
    return [f"{len(counts)} columns have gaps (rows): {list_counts(counts)}"] if counts else []


def read_labels(table: Table, target: int, *, as_text: bool | None = None) -> NDArray[np.generic]:
    """Read the labels of a table; whether they are texts is found out if not given."""
    name = table.names[target]
    _refuse_missing(table, target)
    if table.is_text_column(target) if as_text is None else as_text:
        return table.texts(target).astype(str)
    table.refuse_huge(target)
    numbers = table.numbers[:, target]
    odd = np.isnan(numbers) | (numbers != np.rint(numbers)) | (np.abs(numbers) > _LARGEST_LABEL)
    if odd.any():
        value = table.texts(target)[int(np.argmax(odd))]
        raise DataError(
            f"the target column {name!r} of {table.source} holds {value!r} in {list_rows(odd)}, "
            "which is no class: choose a column of texts or whole numbers as target, or predict "
            "the number with --regression."
        )
    return numbers.astype(np.int64)


def read_numbers(table: Table, target: int) -> FloatArray:
    """Read the numbers that a regression is to predict."""
    _refuse_missing(table, target)
    table.refuse_huge(target)
    numbers = table.numbers[:, target]
    is_odd = np.isnan(numbers)
    if is_odd.any():
        value = table.texts(target)[int(np.argmax(is_odd))]
        raise DataError(
            f"the target column {table.names[target]!r} of {table.source} holds {value!r} in "
            f"{list_rows(is_odd)}, which is no number: choose a column of numbers as target."
        )
    if len(numbers) < 2:
        raise DataError(f"{table.source} has {len(numbers)} row of data: training needs two.")
    return np.asarray(numbers, dtype=float)


def check_classes(y: NDArray[np.generic], source: str) -> None:
    """Raise an error unless there are two rows of different classes."""
    if len(y) < 2:
        raise DataError(f"{source} has {len(y)} row of data: training needs at least two.")
    if (y == y[0]).all():
        raise DataError(
            f"all {len(y)} rows of {source} are of the one class {y[0].item()!r}: training needs "
            "at least two classes."
        )


def _refuse_missing(table: Table, target: int) -> None:
    gaps: BoolArray = table.missing(target)
    if gaps.any():
        raise DataError(
            f"the target column {table.names[target]!r} of {table.source} has no value in "
            f"{list_rows(gaps)}: remove these rows."
        )


def split_holdout(
    y: NDArray[np.generic], share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split samples at random so that every class gives its share to the test part.

    Returns ascending row numbers. Every class leaves at least one sample in the training part, so
    that small classes can be learned at all.
    """
    if not 0.0 <= share < 1.0:
        raise ModelError(
            f"the test size must be at least 0 and less than 1, got {share}: give a share."
        )
    rng = np.random.default_rng(seed)
    test = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        n_test = min(round(share * len(members)), len(members) - 1)
        test[members[:n_test]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)
