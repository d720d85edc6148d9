"""What an exported function takes: the type of its inputs, and the numbers they stand for.

An input of an integer type is a count ``k`` that stands for the number ``k / per_unit``, so that a
sensor's own counts need no floating point; ``scaled`` takes inputs that were already put on the
scaler's grid, as multiples of its step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.limits import LARGEST_INPUT
from bdnn.network.activation import FloatArray

INTEGER_TYPES = {
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
}
REAL_TYPES = ("double", "float")
KINDS = ("auto", *INTEGER_TYPES, *REAL_TYPES, "scaled")

# Every value of an integer input is tried; beyond this many a feature takes too long.
_MOST_VALUES = 2**22
_LARGEST_PER_UNIT = 10**9

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class InputFormat:
    """Type, unit and range of the inputs.

    Parameters
    ----------
    kind : str
        One of ``KINDS`` except ``auto``.
    per_unit : tuple of int
        Counts per unit of every feature, 1 for real inputs.
    ranges : tuple of (int, int)
        Least and largest count of every feature; empty for real inputs.
    missing : int or None
        The count that stands for a missing value, where there may be some; NaN does in reals.
    """

    kind: str
    per_unit: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...] = ()
    missing: int | None = None

    @property
    def is_integer(self) -> bool:
        """Whether inputs are counts."""
        return self.kind not in REAL_TYPES

    @property
    def may_be_missing(self) -> bool:
        """Whether an input can say that there is no value."""
        return self.missing is not None or not self.is_integer

    @property
    def largest(self) -> float:
        """Largest number of a real type that Python takes."""
        return min(LARGEST_INPUT, float(self.reals.max))

    @property
    def reals(self) -> np.finfo[Any]:
        """Limits of a real type."""
        return np.finfo(np.float64 if self.kind == "double" else np.float32)

    @property
    def c_type(self) -> str:
        """Type of an input in C."""
        if not self.is_integer:
            return self.kind
        return "int16_t" if self.kind == "scaled" else f"{self.kind}_t"

    def counts(self, feature: int) -> Integers:
        """Every count of a feature."""
        low, high = self.ranges[feature]
        return np.arange(low, high + 1, dtype=np.int64)

    def values(self, feature: int, counts: FloatArray | Integers, scaler: Encoder) -> FloatArray:
        """What the network is given for counts of a feature, computed as the estimator does."""
        if self.kind == "scaled":
            return np.asarray(counts * (scaler.step or 1.0), dtype=float)
        return scaler.transform_feature(feature, counts / self.per_unit[feature])

    def rows(self, X: FloatArray) -> FloatArray:
        """Turn inputs of the C function, one sample per line, into what the scaler takes."""
        rows = np.asarray(X / np.array(self.per_unit, dtype=float))
        return rows if self.missing is None else np.where(self.missing == X, np.nan, rows)

    def scaled(self, X: FloatArray, scaler: Encoder) -> FloatArray:
        """Turn inputs of the C function into inputs of the network."""
        if self.kind == "scaled":
            return np.asarray(X * (scaler.step or 1.0), dtype=float)
        return scaler.transform(self.rows(X))


def choose_format(
    scaler: Encoder,
    data: Mapping[str, Any],
    *,
    kind: str = "auto",
    per_unit: int | str | None = None,
    limits: tuple[int, int] | str | None = None,
) -> InputFormat:
    """Find the format of the inputs.

    Parameters
    ----------
    scaler : Encoder
    data : mapping
        What the model file's certificate says of the training data; may be empty.
    kind : str
        With ``auto`` the smallest integer type that holds the training data if all of them are
        whole counts, else double.
    per_unit : int or "data", optional
        Counts per unit; those found in the training data with ``data``, 1 if not given.
    limits : pair of int or "data", optional
        Least and largest count; those of the training data with ``data``, those of the type if
        not given.
    """
    n_features = len(scaler.shift)
    if kind not in KINDS:
        raise ModelError(f"input must be one of {', '.join(KINDS)}, got {kind!r}: choose one.")
    units = _units(data, n_features, per_unit)
    seen = _seen_counts(data, units)
    if kind == "auto":
        kind = "double" if seen is None else _smallest_type(seen)
    if kind in REAL_TYPES:
        if per_unit is not None or limits is not None:
            raise ModelError(
                f"per_unit and range are for inputs that are counts, got {kind} inputs: leave them "
                "out or choose an integer type."
            )
        return InputFormat(kind, (1,) * n_features)
    if units is None:
        raise ModelError(
            "the training data are no whole counts of a common unit: give per_unit as a number, or "
            "choose double inputs."
        )
    low, high = INTEGER_TYPES["int16" if kind == "scaled" else kind]
    ranges = ((low, high),) * n_features
    if limits == "data":
        if seen is None:
            raise ModelError("the model file does not tell the range of its data: give LOW:HIGH.")
        ranges = seen
    elif limits is not None and not isinstance(limits, str):
        ranges = (limits,) * n_features
    for first, last in ranges:
        if not low <= first <= last <= high:
            raise ModelError(
                f"the range of {kind} inputs must lie in {low}:{high}, got {first}:{last}: give "
                "another range or type."
            )
        if last - first >= _MOST_VALUES:
            raise UnsupportedFeatureError(
                f"every value of an input is tried and {last - first + 1} are too many: give a "
                f"range of at most {_MOST_VALUES} values, or double inputs."
            )
    return InputFormat(kind, (1,) * n_features if kind == "scaled" else units, ranges)


def _units(
    data: Mapping[str, Any], n_features: int, per_unit: int | str | None
) -> tuple[int, ...] | None:
    if per_unit is None:
        return (1,) * n_features
    if per_unit == "data":
        found = data.get("per_unit")
        return tuple(found) if found and None not in found else None
    if not isinstance(per_unit, int) or not 1 <= per_unit <= _LARGEST_PER_UNIT:
        raise ModelError(
            f"per_unit must be 'data' or from 1 to {_LARGEST_PER_UNIT}, got {per_unit!r}: give "
            "for example 10 for tenths."
        )
    return (per_unit,) * n_features


def _seen_counts(
    data: Mapping[str, Any], units: tuple[int, ...] | None
) -> tuple[tuple[int, int], ...] | None:
    """Ranges of the training data in counts, None if they are no counts of these units."""
    found = data.get("per_unit")
    if units is None or not found or len(found) != len(units):
        return None
    if any(fine is None or unit % fine for fine, unit in zip(found, units, strict=True)):
        return None
    return tuple(
        (round(low * unit), round(high * unit))
        for low, high, unit in zip(data["low"], data["high"], units, strict=True)
    )


def _smallest_type(ranges: tuple[tuple[int, int], ...]) -> str:
    low = min(first for first, _ in ranges)
    high = max(last for _, last in ranges)
    fitting = (
        name
        for name, (least, most) in INTEGER_TYPES.items()
        if least <= low and high <= most and most - least < _MOST_VALUES
    )
    return next(fitting, "double")
