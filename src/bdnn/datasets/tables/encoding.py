"""How the columns of a table become the features of a network, learned once and applied again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from bdnn.datasets.tables.columns import ColumnCode, encode_column, is_text_column, learn_column
from bdnn.datasets.tables.table import Table, list_names
from bdnn.errors import DataError, ModelError, ModelFileError
from bdnn.network.activation import FloatArray

MissingRule = Literal["mean", "median", "most-frequent"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become features.

    Parameters
    ----------
    columns : tuple of ColumnCode
        In the order of the features.
    header : bool
        Whether the names were given with the data; columns are found by place otherwise.
    target : str or None
        Name of the target column.
    target_place : int or None
        Where the target stood among the columns, from 0.
    text_target : bool
        Whether labels are texts even if they look like numbers.
    """

    columns: tuple[ColumnCode, ...]
    header: bool = True
    target: str | None = None
    target_place: int | None = None
    text_target: bool = False

    @classmethod
    def learn(cls, table: Table, target: int, missing: str | None = None) -> Encoding:
        """Find out from a table how each column but the target is to be encoded.

        Parameters
        ----------
        table : Table
        target : int
            Place of the target column, from 0.
        missing : {"mean", "median", "most-frequent"}, optional
            What fills missing cells; a text column takes its most frequent text with any of them.
        """
        if missing is not None and missing not in get_args(MissingRule):
            raise ModelError(
                f"missing must be 'mean', 'median' or 'most-frequent', got {missing!r}: choose one "
                "of these or leave it out."
            )
        codes = tuple(
            learn_column(table, j, missing) for j in range(table.n_columns) if j != target
        )
        return cls(codes, table.header, table.names[target], target, is_text_column(table, target))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features, such as ``age`` or ``color=red``."""
        return tuple(name for code in self.columns for name in code.feature_names)

    def notes(self) -> list[str]:
        """Say in sentences what was done to the columns."""
        return [
            f"column {code.name!r} is text and one-hot encoded as {list_names(code.feature_names)}"
            for code in self.columns
            if code.categories is not None
        ]

    def encode(self, table: Table) -> tuple[FloatArray, list[str]]:
        """Make features of a table.

        Parameters
        ----------
        table : Table
            Columns may be in another order and among others if they have names.

        Returns
        -------
        X : array of shape (n_rows, n_features)
        notes : list of str
            What was left aside or assumed.

        Raises
        ------
        DataError
            If a column, a value or a category is not as it was learned.
        """
        places, notes = self._match(table)
        X = np.empty((table.n_rows, len(self.feature_names)))
        start = 0
        for code, place in zip(self.columns, places, strict=True):
            stop = start + len(code.feature_names)
            X[:, start:stop] = encode_column(table, place, code)
            start = stop
        return X, notes

    def _match(self, table: Table) -> tuple[list[int], list[str]]:
        """Find the columns in a table, by name if both sides have names, else by place."""
        wanted = [code.name for code in self.columns]
        if self.header and table.header:
            lost = [name for name in wanted if name not in table.names]
            if lost:
                what, them = ("columns", "them") if len(lost) > 1 else ("column", "it")
                raise DataError(
                    f"{table.source} lacks the {what} {list_names(lost)} that the model needs: "
                    f"add {them} (there is {list_names(table.names)})."
                )
            extra = [name for name in table.names if name not in wanted]
            note = f"took no input from the column{'s' * (len(extra) > 1)} {list_names(extra)}"
            return [table.names.index(name) for name in wanted], [note] if extra else []
        places = list(range(table.n_columns))
        notes = []
        if table.n_columns == len(wanted) + 1 and self.target_place is not None:
            places.remove(self.target_place)
            notes.append(f"ignored column {self.target_place + 1}, the place of the target")
        elif table.n_columns != len(wanted):
            raise DataError(
                f"{table.source} has {table.n_columns} columns where the model needs "
                f"{len(wanted)}: give the same columns as in training."
            )
        if self.header != table.header:
            notes.append("took the columns by their place, for want of names to compare")
        return places, notes

    def to_dict(self) -> dict[str, Any]:
        """Write as plain values that JSON can hold."""
        return {
            "columns": [
                {
                    "name": code.name,
                    "categories": None if code.categories is None else list(code.categories),
                    "fill": code.fill,
                }
                for code in self.columns
            ],
            "header": self.header,
            "target": self.target,
            "target_place": self.target_place,
            "text_target": self.text_target,
        }

    @classmethod
    def from_dict(cls, values: Any) -> Encoding:
        """Read what :meth:`to_dict` wrote, checking all of it."""
        try:
            place = values["target_place"]
            encoding = cls(
                tuple(_read_code(code) for code in values["columns"]),
                _checked(values["header"], bool),
                None if values["target"] is None else _checked(values["target"], str),
                None if place is None else _checked(place, int),
                _checked(values["text_target"], bool),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                "the model file describes its table in a way that cannot be read "
                f"({type(error).__name__}: {error}): save the model again."
            ) from error
        if place is not None and not 0 <= place <= len(encoding.columns):
            raise ModelFileError(
                f"the model file puts the target at place {place} of "
                f"{len(encoding.columns) + 1} columns: save the model again."
            )
        return encoding


def _read_code(values: Any) -> ColumnCode:
    name, categories, fill = _checked(values["name"], str), values["categories"], values["fill"]
    if categories is None:
        if fill is not None and not math.isfinite(_checked(fill, float)):
            raise ValueError(f"column {name!r} is filled with {fill!r}")
        return ColumnCode(name, None, fill)
    texts = tuple(_checked(category, str) for category in _checked(categories, list))
    if not texts or len(set(texts)) < len(texts) or (fill is not None and fill not in texts):
        raise ValueError(f"column {name!r} has categories that do not fit together")
    return ColumnCode(name, texts, fill)


def _checked(value: Any, kind: type[_T]) -> _T:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value
