"""Compiled access to the inputs of a unit, which are numbers or one of two values."""

from __future__ import annotations

import numpy as np

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import Arrays, IntArray, Levels, Lines
from bdnn.search.kernels.bits import BLOCK, unpack
from bdnn.search.kernels.forward import unit_gains


@part
def input_lines(s: Arrays, v: Levels | None, k: int, chosen: IntArray, first: int, n: int) -> Lines:
    """Collect ``n`` inputs of layer ``k`` from the ``first`` on, at some of the samples."""
    p = len(chosen)
    is_bit = (v is None and k > 0) or (k == 0 and s.bits.shape[1] > 0)
    values, codes = np.empty((n, 0 if is_bit else p)), np.empty((n, p if is_bit else 0), np.uint8)
    low, high = 0.0, 1.0
    if k == 0 and is_bit:
        for start in range(0, p, BLOCK):
            unpack(s.bits, chosen[start : start + BLOCK], first, codes[:, start : start + BLOCK])
    elif k == 0:
        for j in range(n):
            for q in range(p):
                values[j, q] = s.inputs[first + j, chosen[q]]
    elif v is None:
        low, high = s.pair[k - 1, 0], s.pair[k - 1, 1]
        for j in range(n):
            r = s.unit_at[k - 1] + first + j
            for q in range(p):
                codes[j, q] = s.level[r, chosen[q]]
    else:
        for j in range(n):
            r = s.unit_at[k - 1] + first + j
            for q in range(p):
                values[j, q] = v.sets[k - 1, s.level[r, chosen[q]]]
    return Lines(values, codes, low, high)


@part
def unit_task(
    s: Arrays, v: Levels | None, k: int, unit: int
) -> tuple[Lines, FloatArray, FloatArray]:
    """Collect the inputs on which a unit of layer ``k`` matters, what they gain, and its sums."""
    every = unit_gains(s, v, k, unit)
    count, m = every.shape
    active = np.empty(m, dtype=np.int64)
    p = 0
    for i in range(m):
        # Without a branch, which mixed inputs would mispredict.
        matters = every[0, i] != 0.0
        for level in range(1, count):
            matters |= every[level, i] != 0.0
        active[p] = i
        p += matters
    gains, sums = np.empty((count, p)), np.empty(p)
    for q in range(p):
        sums[q] = s.sums[unit, active[q]]
        for level in range(count):
            gains[level, q] = every[level, active[q]]
    return input_lines(s, v, k, active[:p], 0, s.widths[k]), gains, sums


@part
def line_of(H: Lines, j: int) -> FloatArray:
    """One line as numbers."""
    line: FloatArray = H.values[j]
    if H.codes.shape[1] > 0:
        line = np.empty(H.codes.shape[1])
        for i in range(len(line)):
            line[i] = H.high if H.codes[j, i] else H.low
    return line


@part
def add_line(target: FloatArray, factor: float, H: Lines, j: int) -> None:
    """Add a multiple of a line to an array in place."""
    if factor == 0.0:
        return
    if H.codes.shape[1] == 0:
        for i in range(len(target)):
            target[i] += factor * H.values[j, i]
    else:
        low, high = factor * H.low, factor * H.high
        for i in range(len(target)):
            target[i] += high if H.codes[j, i] else low


@part
def combine(H: Lines, w: FloatArray, offset: float) -> FloatArray:
    """Weighted sum of all lines, minus an offset."""
    sums = np.empty(max(H.values.shape[1], H.codes.shape[1]))
    for i in range(len(sums)):
        sums[i] = -offset
    for j in range(len(w)):
        add_line(sums, w[j], H, j)
    return sums
