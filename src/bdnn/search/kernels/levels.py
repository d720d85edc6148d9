"""Compiled forward pass and threshold search of units of several values.

``levels_reference`` says the same in plain numpy. A unit that reaches l of its thresholds is at
level l. With the cost C_l of the network when the unit is at level l, reaching threshold l gains
``g_l = C_{l-1} - C_l`` on an input, so that a unit's merit is ``sum_l sum_i g_li [a_i >= t_l]``:
that of one step per threshold, whose thresholds have to be in order.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.search.kernels.arrays import Arrays, Levels
from bdnn.search.kernels.compiled import compiled
from bdnn.search.kernels.forward import first_shift, output_costs
from bdnn.search.kernels.sorting import sorted_order

_TOLERANCE = 1e-9
# Distance of a threshold from the outermost sum where a unit is constant.
_CLEARANCE = 0.5


@compiled
def _value(v: Levels, k: int, unit: int, total: float) -> float:
    level = 0
    while level < v.counts[k] and total >= v.thresholds[unit, level]:
        level += 1
    value: float = v.sets[k, level]
    return value


@compiled
def _sum_unit(s: Arrays, v: Levels, k: int, unit: int) -> None:
    """Form the sums of a unit of layer ``k`` anew, in feature order."""
    m, n = s.sums.shape[1], s.widths[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    for i in range(m):
        s.sums[unit, i] = 0.0
    for j in range(n):
        w = s.weights[at + j]
        if w == 0.0:
            continue
        for i in range(m):
            if k == 0:
                s.sums[unit, i] += s.inputs[j, i] * w
            else:
                s.sums[unit, i] += v.values[s.unit_at[k - 1] + j, i] * w


@compiled
def refresh_levels(s: Arrays, v: Levels, first: int) -> None:
    """Compute sums, values and costs anew from layer ``first`` upwards."""
    m, top = s.sums.shape[1], len(s.widths) - 2
    for k in range(first, top + 1):
        for unit in range(s.unit_at[k], s.unit_at[k + 1]):
            _sum_unit(s, v, k, unit)
            for i in range(m):
                if k < top:
                    v.values[unit, i] = _value(v, k, unit, s.sums[unit, i])
                else:
                    s.on[unit, i] = s.sums[unit, i] >= s.thresholds[unit]
    output_costs(s, np.zeros((s.widths[top + 1], m)), s.cost)


@compiled
def _next_shift(s: Arrays, v: Levels, k: int, shift: FloatArray) -> FloatArray:
    """Shift of the sums of layer ``k + 1`` when the sums of layer ``k`` are shifted."""
    units, m = shift.shape
    following = s.widths[k + 2]
    result = np.zeros((following, m))
    for u in range(units):
        r = s.unit_at[k] + u
        for i in range(m):
            if shift[u, i] != 0.0:
                change = _value(v, k, r, s.sums[r, i] + shift[u, i]) - v.values[r, i]
                if change != 0.0:
                    for q in range(following):
                        w = s.weights[s.weight_at[k + 1] + q * units + u]
                        result[q, i] += change * w
    return result


@compiled
def level_costs(s: Arrays, v: Levels, k: int, unit: int) -> FloatArray:
    """Cost of every input with a unit of hidden layer ``k`` at each of its levels."""
    m, top = s.sums.shape[1], len(s.widths) - 2
    costs = np.empty((v.counts[k] + 1, m))
    change = np.empty(m)
    for level in range(v.counts[k] + 1):
        for i in range(m):
            change[i] = v.sets[k, level] - v.values[unit, i]
        shift = first_shift(s, k, unit, change)
        for upper in range(k + 1, top):
            shift = _next_shift(s, v, upper, shift)
        output_costs(s, shift, costs[level])
    return costs


@compiled
def commit_levels(s: Arrays, v: Levels, k: int, unit: int) -> float:
    """Follow a change of a hidden unit through the layers; return the cost."""
    m, top = s.sums.shape[1], len(s.widths) - 2
    _sum_unit(s, v, k, unit)
    change = np.empty(m)
    for i in range(m):
        value = _value(v, k, unit, s.sums[unit, i])
        change[i] = value - v.values[unit, i]
        v.values[unit, i] = value
    shift = first_shift(s, k, unit, change)
    for upper in range(k + 1, top + 1):
        following = shift
        if upper < top:
            following = _next_shift(s, v, upper, shift)
        for u in range(len(shift)):
            r = s.unit_at[upper] + u
            for i in range(m):
                if shift[u, i] != 0.0:
                    s.sums[r, i] += shift[u, i]
                    if upper < top:
                        v.values[r, i] = _value(v, upper, r, s.sums[r, i])
                    else:
                        s.on[r, i] = s.sums[r, i] >= s.thresholds[r]
        shift = following
    output_costs(s, np.zeros((s.widths[top + 1], m)), s.cost)
    total = 0.0
    for i in range(m):
        total += s.cost[i]
    return total


@compiled
def gather_levels(s: Arrays, v: Levels, k: int, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Collect inputs of layer ``k`` and gains of every threshold, where a level makes a difference.

    Returns
    -------
    H : array of shape (weights, chosen inputs)
    gains : array of shape (thresholds, chosen inputs)
    """
    levels, m = costs.shape
    active = np.empty(m, dtype=np.int64)
    p = 0
    for i in range(m):
        for level in range(1, levels):
            if costs[level, i] != costs[0, i]:
                active[p] = i
                p += 1
                break
    n = s.widths[k]
    H, gains = np.empty((n, p)), np.empty((levels - 1, p))
    for q in range(p):
        for level in range(1, levels):
            gains[level - 1, q] = costs[level - 1, active[q]] - costs[level, active[q]]
    for j in range(n):
        for q in range(p):
            if k == 0:
                H[j, q] = s.inputs[j, active[q]]
            else:
                H[j, q] = v.values[s.unit_at[k - 1] + j, active[q]]
    return H, gains


@compiled
def merit_of_levels(sums: FloatArray, thresholds: FloatArray, gains: FloatArray) -> float:
    """Merit of a unit: the gains of the thresholds that every input reaches."""
    total = 0.0
    for level in range(len(gains)):
        for i in range(len(sums)):
            if sums[i] >= thresholds[level]:
                total += gains[level, i]
    return total


@compiled
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
            if q == 0 or q == n or gap > _TOLERANCE * (1.0 + abs(sums[order[q]])):
                value = best[q] + total
                if value > top + _TOLERANCE or (value > top - _TOLERANCE and gap > width):
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
