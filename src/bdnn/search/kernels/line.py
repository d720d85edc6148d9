"""Compiled exact searches of one unit along a line.

A unit is on iff ``a_i >= threshold``. Being on is worth ``g_i`` on input ``i`` (the gain), so that
a unit's merit is ``sum_i g_i [a_i >= threshold]``. Along a direction ``h`` in weight space the
merit

    f(t) = sum_i g_i [a_i + t h_i >= threshold]

is constant between the breakpoints ``(threshold - a_i) / h_i``: sorting them and adding the jumps
from left to right visits every value that ``f`` takes, see :mod:`bdnn.search.kernels.intervals`.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.intervals import best_interval, sorted_order

# An interval that no breakpoint bounds has no natural width; weights are of size one.
_END_WIDTH = 1.0
# The end intervals of a threshold make a constant unit: they must win by merit, not by width.
NO_WIDTH = 1e-9
# No step is longer, whatever the inputs are: with inputs of up to as much, sums stay finite.
_FARTHEST = 1e100
# Relative difference of sums or merits that is rounding, and the distance of one of several
# thresholds from the outermost sum where no sum is beyond it.
_SMALL_GAP, _CLEARANCE = 1e-9, 0.5


@part
def line_search(
    # (n_inputs,): ``a_i``, ``h_i`` and ``g_i``.
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    # Smallest and largest allowed step, perhaps infinite.
    low: float,
    high: float,
) -> tuple[float, float, float]:
    """Find the step along a direction with the largest merit; return step, merit and width.

    Returns the middle of the widest of the best intervals, the merit there, and the interval's
    width. The merit is ``-inf`` where no interval is wide enough to be safe from rounding.
    """
    m = len(sums)
    breaks = np.empty(m)
    jumps = np.empty(m)
    base = 0.0
    n = 0
    for i in range(m):
        h = direction[i]
        if h == 0.0:
            if sums[i] >= threshold:
                base += gains[i]
            continue
        jump = gains[i]
        if h < 0.0:
            jump = -jump
            base += gains[i]
        step = (threshold - sums[i]) / h
        if step < -_FARTHEST:
            base += jump
        elif step <= _FARTHEST:
            breaks[n] = step
            jumps[n] = jump
            n += 1
    return best_interval(breaks, jumps, n, base, low, high, _END_WIDTH)


@part
def threshold_search(
    sums: FloatArray, gains: FloatArray, low: float, high: float
) -> tuple[float, float, float]:
    """Find the threshold with the largest merit; return threshold, merit and width of the gap."""
    n = len(sums)
    jumps = np.empty(n)
    total = 0.0
    for i in range(n):
        jumps[i] = -gains[i]
        total += gains[i]
    return best_interval(sums, jumps, n, total, low, high, NO_WIDTH)


@part
def value_search(
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    weight: float,
    values: FloatArray,
) -> FloatArray:
    """Merit of the unit for every value of one weight, the threshold being fixed.

    Raising the weight switches an input at most once, so bisection over the ascending values finds
    the switch of every input, and adding up gives the merits of all values at once.
    """
    n_values = len(values)
    jumps = np.zeros(n_values + 1)
    for i in range(len(sums)):
        h = direction[i]
        rising = h > 0.0
        # Index of the first value where the input is on (rising) or off (falling).
        first = 0
        last = n_values
        while first < last:
            middle = (first + last) // 2
            if (sums[i] + (values[middle] - weight) * h >= threshold) == rising:
                last = middle
            else:
                first = middle + 1
        if rising:
            jumps[first] += gains[i]
        else:
            jumps[0] += gains[i]
            jumps[first] -= gains[i]
    merits = np.empty(n_values)
    total = 0.0
    for v in range(n_values):
        total += jumps[v]
        merits[v] = total
    return merits


@part
def level_merit(sums: FloatArray, thresholds: FloatArray, gains: FloatArray) -> float:
    """Merit of a unit: the gains of the thresholds that every input reaches."""
    total = 0.0
    for level in range(len(gains)):
        for i in range(len(sums)):
            if sums[i] >= thresholds[level]:
                total += gains[level, i]
    return total


@part
def ordered_search(sums: FloatArray, gains: FloatArray, thresholds: FloatArray) -> float:
    """Write the ordered thresholds with the largest merit, and return it.

    Between sorted sums there are n + 1 places; with the first l thresholds at or below place q the
    best merit is ``F_l(q) = max_{p <= q} F_{l-1}(p) + (gains of threshold l from place p on)``.
    Of equally good places the widest gap wins, ends of the line last.
    """
    count, n = gains.shape
    order = sorted_order(sums, n)
    best = np.zeros(n + 1)
    places = np.zeros((count, n + 1), dtype=np.int64)
    for level in range(count):
        total = 0.0
        for i in range(n):
            total += gains[level, i]
        top, width, place = -np.inf, 0.0, 0
        for q in range(n + 1):
            gap = 0.0
            if 0 < q < n:
                gap = sums[order[q]] - sums[order[q - 1]]
            if q == 0 or q == n or gap > _SMALL_GAP * (1.0 + abs(sums[order[q]])):
                value = best[q] + total
                if value > top + _SMALL_GAP or (value > top - _SMALL_GAP and gap > width):
                    top, width, place = max(top, value), gap, q
            if q < n:
                total -= gains[level, order[q]]
            best[q] = top
            places[level, q] = place
    q = n
    for back in range(count):
        level = count - 1 - back
        q = places[level, q]
        if n == 0:
            thresholds[level] = 0.0
        elif q == 0:
            thresholds[level] = sums[order[0]] - _CLEARANCE
        elif q == n:
            thresholds[level] = sums[order[n - 1]] + _CLEARANCE
        else:
            thresholds[level] = 0.5 * (sums[order[q - 1]] + sums[order[q]])
    return float(best[n])
