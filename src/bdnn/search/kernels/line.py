"""Compiled exact searches of one unit along a line.

A unit is on iff ``a_i >= threshold``. Being on is worth ``g_i`` on input ``i`` (the gain), so that
a unit's merit is ``sum_i g_i [a_i >= threshold]``. Along a direction ``h`` in weight space the
merit

    f(t) = sum_i g_i [a_i + t h_i >= threshold]

is constant between the breakpoints ``(threshold - a_i) / h_i``: sorting them and adding the jumps
from left to right visits every value that ``f`` takes, see :mod:`bdnn.search.kernels.intervals`.
``line_reference`` says the same in plain numpy.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.search.kernels.compiled import compiled
from bdnn.search.kernels.intervals import best_interval

# An interval that no breakpoint bounds has no natural width; weights are of size one.
_END_WIDTH = 1.0
# The end intervals of a threshold make a constant unit: they must win by merit, not by width.
_NO_WIDTH = 1e-9


@compiled
def line_search(
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    low: float,
    high: float,
) -> tuple[float, float, float]:
    """Find the step along a direction with the largest merit; return step, merit and width.

    Parameters
    ----------
    sums, direction, gains : arrays of shape (n_inputs,)
        ``a_i``, ``h_i`` and ``g_i``.
    threshold : float
    low, high : float
        Smallest and largest allowed step, perhaps infinite.

    Returns
    -------
    step, merit, width : float
        The middle of the widest of the best intervals, the merit there, and the interval's width.
        The merit is ``-inf`` where no interval is wide enough to be safe from rounding.
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
        breaks[n] = (threshold - sums[i]) / h
        if h > 0.0:
            jumps[n] = gains[i]
        else:
            jumps[n] = -gains[i]
            base += gains[i]
        n += 1
    return best_interval(breaks, jumps, n, base, low, high, _END_WIDTH)


@compiled
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
    return best_interval(sums, jumps, n, total, low, high, _NO_WIDTH)


@compiled
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


@compiled
def combine(H: FloatArray, w: FloatArray, offset: float) -> FloatArray:
    """Weighted sum of the lines of ``H``, minus an offset."""
    n, m = H.shape
    sums = np.empty(m)
    for i in range(m):
        sums[i] = -offset
    for j in range(n):
        if w[j] != 0.0:
            for i in range(m):
                sums[i] += w[j] * H[j, i]
    return sums


@compiled
def merit_of(sums: FloatArray, threshold: float, gains: FloatArray) -> float:
    """Merit of a unit: the gains of the inputs where it is on."""
    total = 0.0
    for i in range(len(sums)):
        if sums[i] >= threshold:
            total += gains[i]
    return total
