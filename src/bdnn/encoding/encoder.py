"""The encoder: from raw columns to the inputs of a network.

A *feature* is a column's number or the indicator of one of its texts; a matrix ``X`` has one per
column. An *input* is a feature that is shifted, scaled and put on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.columns import Column, learn_column
from bdnn.encoding.scaling import ScaleKind, learn_scale, put_on_grid
from bdnn.encoding.table import Table, list_names
from bdnn.errors import DataError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet


@dataclass(frozen=True)
class Number:
    """A scaled input: ``(feature - shift) * factor``.

    Parameters
    ----------
    column : int
    value : str or None
        If set, the feature is 1 where the column holds this text, else 0.
    shift, factor : float
    """

    column: int
    value: str | None = None
    shift: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class Encoder:
    """From raw columns to features, and from features to inputs.

    Parameters
    ----------
    columns : tuple of Column
    numbers : tuple of Number
        One per input, in the order of the columns.
    step : float
        Distance of neighbouring inputs, a power of two; 0 for features that are taken as they are.
    scale : {"standard", "common", "minmax"} or None
        How shifts and factors were found; None where the step is 0.
    header : bool
        Whether the columns' names came with the data; columns are found by place otherwise.
    """

    columns: tuple[Column, ...]
    numbers: tuple[Number, ...]
    step: float = 0.0
    scale: ScaleKind | None = None
    header: bool = False

    @classmethod
    def of_columns(cls, columns: Sequence[Column], *, header: bool = True) -> Encoder:
        """Take every feature of some columns as it is."""
        numbers = tuple(
            Number(j, value)
            for j, column in enumerate(columns)
            for value in column.values or (None,)
        )
        return cls(tuple(columns), numbers, header=header)

    @classmethod
    def of_features(cls, n_features: int, names: Sequence[str] | None = None) -> Encoder:
        """Take columns of numbers as they are."""
        given = names or [f"x{j}" for j in range(1, n_features + 1)]
        return cls.of_columns([Column(name) for name in given], header=names is not None)

    @classmethod
    def learn(cls, table: Table, target: int, missing: str | None = None) -> Encoder:
        """Find out what every column of a table but the target is; features are not scaled."""
        columns = [learn_column(table, j, missing) for j in range(table.n_columns) if j != target]
        return cls.of_columns(columns, header=table.header)

    @classmethod
    def fit(
        cls,
        X: FloatArray,
        scale: str | None,
        *,
        weights: WeightSet,
        sample_weight: FloatArray | None = None,
        labels: NDArray[np.intp] | None = None,
        unscaled: Encoder | None = None,
    ) -> Encoder:
        """Learn shift and factor from features, on the grid that suits the first layer's weights.

        With ``labels`` there is a scale ``"auto"``: the common one where it clearly puts samples
        of one class nearer to each other, and the standard one elsewhere. ``unscaled`` says what
        the features are, if they are more than nameless numbers.
        """
        encoder = unscaled or cls.of_features(X.shape[1])
        if scale is None:
            return encoder
        kind, shift, factor, step = learn_scale(
            X, scale, weights=weights, sample_weight=sample_weight, labels=labels
        )
        return encoder.scaled_by(shift, factor, step, kind)

    def scaled_by(
        self, shift: ArrayLike, factor: ArrayLike, step: float, scale: ScaleKind = "standard"
    ) -> Encoder:
        """The same features, scaled."""
        numbers = tuple(
            replace(number, shift=float(b), factor=float(a))
            for number, b, a in zip(
                self.numbers, np.asarray(shift), np.asarray(factor), strict=True
            )
        )
        return replace(self, numbers=numbers, step=float(step), scale=scale)

    @cached_property
    def shift(self) -> FloatArray:
        """Shifts of all inputs."""
        return np.array([number.shift for number in self.numbers])

    @cached_property
    def factor(self) -> FloatArray:
        """Factors of all inputs."""
        return np.array([number.factor for number in self.numbers])

    @property
    def n_features(self) -> int:
        """Number of features, which is that of inputs."""
        return len(self.numbers)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features, such as ``age`` or ``color=red``."""
        names = [self.columns[number.column].name for number in self.numbers]
        return tuple(
            name if number.value is None else f"{name}={number.value}"
            for name, number in zip(names, self.numbers, strict=True)
        )

    def places(self) -> list[list[int]]:
        """Places of every column's features."""
        found: list[list[int]] = [[] for _ in self.columns]
        for j, number in enumerate(self.numbers):
            found[number.column].append(j)
        return found

    def transform(self, X: ArrayLike) -> FloatArray:
        """Turn rows of features into inputs."""
        values = np.asarray(X, dtype=float)
        if not self.step:
            return values
        return put_on_grid(values, self.shift, self.factor, self.step)

    def transform_feature(self, feature: int, values: FloatArray) -> FloatArray:
        """Turn values of one feature into those of its input."""
        if not self.step:
            return values
        number = self.numbers[feature]
        return put_on_grid(values, number.shift, number.factor, self.step)

    def features(self, table: Table, target: int | None = None) -> tuple[FloatArray, list[str]]:
        """Make features of a table.

        Parameters
        ----------
        table : Table
            Columns may be in another order and among others if they have names.
        target : int, optional
            Where the target may stand among columns that are found by place.

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
        places, notes = self._match(table, target)
        X = np.empty((table.n_rows, self.n_features))
        for column, place, features in zip(self.columns, places, self.places(), strict=True):
            X[:, features] = column.encode(table, place)
        return X, notes

    def _match(self, table: Table, target: int | None) -> tuple[list[int], list[str]]:
        """Find the columns in a table, by name if both sides have names, else by place."""
        wanted = [column.name for column in self.columns]
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
        if table.n_columns == len(wanted) + 1 and target is not None:
            places.remove(target)
            notes.append(f"ignored column {target + 1}, the place of the target")
        elif table.n_columns != len(wanted):
            raise DataError(
                f"{table.source} has {table.n_columns} columns where the model needs "
                f"{len(wanted)}: give the same columns as in training."
            )
        if self.header != table.header:
            notes.append("took the columns by their place, for want of names to compare")
        return places, notes
