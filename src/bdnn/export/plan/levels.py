"""Features on the way to the first units: levels of the scaler's grid, and cuts of raw inputs.

A level is found by one multiplication and a shift, equal on every count.

The scaler rounds ``(k / per_unit - shift) * factor`` to multiples of its step. As integers these
multiples are the levels of a feature. The smallest shift ``s`` is looked for that has integers
``a`` and ``b`` with ``level = (a * k + b) >> s`` for every count of the range; for a given ``a``
the counts leave an interval for ``b``, so that nothing is left to chance.

Scaling, rounding and multiplying by a weight are monotone, so a unit that looks at one feature is a
comparison of the raw input with one number, found by bisection over all inputs there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.export.boundary import Places, bisected, feature_ends, numbers
from bdnn.export.inputs import InputFormat, Integers
from bdnn.network.activation import BoolArray

_LARGEST_SHIFT = 40
_LARGEST = 2**62
_INT32 = 2**31
_LONGEST_TABLE = 2**10


def most_levels(scaler: Encoder) -> int:
    """Largest level in absolute value of real inputs, which infinities and NaN have too."""
    return round(LARGEST_SCALED / scaler.step)


@dataclass(frozen=True)
class Level:
    """Levels of a feature as a function of its counts, moved so that the lowest one is 0.

    ``(slope * k + intercept) >> shift`` is the moved level, never negative, or a table has those of
    all counts where no product and shift give them. A wide product needs 64 bits.
    """

    slope: int
    intercept: int
    shift: int
    lowest: int
    highest: int
    is_wide: bool
    table: tuple[int, ...] = ()

    @property
    def is_count(self) -> bool:
        """Whether the moved level is the count itself."""
        return (self.slope, self.intercept, self.shift, self.table) == (1, 0, 0, ())


def fit_level(counts: Integers, levels: Integers, slope: float) -> Level | None:
    """Find the level function of ascending counts with the smallest shift, None if there is none.

    Where the scaler meets halves exactly, it rounds them to even, which no shift does; such a
    feature of few counts gets a table. The slope is levels per count, about.
    """
    lowest, highest = int(levels.min()), int(levels.max())
    offset = int(levels[0] - counts[0])
    if (levels - counts == offset).all():
        # Sums take the counts as they are; the difference goes into the thresholds.
        return Level(1, 0, 0, offset, highest, False)
    moved = levels - lowest
    # Within a run of equal levels only the two ends constrain anything.
    ends = np.ones(len(counts), dtype=bool)
    ends[1:-1] = (moved[1:-1] != moved[:-2]) | (moved[1:-1] != moved[2:])
    k, level = counts[ends], moved[ends]
    reach = max(abs(int(k[0])), abs(int(k[-1])), 1)
    for shift in range(_LARGEST_SHIFT + 1):
        unit = 1 << shift
        middle = slope * unit
        if max((highest - lowest + 2) * unit, (abs(middle) + 2) * reach) >= _LARGEST:
            break
        for factor in (round(middle), math.floor(middle), math.ceil(middle)):
            floor = level * unit - factor * k
            least = int(floor.max())
            if least <= int(floor.min()) + unit - 1:
                largest = max((highest - lowest + 1) * unit, abs(factor) * reach, abs(least))
                return Level(factor, least, shift, lowest, highest, largest >= _INT32)
    if len(counts) > _LONGEST_TABLE:
        return None
    return Level(0, 0, 0, lowest, highest, False, tuple(moved.tolist()))


@dataclass(frozen=True)
class Cut:
    """A unit that is on iff a raw input is at least a value, or below it."""

    feature: int
    is_at_least: bool
    value: int | float


def find_cut(
    weights: Integers, threshold: int, scaler: Encoder, inputs: InputFormat, unit: float
) -> Cut:
    """Find the cut of a unit with one weight that is on for some inputs and off for others.

    The threshold is in multiples of ``unit``, what one level is worth.
    """
    feature = int(np.flatnonzero(weights)[0])

    def is_on(places: Places) -> BoolArray:
        values = inputs.values(feature, numbers(places, inputs), scaler)
        return np.asarray(weights[feature] * np.rint(values / unit) >= threshold)

    low, high = (np.array([end]) for end in feature_ends(inputs, feature))
    _, at = bisected(low, high, is_on)
    value = float(numbers(at, inputs)[0])
    return Cut(feature, bool(is_on(high)[0]), int(value) if inputs.is_integer else value)
