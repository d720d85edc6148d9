"""The encoder: from the codes of raw columns to the inputs of a network.

Inputs are numbers first, shifted, scaled and put on a grid, and then bits, which compare the raw
value itself. Every input is of one column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.columns import Bit, Column, Number, number_text
from bdnn.encoding.inputs import Inputs, UnknownRule
from bdnn.encoding.learning import learn_bits, learn_fills
from bdnn.encoding.scaling import ScaleKind, learn_scale, put_on_grid
from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet

_BLOCK_ROWS = 256


@dataclass(frozen=True, eq=False)
class Encoder:
    """From codes of raw columns to inputs."""

    columns: tuple[Column, ...]
    numbers: tuple[Number, ...] = ()
    bits: tuple[Bit, ...] = ()
    # Distance of neighbouring numbers, a power of two; 0 for numbers that are taken as they are.
    step: float = 0.0
    scale: ScaleKind | None = None  # how shifts and factors were found; None where the step is 0
    # Whether the columns' names came with the data; columns are found by place otherwise.
    header: bool = False
    # Whether a text that is not listed is none of the known ones, or refused.
    unknown: UnknownRule = "none"

    def __repr__(self) -> str:
        return f"<Encoder: {len(self.columns)} columns, {self.n_inputs} inputs>"

    @classmethod
    def of_columns(cls, columns: Sequence[Column], *, header: bool = True) -> Encoder:
        """Take every number, and a 0/1 number of every text, as they are."""
        numbers = tuple(
            Number(j, value)
            for j, column in enumerate(columns)
            for value in (column.values if column.kind == "category" else (None,))
        )
        return cls(tuple(columns), numbers, header=header)

    @classmethod
    def of_features(cls, n_features: int, names: Sequence[str] | None = None) -> Encoder:
        """Take columns of numbers as they are."""
        given = names or [f"x{j}" for j in range(1, n_features + 1)]
        return cls.of_columns([Column(name) for name in given], header=names is not None)

    @classmethod
    def learn(
        cls,
        codes: FloatArray,  # (n_rows, n_columns)
        columns: Sequence[Column],
        inputs: Inputs,
        *,
        weights: WeightSet,  # of the first layer, which the grid of the numbers suits
        # Of classes; with them the scale "auto" chooses, and is "standard" otherwise.
        labels: NDArray[np.intp] | None = None,
        sample_weight: FloatArray | None = None,  # rows without weight do not count
        # Further cuts of columns. Each is moved within its gap between training values.
        wanted: Mapping[int, FloatArray] | None = None,
        # How far every raw value may move, of the shape of the codes, given an encoder that knows
        # the scale; cuts then stand where certainty changes.
        reach: Callable[[Encoder], FloatArray] | None = None,
        header: bool = False,  # whether the columns' names came with the data
    ) -> Encoder:
        """Learn the inputs from training rows."""
        weight, counted = None, codes
        if sample_weight is not None:
            weight, counted = sample_weight[sample_weight > 0], codes[sample_weight > 0]
        known = learn_fills(columns, counted, inputs)
        encoder = replace(cls.of_columns(known, header=header), unknown=inputs.unknown)
        if inputs.scale is not None:
            is_guess = inputs.scale == "auto" and labels is None
            kind, shift, factor, step = learn_scale(
                encoder.features(codes),
                "standard" if is_guess else inputs.scale,
                weights=weights,
                sample_weight=sample_weight,
                labels=labels,
            )
            encoder = encoder.scaled_by(shift, factor, step, kind)
        if not inputs.has_numbers:
            factors = zip(known, encoder.units.tolist(), strict=True)
            known = tuple(replace(column, factor=factor) for column, factor in factors)
            encoder = cls(known, header=header, unknown=inputs.unknown)
        if inputs.has_bits:
            far = None if reach is None else reach(encoder)
            if far is not None and sample_weight is not None:
                far = far[sample_weight > 0]
            bits = learn_bits(known, counted, weight, inputs, wanted or {}, far)
            encoder = replace(encoder, bits=bits)
        if not encoder.n_inputs:
            raise DataError(
                "every column is constant and tells no rows apart: give rows of different values."
            )
        return encoder

    @classmethod
    def fit(
        cls,
        X: FloatArray,
        scale: str | None,
        *,
        weights: WeightSet,
        sample_weight: FloatArray | None = None,
        labels: NDArray[np.intp] | None = None,
    ) -> Encoder:
        """Learn to scale an array of numbers."""
        columns, inputs = cls.of_features(X.shape[1]).columns, Inputs("scaled", scale)
        given = {"weights": weights, "sample_weight": sample_weight, "labels": labels}
        return cls.learn(X, columns, inputs, **given)  # type: ignore[arg-type]

    def scaled_by(
        self, shift: ArrayLike, factor: ArrayLike, step: float, scale: ScaleKind = "standard"
    ) -> Encoder:
        """The same encoder with other shifts and factors of its numbers."""
        numbers = tuple(
            replace(number, shift=float(b), factor=float(a))
            for number, b, a in zip(
                self.numbers, np.asarray(shift), np.asarray(factor), strict=True
            )
        )
        return replace(self, numbers=numbers, step=float(step), scale=scale)

    def subset(self, keep: NDArray[np.intp] | BoolArray) -> Encoder:
        """The encoder with some of the inputs, in their order; all columns stay.

        A column without its number keeps what a move of it is in scaled units.
        """
        kept = np.arange(self.n_inputs)[keep]
        numbers = tuple(self.numbers[i] for i in kept if i < self.n_numbers)
        bits = tuple(self.bits[i - self.n_numbers] for i in kept if i >= self.n_numbers)
        factors = zip(self.columns, self.units.tolist(), strict=True)
        columns = tuple(replace(column, factor=factor) for column, factor in factors)
        some = replace(self, columns=columns, numbers=numbers, bits=bits)
        return some if numbers else replace(some, step=0.0, scale=None)

    @property
    def n_columns(self) -> int:
        """Number of raw columns."""
        return len(self.columns)

    @property
    def n_numbers(self) -> int:
        """Number of scaled inputs, which come first."""
        return len(self.numbers)

    @property
    def n_bits(self) -> int:
        """Number of inputs that are bits."""
        return len(self.bits)

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the network."""
        return len(self.numbers) + len(self.bits)

    @property
    def is_plain(self) -> bool:
        """Whether every column is one number."""
        return not self.bits and [(n.column, n.value) for n in self.numbers] == [
            (j, None) for j in range(self.n_columns)
        ]

    @cached_property
    def units(self) -> FloatArray:
        """How far a move of 1 of every column is in scaled units."""
        found = np.array([column.factor for column in self.columns])
        for number in self.numbers:
            if number.value is None:
                found[number.column] = number.factor
        return found

    @cached_property
    def shift(self) -> FloatArray:
        """Shifts of all numbers."""
        return np.array([number.shift for number in self.numbers])

    @cached_property
    def factor(self) -> FloatArray:
        """Factors of all numbers."""
        return np.array([number.factor for number in self.numbers])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def column_of(self) -> NDArray[np.intp]:
        """Column of every input."""
        numbers = [number.column for number in self.numbers]
        return np.array(numbers + [bit.column for bit in self.bits], dtype=np.intp)

    @cached_property
    def ascending(self) -> BoolArray:
        """Which inputs grow with the value of their column; indicators do not."""
        numbers = [number.value is None for number in self.numbers]
        return np.array(numbers + [bit.kind == "ge" for bit in self.bits], dtype=bool)

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """What every input says, such as ``age >= 42``, ``job = cook``, ``age is missing``."""
        numbers = [
            self.names[n.column] if n.value is None else f"{self.names[n.column]} = {n.value}"
            for n in self.numbers
        ]
        return (*numbers, *map(self._bit_name, self.bits))

    def _bit_name(self, bit: Bit) -> str:
        column = self.columns[bit.column]
        if bit.kind == "missing":
            return f"{column.name} is missing"
        if isinstance(bit.value, str):
            return f"{column.name} = {bit.value}"
        if column.kind == "boolean":
            return column.name
        return f"{column.name} >= {number_text(float(bit.value or 0.0))}"

    @cached_property
    def texts(self) -> tuple[NDArray[np.intp], FloatArray]:
        """Column of every number, and the code of its text, NaN where it has none."""
        texts = [
            np.nan if n.value is None else self.columns[n.column].values.index(n.value)
            for n in self.numbers
        ]
        return self.column_of[: self.n_numbers], np.array(texts, dtype=float)

    @cached_property
    def fills(self) -> FloatArray:
        """What stands in for a missing code of every column."""
        return np.array([column.filling for column in self.columns])

    @cached_property
    def apart(self) -> BoolArray:
        """Columns whose missing values are no value for the bits."""
        return np.array([column.missing == "bit" for column in self.columns])

    @cached_property
    def literals(self) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]]:
        """Of every kind of bit: places among the bits, columns, and codes to compare with."""
        found = {}
        for kind in ("ge", "is", "missing"):
            places = [i for i, bit in enumerate(self.bits) if bit.kind == kind]
            bits = [self.bits[i] for i in places]
            codes = [
                self.columns[b.column].values.index(b.value)
                if isinstance(b.value, str)
                else b.value
                for b in bits
            ]
            found[kind] = (
                np.array(places, dtype=np.intp),
                np.array([bit.column for bit in bits], dtype=np.intp),
                np.array(codes, dtype=float),
            )
        return found

    def features(self, codes: FloatArray) -> FloatArray:
        """What is scaled: numbers, and 0 or 1 for texts; gaps are filled."""
        gaps = np.isnan(codes)
        filled = np.where(gaps, self.fills, codes) if gaps.any() else codes
        columns, texts = self.texts
        if not np.array_equal(columns, np.arange(codes.shape[1])):
            filled = filled[:, columns]
        is_text = ~np.isnan(texts)
        if is_text.any():
            filled = np.where(is_text, filled == texts, filled)
        return filled

    def transform(self, codes: ArrayLike) -> FloatArray:
        """Turn codes into inputs."""
        raw = np.asarray(codes, dtype=float)
        numbers = self.features(raw)
        if self.step:
            numbers = put_on_grid(numbers, self.shift, self.factor, self.step)
        if not self.bits:
            return numbers
        gaps = np.isnan(raw)
        seen = np.where(gaps & ~self.apart, self.fills, raw) if gaps.any() else raw
        inputs: FloatArray = np.empty((len(raw), self.n_inputs))
        inputs[:, : self.n_numbers] = numbers
        # Blocks of rows stay in cache from one kind of bits to the next.
        for first in range(0, len(raw), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            bits = inputs[rows, self.n_numbers :]
            for kind, (places, columns, values) in self.literals.items():
                if kind == "missing":
                    bits[:, places] = gaps[rows].take(columns, axis=1)
                    continue
                cells = seen[rows].take(columns, axis=1)
                bits[:, places] = cells >= values if kind == "ge" else cells == values
        return inputs

    def cells(self, codes: FloatArray) -> list[list[float | str]]:
        """Rows of codes as they would be written, nothing for what is missing or not listed."""
        return [
            [
                ""
                if code != code or (column.kind == "category" and code < 0)
                else column.values[int(code)]
                if column.kind == "category"
                else code
                for column, code in zip(self.columns, row, strict=True)
            ]
            for row in codes.tolist()
        ]

    def transform_feature(self, number: int, values: FloatArray) -> FloatArray:
        """Turn values of what one of the numbers scales into that input."""
        if not self.step:
            return values
        scaled = self.numbers[number]
        return put_on_grid(values, scaled.shift, scaled.factor, self.step)
