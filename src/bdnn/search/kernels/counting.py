"""Compiled search of thresholds by counting, where sums are whole numbers.

Inputs that are one of two values make sums of whole weights small whole numbers. With the gains
added up by sum, apart for either value of one input, the sums after any change of its weight are
the same numbers moved by so much for one value and by so much for the other: one pass over the
samples tells the best threshold of every value of the weight, and nothing is sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import ByteArray, IntArray, Levels, Lines
from bdnn.search.kernels.bits import are_whole
from bdnn.search.kernels.intervals import TOLERANCE
from bdnn.search.kernels.line import NO_WIDTH
from bdnn.search.kernels.lines import add_line

# Cells that 16 bits tell apart; more different sums are sorted.
_MOST = 1 << 16


class Counts(NamedTuple):
    """Gains of samples by their sums; without cells where sums are not counted.

    A sum has two cells, for samples with either value of one input. The first of them is twice the
    sum, and twice ``middle``.
    """

    places: NDArray[np.uint16]  # (samples,): first cell of every sum
    gains: FloatArray  # of the samples of a cell
    occurs: ByteArray  # whether a cell has any
    middle: int
    ends: IntArray  # array of the smallest and the largest sum that there may be
    end: int  # which no sum is ever beyond
    reach: int  # cells that are looked at this many sums beyond the ends


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
    size, middle, end, reach = 0, 0, 0, 0
    ends = np.zeros(2, dtype=np.int64)
    is_counted = v is None and H.codes.shape[1] > 0 and len(values) > 0
    if is_counted and is_whole and 4.0 * (len(w) + 4) * largest + 2.0 <= _MOST:
        end, reach = int(len(w) * largest), int(4.0 * largest)
        middle = end + reach
        size = 4 * middle + 2
        ends[0], ends[1] = end, -end
    places = np.empty(len(sums) if end > 0 else 0, dtype=np.uint16)
    for i in range(len(places)):
        total = int(sums[i])
        ends[0], ends[1] = min(ends[0], total), max(ends[1], total)
        places[i] = 2 * (total + middle)
    gains, occurs = np.empty(size), np.empty(size, dtype=np.uint8)
    return Counts(places, gains, occurs, middle, ends, end, reach)


@part
def move_sums(c: Counts, sums: FloatArray, factor: float, H: Lines, j: int) -> None:
    """Add a multiple of a line to the sums, to those that are counted or to the others."""
    if c.end == 0 or factor == 0.0:
        add_line(sums, factor, H, j)
        return
    low, high = int(factor * H.low), int(factor * H.high)
    c.ends[0] = max(-c.end, c.ends[0] + min(low, high))
    c.ends[1] = min(c.end, c.ends[1] + max(low, high))
    off, on = np.int64(2 * low), np.int64(2 * high)
    for i in range(len(c.places)):
        c.places[i] += on if H.codes[j, i] else off


@part
def tally(c: Counts, H: Lines, j: int, gains: FloatArray) -> None:
    """Add up gains by sum and by the value of input ``j``."""
    first, last = c.ends[0] + c.middle, c.ends[1] + c.middle
    for cell in range(2 * (first - c.reach), 2 * (last + c.reach + 1)):
        c.gains[cell] = 0.0
        c.occurs[cell] = 0
    codes = H.codes[j]
    for i in range(len(c.places)):
        cell = c.places[i] + codes[i]
        c.gains[cell] += gains[i]
        c.occurs[cell] = 1
    while c.occurs[2 * first] + c.occurs[2 * first + 1] == 0:
        first += 1
    while c.occurs[2 * last] + c.occurs[2 * last + 1] == 0:
        last -= 1
    c.ends[0], c.ends[1] = first - c.middle, last - c.middle


@part
def counted_threshold(
    c: Counts, H: Lines, change: float, total: float
) -> tuple[float, float, float]:
    """Find the best threshold after a change of the weight whose input was tallied.

    ``total`` is the sum of all gains. Returns threshold, merit and width of the gap, as sorting
    does.
    """
    low, high = int(change * H.low), int(change * H.high)
    first, last = c.ends[0] + min(low, high), c.ends[1] + max(low, high)
    # Where no sum is below.
    one, two = 2 * (first - low + c.middle), 2 * (first - high + c.middle) + 1
    while c.occurs[one] + c.occurs[two] == 0:
        first, one, two = first + 1, one + 2, two + 2
    left, best = float(first), total
    best_left, best_right = left - NO_WIDTH, left
    width, value = best_right - best_left, total - (c.gains[one] + c.gains[two])
    for r in range(first + 1, last + 1):
        one, two = one + 2, two + 2
        if c.occurs[one] + c.occurs[two] == 0:
            continue
        right = float(r)
        if value > best + TOLERANCE or (value > best - TOLERANCE and right - left > width):
            best, best_left, best_right, width = value, left, right, right - left
        value -= c.gains[one] + c.gains[two]
        left = right
    right = left + NO_WIDTH  # and where none is above
    if value > best + TOLERANCE or (value > best - TOLERANCE and right - left > width):
        best, best_left, best_right, width = value, left, right, right - left
    return 0.5 * (best_left + best_right), best, width


@part
def counted_merits(
    c: Counts,
    H: Lines,
    j: int,
    gains: FloatArray,
    total: float,  # of the gains
    weight: float,
    # That the weight may take; the present one only if the sums have moved.
    values: FloatArray,
    is_moved: bool,
    merits: FloatArray,
    thresholds: FloatArray,
) -> None:
    """Write the merit of every value of weight ``j`` with its best threshold, and that one."""
    tally(c, H, j, gains)
    for place in range(len(values)):
        change = values[place] - weight
        if is_moved or change != 0.0:
            thresholds[place], merits[place], _width = counted_threshold(c, H, change, total)
