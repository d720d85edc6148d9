"""What stands in for missing values, and bits, learned from training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bdnn.encoding.columns import Bit, Column, Missing
from bdnn.encoding.cuts import find_cuts
from bdnn.encoding.inputs import Inputs
from bdnn.encoding.table import list_rows
from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray

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
    return float(np.median(codes[:: 1 + len(codes) // _ENOUGH_ROWS]))


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
