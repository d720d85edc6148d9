"""From a table to samples: features, labels, and the encoding that made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.datasets.dataset import Dataset
from bdnn.datasets.tables.columns import ColumnCode, is_text_column, list_rows, refuse_huge
from bdnn.datasets.tables.encoding import Encoding
from bdnn.datasets.tables.table import Table
from bdnn.errors import DataError
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
    encoding : Encoding
        What made ``X`` of the table; makes features of new tables too.
    notes : tuple of str
        What a user should know was done to the table.
    """

    X: FloatArray
    y: NDArray[np.generic]
    encoding: Encoding
    notes: tuple[str, ...] = ()

    @classmethod
    def from_table(
        cls,
        table: Table,
        target: str | int | None = None,
        *,
        missing: str | None = None,
        numeric: bool = False,
    ) -> Samples:
        """Encode a table.

        Parameters
        ----------
        table : Table
        target : str or int, optional
            Name of the target column, or its place from 1; the last column if not given.
        missing : {"mean", "median", "most-frequent"}, optional
            What fills missing cells; they are refused if not given.
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
        encoding = Encoding.learn(table, place, missing)
        X, _ = encoding.encode(table)
        filled = [
            f"filled {int(gaps.sum())} missing values of column {code.name!r} with {code.fill!r}"
            for code in encoding.columns
            if (gaps := table.missing(table.names.index(code.name))).any()
        ]
        return cls(X, y, encoding, (*encoding.notes(), *filled))

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Samples:
        """Take the samples of a built-in data set."""
        columns = tuple(ColumnCode(name) for name in dataset.feature_names)
        encoding = Encoding(
            columns,
            target=dataset.target_name,
            target_place=len(columns),
            text_target=dataset.y.dtype.kind == "U",
        )
        return cls(dataset.X, dataset.y, encoding)


def read_labels(table: Table, target: int, *, as_text: bool | None = None) -> NDArray[np.generic]:
    """Read the labels of a table.

    Parameters
    ----------
    table : Table
    target : int
        Place of the target column, from 0.
    as_text : bool, optional
        Whether labels are texts even if all look like numbers; found out if not given.
    """
    name = table.names[target]
    _refuse_missing(table, target)
    if is_text_column(table, target) if as_text is None else as_text:
        return table.texts(target).astype(str)
    refuse_huge(table, target)
    numbers = table.numbers[:, target]
    odd = np.isnan(numbers) | (numbers != np.rint(numbers)) | (np.abs(numbers) > _LARGEST_LABEL)
    if odd.any():
        value = table.texts(target)[int(np.argmax(odd))]
        raise DataError(
            f"the target column {name!r} of {table.source} holds {value!r} in {list_rows(odd)}, "
            "which is no class: choose a column of texts or whole numbers as target."
        )
    return numbers.astype(np.int64)


def read_numbers(table: Table, target: int) -> FloatArray:
    """Read the numbers that a regression is to predict."""
    _refuse_missing(table, target)
    refuse_huge(table, target)
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
