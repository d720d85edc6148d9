"""Moves of units whose weights have bounds of their own and must not be many.

The same half-space problem as in :mod:`bdnn.search.moves.unit`, by coordinate moves that never
leave the bounds and never make more weights than allowed: where all are taken, a weight can only
come in when another one goes out.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.search.kernels.arrays import PER_UNIT, Arrays, IntArray
from bdnn.search.kernels.backend import (
    add_scaled,
    assign,
    combine,
    commit,
    compiled,
    gather,
    line_search,
    merit_of,
    threshold_search,
    total_of,
    unit_gains,
)
from bdnn.search.moves.unit import shuffled

_TOLERANCE = 1e-9
# Sets of up to this many values are tried value by value, larger ones by steps and ends.
_FEW_VALUES = 9


@compiled
def room_of(s: Arrays, k: int, unit: int, most: IntArray, copies: IntArray) -> int:
    """How many weights a unit may have, given those of all others.

    ``most`` holds the limits per unit of every layer, per layer, and of all; ``copies`` how often
    a weight of every layer counts (twice in an output that stands for two).
    """
    layers = len(s.widths) - 1
    n = s.widths[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    room = min(n, most[k])
    total = 0
    for layer in range(layers):
        used = 0
        for j in range(s.weight_at[layer], s.weight_at[layer + 1]):
            if s.weights[j] != 0.0 and not at <= j < at + n:
                used += copies[layer]
        total += used
        if layer == k:
            room = min(room, (most[layers + k] - used) // copies[k])
    return int(max(0, min(room, (most[2 * layers] - total) // copies[k])))


@compiled
def redraw_limited(
    s: Arrays,
    k: int,
    unit: int,
    low: FloatArray,
    high: FloatArray,
    room: int,
    rng: np.random.Generator,
) -> float:
    """Draw a unit anew within its bounds; return the cost."""
    n, m = s.widths[k], s.sums.shape[1]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    values = s.values[s.value_at[k] : s.value_at[k + 1]]
    used = 0
    for j in range(at, at + n):
        if low[j] > 0.0 or high[j] < 0.0:
            used += 1
    for place in shuffled(n, rng):
        j = at + place
        must = low[j] > 0.0 or high[j] < 0.0
        value = low[j] + rng.random() * (high[j] - low[j])
        if len(values) > 0:
            value = values[int(rng.random() * len(values))]
            value = min(high[j], max(low[j], value))
        if not must and (used >= room or (room < n and rng.random() < 0.5 and used > 0)):
            value = 0.0
        used += 1 if value != 0.0 and not must else 0
        s.weights[j] = value
    cost: float = commit(s, k, unit)
    if s.threshold_kind[0] == PER_UNIT:
        one, two = s.sums[unit, int(rng.random() * m)], s.sums[unit, int(rng.random() * m)]
        s.thresholds[unit] = 0.5 * (one + two)
        cost = commit(s, k, unit)
    return cost


@compiled
def _candidates(
    values: FloatArray, weight: float, low: float, high: float, step: float
) -> FloatArray:
    """Values to try for one weight: those of a small set, else steps, ends, zero and the line's."""
    if 0 < len(values) <= _FEW_VALUES:
        return values
    unit = 1.0 if len(values) > 0 else 0.0
    return np.array([weight, weight + step, weight - unit, weight + unit, low, high, 0.0])


@compiled
def improve_limited(
    s: Arrays,
    units: IntArray,
    low: FloatArray,
    high: FloatArray,
    most: IntArray,
    copies: IntArray,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> float:
    """Improve units one after the other within their bounds; return the cost."""
    total: float = total_of(s.cost)
    kind = s.threshold_kind[0]
    for unit in units:
        k = 0
        while unit >= s.unit_at[k + 1]:
            k += 1
        room = room_of(s, k, unit, most, copies)
        H, gains = gather(s, k, unit_gains(s, k, unit))
        if len(gains) == 0:
            total = redraw_limited(s, k, unit, low, high, room, rng)
            continue
        n = s.widths[k]
        at = s.weight_at[k] + (unit - s.unit_at[k]) * n
        w = s.weights[at : at + n]
        old_w, old_threshold = np.empty(n), s.thresholds[unit]
        assign(old_w, w)
        values = s.values[s.value_at[k] : s.value_at[k + 1]]
        s.thresholds[unit] = _improve(
            H,
            w,
            old_threshold,
            gains,
            values,
            low[at : at + n],
            high[at : at + n],
            room,
            kind == PER_UNIT,
            rng,
            passes,
            extra,
        )
        cost = commit(s, k, unit)
        if cost > total + _TOLERANCE * max(1.0, abs(total)):
            assign(w, old_w)
            s.thresholds[unit] = old_threshold
            cost = commit(s, k, unit)
        total = cost
    return total


@compiled
def _improve(
    H: FloatArray,
    w: FloatArray,
    threshold: float,
    gains: FloatArray,
    values: FloatArray,
    low: FloatArray,
    high: FloatArray,
    room: int,
    free: bool,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> float:
    """Improve one unit's weights in place; return the threshold, which moves along if free."""
    n = len(w)
    sums = combine(H, w, 0.0)
    trial = np.empty(len(sums))
    merit = merit_of(sums, threshold, gains)
    has_zero = len(values) == 0
    for value in values:
        has_zero = has_zero or value == 0.0
    for _ in range(passes):
        before = merit
        for item in shuffled(n + extra, rng):
            j = item if item < n else int(rng.random() * n)
            other, jump = j, 0.0
            used = 0
            for q in range(n):
                if w[q] != 0.0 and q != j:
                    used += 1
            is_full = used >= room
            if n > 1 and (item >= n or (is_full and w[j] == 0.0)):
                other = (j + 1 + int(rng.random() * (n - 1))) % n
                value = 0.0
                if not has_zero or (not is_full and len(values) > 0 and rng.random() < 0.5):
                    value = values[int(rng.random() * len(values))]
                value = min(high[other], max(low[other], value))
                jump = value - w[other]
                used += (1 if value != 0.0 else 0) - (1 if w[other] != 0.0 else 0)
                is_full = used >= room
            if used > room:
                continue
            add_scaled(sums, jump, H[other])
            step = 0.0
            if len(values) == 0:
                step = line_search(sums, H[j], gains, threshold, low[j] - w[j], high[j] - w[j])[0]
            best, best_value, best_threshold, ties = -np.inf, w[j], threshold, 0.0
            for value in _candidates(values, w[j], low[j], high[j], step):
                if value < low[j] or value > high[j] or (is_full and value != 0.0):
                    continue
                assign(trial, sums)
                add_scaled(trial, value - w[j], H[j])
                candidate, reached = threshold, merit_of(trial, threshold, gains)
                if free:
                    candidate, reached, _width = threshold_search(trial, gains, -np.inf, np.inf)
                if reached > best + _TOLERANCE:
                    best, ties = reached, 0.0
                if reached > best - _TOLERANCE:
                    ties += 1.0
                    if rng.random() * ties < 1.0:
                        best_value, best_threshold = value, candidate
            if best >= merit - _TOLERANCE:
                w[other] += jump
                if abs(w[other]) < _TOLERANCE:
                    w[other] = 0.0
                add_scaled(sums, best_value - w[j], H[j])
                w[j] = best_value
                threshold, merit = best_threshold, best
            else:
                add_scaled(sums, -jump, H[other])
        if merit <= before + _TOLERANCE:
            break
    return threshold
