"""The samples of a training problem: distinct inputs, and the exact weight of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import FloatArray
from bdnn.program import IndexArray

# Whole numbers: 64 bits where every sum of them fits, Python's own integers elsewhere.
IntegerArray = NDArray[Any]

_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Samples:
    """Distinct inputs, and the rows that have them.

    Rows with equal inputs get equal outputs from any network, so that they are one *line*. Floats
    are fractions with a power of two below the bar, so that weights are whole multiples of one such
    power and no sum of them is ever rounded.
    """

    inputs: FloatArray  # (n_lines, n_features)
    line: IndexArray  # (n_rows,): line of every row; -1 for rows that count nothing
    weight: IntegerArray  # (n_rows,): in multiples of ``grain``
    # A power of two, in units of ``unit``; 1 where all weights are whole.
    grain: Fraction = Fraction(1)
    # Power of two near the mean weight of a row, 1 for whole weights: losses, bounds and prices of
    # a training run are multiples of it. Solvers have absolute tolerances, so that weights should
    # be of size 1.
    unit: float = 1.0

    @classmethod
    def merge(
        cls, X: FloatArray, weight: FloatArray | None = None, *, apart: bool = False
    ) -> Samples:
        """Put equal rows together, unless they are to stay apart; weightless ones are left out."""
        given = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        rows = np.flatnonzero(given > 0)
        kept = np.ascontiguousarray(X[rows] + 0.0)
        first, group = (np.arange(len(kept)),) * 2 if apart else equal_rows(kept)
        return cls.of_lines(np.ascontiguousarray(kept[first]), given, group)

    @classmethod
    def of_lines(cls, inputs: FloatArray, weight: FloatArray, group: IndexArray) -> Samples:
        """Lines and weights of rows, and the line of every row that counts."""
        rows = np.flatnonzero(weight > 0)
        line = np.full(len(weight), -1, dtype=np.int64)
        line[rows] = group
        counts, grain = whole_multiples(weight)
        unit = Fraction(1)
        if grain.denominator > 1:
            largest = weight.max()  # of which the sum of all may be no float any more
            mean = np.log2((weight[rows] / largest).mean()) + np.log2(largest)
            unit = Fraction(2) ** int(np.round(mean))
        return cls(inputs, line, counts, grain / unit, float(unit))

    @property
    def n_lines(self) -> int:
        """Number of distinct inputs."""
        return len(self.inputs)

    @cached_property
    def rows(self) -> IndexArray:
        """Numbers of the rows that count."""
        return np.flatnonzero(self.line >= 0)

    @cached_property
    def row_weight(self) -> FloatArray:
        """Weights of all rows as floats, in units of ``unit``."""
        return to_floats(self.weight, self.grain)

    def subset(self, lines: IndexArray) -> Samples:
        """Some of the lines, in this order; rows of others count nothing."""
        place = np.full(self.n_lines + 1, -1, dtype=np.int64)
        place[lines] = np.arange(len(lines))
        return replace(self, inputs=self.inputs[lines], line=place[self.line])

    def led_by(self, before: Samples) -> tuple[Samples, IndexArray]:
        """Put the lines of earlier samples first, in their order, and the further ones after.

        Also returns where the lines of these samples have gone.
        """
        inputs = np.concatenate([before.inputs, self.inputs])
        first, group = equal_rows(inputs)
        order = np.argsort(first)  # the earlier lines are distinct and come first
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        moved = place[group[before.n_lines :]]
        line = np.append(moved, -1)[self.line]
        return replace(self, inputs=inputs[first[order]], line=line), moved

    def sum_by(self, keys: IndexArray, values: IntegerArray, size: int) -> IntegerArray:
        """Exact sums of one value per counting row, by key."""
        total = np.zeros(size, dtype=values.dtype)
        np.add.at(total, keys, values[self.rows])
        return total


def whole_multiples(values: FloatArray) -> tuple[IntegerArray, Fraction]:
    """Write floats as whole multiples of the largest power of two that allows it.

    The power is at most 1, so that whole numbers stay what they are.
    """
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = exponent.astype(np.int64) - 53
    used = digits != 0
    zeros = np.frexp((digits[used] & -digits[used]).astype(float))[1] - 1  # trailing ones
    lowest = min(0, int((exponent[used] + zeros).min(initial=0)))
    grain = Fraction(1, 2**-lowest)
    if used.any() and int(exponent[used].max()) + 53 - lowest + len(values).bit_length() < 62:
        return np.ldexp(values, -lowest).astype(np.int64), grain
    places = exponent - lowest
    shifted = [
        int(d) << int(p) if p >= 0 else int(d) >> int(-p)
        for d, p in zip(digits, places, strict=True)
    ]
    whole = np.array([*shifted, None], dtype=object)[:-1]
    fits = sum(map(abs, shifted)) < _LARGEST
    return (whole.astype(np.int64) if fits else whole), grain


def to_floats(whole: IntegerArray, grain: Fraction) -> FloatArray:
    """The nearest floats of whole multiples of a grain."""
    if whole.dtype != object:
        return np.asarray(whole.astype(float) * float(grain))
    flat = [float(value * grain) for value in whole.ravel().tolist()]
    return np.array(flat, dtype=float).reshape(whole.shape)


def fingerprints(X: FloatArray) -> NDArray[np.uint64]:
    """A number per row that equal rows have in common, and others hardly ever."""
    words = np.ascontiguousarray(X).view(np.uint64)
    found = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1]):
        found ^= words[:, j]
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def equal_rows(X: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Find the first of every set of equal rows, and the set of every row.

    Sorting 64-bit fingerprints is many times faster than sorting rows, and gives an order that
    does not depend on the order of the samples; an accidental clash falls back to the rows.
    """
    _, first, group = np.unique(fingerprints(X), return_index=True, return_inverse=True)
    if not (X[first[group]] == X).all():
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
