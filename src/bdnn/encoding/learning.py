"""What stands in for missing values, and bits with few cuts ``x >= c``, learned from training rows.

A cut lies in a gap between neighbouring values of the training rows. All places of a gap tell these
rows apart alike, so that a short decimal in its middle is taken: it is readable, and no reader of
decimals sees a value on its other side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bdnn.encoding.columns import Bit, Column, Missing
from bdnn.encoding.inputs import Inputs
from bdnn.encoding.table import list_rows
from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray

# Powers of ten that doubles hold, as far as cuts of ordinary columns need them.
_MOST_DIGITS = 15
# Of the range of a column.
_SAME = 1e-9


def find_cuts(
    values: FloatArray,  # training rows without missing values
    # Every gap has a cut if there are no more gaps than this; otherwise those have one that are
    # next to as many quantiles.
    most: int,
    weight: FloatArray | None = None,  # of every row
    wanted: FloatArray | None = None,  # further cuts, each moved within its gap
    # How far every value may move. Gaps are then those between all ends x - r and x + r, since
    # which rows are certainly on one side of a cut changes there.
    reach: FloatArray | None = None,
) -> FloatArray:
    """Choose cuts of a column.

    Returns ascending.
    """
    is_moved = reach is not None and bool(reach.any()) and len(values) > 0
    if reach is not None and is_moved:
        ends = np.concatenate((values - reach, values + reach))
        values = np.clip(ends, values.min(), values.max())
        weight = None if weight is None else np.tile(weight, 2)
    distinct, places = np.unique(values, return_inverse=True)
    if is_moved:  # ends that rounding alone keeps apart are one
        is_new = np.append(True, np.diff(distinct) > _SAME * (distinct[-1] - distinct[0]))
        distinct, places = distinct[is_new], np.cumsum(is_new)[places] - 1
    n_gaps = len(distinct) - 1
    if n_gaps < 1:
        return np.empty(0)
    chosen = np.arange(n_gaps)
    if n_gaps > most:
        share = np.cumsum(np.bincount(places, weight))[:-1]
        total = float(len(values) if weight is None else weight.sum())
        quantiles = np.arange(1, most + 1) / (most + 1) * total
        after = np.clip(np.searchsorted(share, quantiles), 1, n_gaps - 1)
        is_before = quantiles - share[after - 1] < share[after] - quantiles
        chosen = np.unique(np.where(is_before, after - 1, after))
    if wanted is not None and len(wanted):
        asked = np.searchsorted(distinct, wanted) - 1
        chosen = np.union1d(chosen, asked[(asked >= 0) & (asked < n_gaps)])
    # The end of a move is no good place for a cut, which would be just reached.
    is_whole = bool((distinct == np.rint(distinct)).all() and np.abs(distinct).max() < 2.0**53)
    is_whole = is_whole and not is_moved
    return place_cuts(distinct[chosen], distinct[chosen + 1], is_whole=is_whole)


def place_cuts(low: FloatArray, high: FloatArray, *, is_whole: bool = False) -> FloatArray:
    """Find readable numbers c with ``low < c <= high``: whole ones, or the shortest decimals."""
    middle = 0.5 * low + 0.5 * high
    if is_whole:
        return np.ceil(middle)
    third = (high - low) / 3.0
    # One digit less than what surely gives a number in the middle third.
    digits = np.ceil(-np.log10(np.maximum(third, np.finfo(float).tiny))) - 1
    cuts = high.copy()
    is_open = np.ones(len(cuts), dtype=bool)
    for more in range(3):
        power = 10.0 ** np.clip(np.abs(digits + more), 0, 300)
        is_fraction = digits + more > 0
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.rint(np.where(is_fraction, middle * power, middle / power))
            tried = np.where(is_fraction, whole / power, whole * power)
        fits = is_open & (np.abs(tried - middle) <= 0.5 * third) & (low < tried) & (tried <= high)
        fits &= np.abs(digits + more) <= _MOST_DIGITS
        cuts[fits] = tried[fits]
        is_open &= ~fits
    return cuts + 0.0


# A median of more rows than this is no better.
_ENOUGH_ROWS = 100_000
# A text has a bit from so many rows on, or from this share of all.
_FEWEST, _LEAST_SHARE = 2, 0.002


def learn_fills(columns: Sequence[Column], codes: FloatArray, inputs: Inputs) -> tuple[Column, ...]:
    """Columns with what a missing value means in them."""
    return tuple(_filled(column, codes[:, j], inputs) for j, column in enumerate(columns))


def _filled(column: Column, codes: FloatArray, inputs: Inputs) -> Column:
    """The column with what a missing value means."""
    gaps = np.isnan(codes)
    missing: Missing = "none"
    if inputs.missing == "error":
        missing = "error"
        if gaps.any():
            raise DataError(
                f"column {column.name!r} has no value in {list_rows(gaps)}: remove these rows, or "
                "train with missing='auto' (--missing auto)."
            )
    elif gaps.any():
        missing = "bit" if inputs.has_bits and inputs.missing == "auto" else "fill"
    present = codes[~gaps] if gaps.any() else codes
    typical = _typical(present, column, inputs.missing)
    fill = column.values[int(typical)] if column.kind == "category" and column.values else typical
    return replace(column, fill=fill, missing=missing)


def _typical(codes: FloatArray, column: Column, rule: str) -> float:
    if column.kind == "category":
        known = codes[codes >= 0].astype(int)
        return float(np.argmax(np.bincount(known))) if len(known) else 0.0
    if not len(codes):
        return 0.0
    if column.kind == "boolean" or rule == "most-frequent":
        distinct, counts = np.unique(codes, return_counts=True)
        return float(distinct[np.argmax(counts)])
    if rule == "mean":
        return float(np.mean(codes))
    # As np.median, whose own checks take several times as long for few rows.
    some = codes[:: 1 + len(codes) // _ENOUGH_ROWS]
    middle = [(len(some) - 1) // 2, len(some) // 2]
    return float(np.partition(some, middle)[middle].mean())


def learn_bits(
    columns: tuple[Column, ...],
    codes: FloatArray,
    weight: FloatArray | None,
    inputs: Inputs,
    wanted: Mapping[int, FloatArray],
    reach: FloatArray | None = None,
) -> tuple[Bit, ...]:
    """Bits of all columns, with fewer cuts per column where they would be too many.

    Cuts stand between values, or where values may move by a ``reach`` of the shape of the codes,
    between the ends of their ways.
    """
    most = inputs.cuts
    while True:
        bits = tuple(
            bit
            for j, column in enumerate(columns)
            for bit in _bits_of(
                column,
                j,
                codes[:, j],
                weight,
                most,
                wanted.get(j),
                None if reach is None else reach[:, j],
            )
        )
        if len(bits) <= inputs.max_bits:
            return bits
        if most == 1:
            raise ModelError(
                f"{len(columns)} columns need at least {len(bits)} bits, more than max_bits "
                f"({inputs.max_bits}): allow more, drop columns, or encode them as 'scaled'."
            )
        most //= 2


def _bits_of(
    column: Column,
    j: int,
    codes: FloatArray,
    weight: FloatArray | None,
    most: int,
    wanted: FloatArray | None,
    reach: FloatArray | None,
) -> list[Bit]:
    gaps = np.isnan(codes)
    bits = []
    if column.kind == "category":
        counts = np.bincount(codes[codes >= 0].astype(int), minlength=len(column.values))
        enough = max(_FEWEST, _LEAST_SHARE * len(codes))
        bits = [
            Bit(j, "is", value)
            for value, count in zip(column.values, counts.tolist(), strict=True)
            if enough <= count < len(codes)
        ]
    else:
        present = codes if not gaps.any() else codes[~gaps]
        some = weight if weight is None or not gaps.any() else weight[~gaps]
        far = None if reach is None or column.kind == "boolean" else reach[~gaps]
        cuts = find_cuts(present, most, some, wanted, far)
        bits = [Bit(j, "ge", cut) for cut in cuts.tolist()]
    if column.missing == "bit":
        bits.append(Bit(j, "missing"))
    return bits
