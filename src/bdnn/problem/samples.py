"""The samples of a training problem: distinct inputs, and the exact weight of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import FloatArray, row_blocks
from bdnn.network.packed import PackedRows
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

    # (n_lines, n_features): packed where all inputs are 0 or 1.
    lines: FloatArray | PackedRows
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
        cls, X: FloatArray | PackedRows, weight: FloatArray | None = None, *, apart: bool = False
    ) -> Samples:
        """Put equal rows together, unless they are to stay apart; weightless ones are left out."""
        given = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        rows = np.flatnonzero(given > 0)
        bits = X if isinstance(X, PackedRows) else PackedRows.of(X)
        kept = bits.take(rows) if bits is not None else np.ascontiguousarray(X[rows] + 0.0)
        first, group = (np.arange(len(kept)),) * 2 if apart else equal_rows(kept)
        return cls.of_lines(_take(kept, first), given, group)

    @classmethod
    def of_lines(
        cls, lines: FloatArray | PackedRows, weight: FloatArray, group: IndexArray
    ) -> Samples:
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
        return cls(lines, line, counts, grain / unit, float(unit))

    @property
    def n_lines(self) -> int:
        """Number of distinct inputs."""
        return len(self.lines)

    @cached_property
    def inputs(self) -> FloatArray:
        """Distinct inputs as numbers, made of bits when they are first asked for."""
        return self.lines[:]

    @cached_property
    def largest(self) -> float:
        """Largest size of an input, at least 1."""
        return 1.0 if isinstance(self.lines, PackedRows) else float(abs(self.lines).max(initial=1))

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
        return replace(self, lines=_take(self.lines, lines), line=place[self.line])

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
        samples = Samples.merge(inputs[first[order]], apart=True)
        return replace(self, lines=samples.lines, line=line), moved

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


def _take(lines: FloatArray | PackedRows, chosen: IndexArray) -> FloatArray | PackedRows:
    """Some of the lines, as they are stored."""
    if isinstance(lines, PackedRows):
        return lines.take(chosen)
    return np.ascontiguousarray(lines[chosen])


def fingerprints(X: FloatArray | PackedRows) -> NDArray[np.uint64]:
    """A number per row that equal rows have in common, and others hardly ever."""
    found = np.zeros(len(X), dtype=np.uint64)
    for rows in row_blocks(X.shape):
        words, marks = np.ascontiguousarray(X[rows]).view(np.uint64), found[rows]
        for j in range(X.shape[1]):
            marks ^= words[:, j]
            marks *= np.uint64(0x9E3779B97F4A7C15)
            marks ^= marks >> np.uint64(29)
    return found


def equal_rows(X: FloatArray | PackedRows) -> tuple[IndexArray, IndexArray]:
    """Find the first of every set of equal rows, and the set of every row.

    Sorting 64-bit fingerprints is many times faster than sorting rows, and gives an order that
    does not depend on the order of the samples; an accidental clash falls back to the rows.
    """
    _, first, group = np.unique(fingerprints(X), return_index=True, return_inverse=True)
    stored = X.packed if isinstance(X, PackedRows) else X
    if not (stored[first[group]] == stored).all():
        _, first, group = np.unique(X[:], axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
