"""Compiled search of thresholds by counting, where sums are whole numbers.

Inputs that are one of two values make sums of whole weights small whole numbers. With the gains
added up by sum, apart for either value of one input, the sums after any change of its weight are
the same numbers moved by so much for one value and by so much for the other: one pass over the
samples tells the best threshold of every value of the weight, and nothing is sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import IntArray, Levels, Lines
from bdnn.search.kernels.bits import are_whole
from bdnn.search.kernels.intervals import widest_best
from bdnn.search.kernels.line import NO_WIDTH

# More different sums than this are sorted.
_MOST = 1 << 15


class Counts(NamedTuple):
    """Gains and numbers of samples by their sums; without lines where sums are not counted.

    A sum has the line ``middle`` places after it.
    """

    # (sums, 4): gains and numbers of samples, for either value of one input.
    parted: FloatArray
    # (4, sums): gains and numbers after a change of its weight, then the sums that occur and what
    # is lost beyond them.
    moved: FloatArray
    order: IntArray
    middle: int
    ends: IntArray  # array of the smallest and the largest sum that there may be
    end: int  # which no sum is ever beyond


@part
def counts_for(
    v: Levels | None,
    H: Lines,
    sums: FloatArray,
    # Of all lines.
    w: FloatArray,
    low: FloatArray,
    high: FloatArray,
    values: FloatArray,  # that weights may take, none where nothing is to be counted
) -> Counts:
    """Make room for the sums of a unit, none where they are not small whole numbers."""
    is_whole = H.low == np.floor(H.low) and H.high == np.floor(H.high) and are_whole(values)
    is_whole = is_whole and are_whole(w) and are_whole(low) and are_whole(high)
    largest = 0.0
    for part_of in (w, values):
        for j in range(len(part_of)):
            largest = max(largest, abs(part_of[j]))
    largest *= max(abs(H.low), abs(H.high))
    size, middle, end = 0, 0, 0
    ends = np.zeros(2, dtype=np.int64)
    is_counted = v is None and H.codes.shape[1] > 0 and len(values) > 0
    if is_counted and is_whole and len(w) * largest < _MOST:
        end = int(len(w) * largest)
        middle = end + int(2.0 * largest)  # lines without samples are moved as well
        size = 2 * middle + 1
        ends[0], ends[1] = end, -end
        for i in range(len(sums)):
            ends[0], ends[1] = min(ends[0], int(sums[i])), max(ends[1], int(sums[i]))
    parted, moved = np.empty((size, 4)), np.empty((4, size))
    return Counts(parted, moved, np.arange(size), middle, ends, end)


@part
def widen(c: Counts, factor: float, H: Lines) -> None:
    """Follow a multiple of a line that was added to the sums."""
    one, two = int(factor * H.low), int(factor * H.high)
    c.ends[0] = max(-c.end, c.ends[0] + min(one, two))
    c.ends[1] = min(c.end, c.ends[1] + max(one, two))


@part
def tally(c: Counts, H: Lines, j: int, sums: FloatArray, gains: FloatArray) -> None:
    """Add up gains by sum and by the value of input ``j``."""
    first, last = c.ends[0] + c.middle, c.ends[1] + c.middle
    for r in range(first, last + 1):
        for q in range(4):
            c.parted[r, q] = 0.0
    for i in range(len(sums)):
        r, q = int(sums[i]) + c.middle, H.codes[j, i]
        c.parted[r, q] += gains[i]
        c.parted[r, q + 2] += 1.0
    while c.parted[first, 2] + c.parted[first, 3] == 0.0:
        first += 1
    while c.parted[last, 2] + c.parted[last, 3] == 0.0:
        last -= 1
    c.ends[0], c.ends[1] = first - c.middle, last - c.middle


@part
def counted_threshold(
    c: Counts, H: Lines, change: float, total: float
) -> tuple[float, float, float]:
    """Find the best threshold after a change of the weight whose input was tallied.

    ``total`` is the sum of all gains. Returns threshold, merit and width of the gap.
    """
    gains, numbers, breaks, jumps = c.moved[0], c.moved[1], c.moved[2], c.moved[3]
    one, two = int(change * H.low), int(change * H.high)
    first, last = c.ends[0] + c.middle, c.ends[1] + c.middle
    for r in range(first + min(one, two), last + max(one, two) + 1):
        gains[r] = numbers[r] = 0.0
    for r in range(first, last + 1):
        gains[r + one] += c.parted[r, 0]
        gains[r + two] += c.parted[r, 1]
        numbers[r + one] += c.parted[r, 2]
        numbers[r + two] += c.parted[r, 3]
    n = 0
    for r in range(first + min(one, two), last + max(one, two) + 1):
        if numbers[r] > 0.0:
            breaks[n], jumps[n] = r - c.middle, -gains[r]
            n += 1
    return widest_best(c.order, breaks, jumps, n, total, -np.inf, np.inf, NO_WIDTH)
