"""Improvement of one hidden unit that takes several values; `unit` has the same for a step.

A unit of L thresholds is L steps of the same sum, so that its inputs that matter, one copy per
threshold, make an ordinary line search. Given its weights, the best ordered thresholds are found
exactly.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.search.kernels.arrays import PER_UNIT
from bdnn.search.kernels.backend import (
    add_scaled,
    assign,
    combine,
    compiled,
    divide,
    largest_of,
    line_search,
    merit_of_levels,
    ordered_search,
    threshold_search,
)
from bdnn.search.moves.unit import shuffled

_TOLERANCE = 1e-9
# Values of a weight that one move compares.
_MOST_VALUES = 9


@compiled
def _stacked(sums: FloatArray, shifts: FloatArray, count: int) -> FloatArray:
    """One copy of the sums per threshold, minus its shift."""
    p = len(sums)
    copies = np.empty(count * p)
    for level in range(count):
        for i in range(p):
            copies[level * p + i] = sums[i] - shifts[level]
    return copies


@compiled
def best_thresholds(
    sums: FloatArray,
    gains: FloatArray,
    current: FloatArray,
    offsets: FloatArray,
    fixed: bool,
    kind: int,
    found: FloatArray,
) -> float:
    """Write the best thresholds that a unit may have with these sums; return their merit."""
    count = len(gains)
    if kind != PER_UNIT:
        assign(found, current)
    elif fixed:
        shift, merit, _width = threshold_search(
            _stacked(sums, offsets, count), gains.reshape(-1), -np.inf, np.inf
        )
        for level in range(count):
            found[level] = current[level] if merit == -np.inf else shift + offsets[level]
    else:
        return ordered_search(sums, gains, found)
    return merit_of_levels(sums, found, gains)


@compiled
def improve_integer(
    H: FloatArray,
    w: FloatArray,
    thresholds: FloatArray,
    gains: FloatArray,
    frozen: BoolArray,
    values: FloatArray,
    offsets: FloatArray,
    fixed: bool,
    kind: int,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> None:
    """Set one weight after the other to its best value, each with its best thresholds.

    Every few moves another, random weight takes a random value first. Ties are broken at random.
    """
    n, n_values = len(H), len(values)
    sums = combine(H, w, 0.0)
    shifted, found = np.empty(len(sums)), np.empty(len(gains))
    kept = np.empty(len(gains))
    merit = merit_of_levels(sums, thresholds, gains)
    for _ in range(passes):
        before = merit
        for item in shuffled(n + extra, rng):
            j = item if item < n else int(rng.random() * n)
            other, jump = j, 0.0
            if item >= n and n > 1:
                other = (j + 1 + int(rng.random() * (n - 1))) % n
                jump = values[int(rng.random() * n_values)] - w[other]
            if frozen[j] or frozen[other]:
                continue
            add_scaled(sums, jump, H[other])
            best, best_value, ties = -np.inf, w[j], 0.0
            for trial in range(min(n_values, _MOST_VALUES)):
                value = values[trial]
                if n_values > _MOST_VALUES:
                    value = w[j] if trial == 0 else values[int(rng.random() * n_values)]
                assign(shifted, sums)
                add_scaled(shifted, value - w[j], H[j])
                reached = best_thresholds(shifted, gains, thresholds, offsets, fixed, kind, found)
                if reached > best + _TOLERANCE:
                    best, ties = reached, 0.0
                if reached > best - _TOLERANCE:
                    ties += 1.0
                    if rng.random() * ties < 1.0:
                        best_value = value
                        assign(kept, found)
            if best >= merit - _TOLERANCE:
                w[other] += jump
                add_scaled(sums, best_value - w[j], H[j])
                w[j] = best_value
                merit = best
                assign(thresholds, kept)
            else:
                add_scaled(sums, -jump, H[other])
        if merit <= before + _TOLERANCE:
            break


@compiled
def improve_real(
    H: FloatArray,
    w: FloatArray,
    thresholds: FloatArray,
    gains: FloatArray,
    frozen: BoolArray,
    offsets: FloatArray,
    fixed: bool,
    kind: int,
    is_scalable: bool,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> None:
    """Exact line searches over coordinates and random directions, then over the thresholds.

    ``is_scalable`` says that weights and thresholds may be multiplied; else weights stay in
    [-1, 1] at every step.
    """
    n, count = len(H), len(gains)
    sums = combine(H, w, 0.0)
    merit = merit_of_levels(sums, thresholds, gains)
    direction, found, zeros = np.zeros(n), np.empty(count), np.zeros(count)
    for _ in range(passes):
        before = merit
        for j in shuffled(n + extra, rng):
            if j < n and frozen[j]:
                continue
            low, high = -np.inf, np.inf
            for q in range(n):
                direction[q] = 1.0 if q == j else 0.0
                if j >= n and not frozen[q]:
                    direction[q] = 2.0 * rng.random() - 1.0
                if not is_scalable and direction[q] != 0.0:
                    span = 1.0 / abs(direction[q])
                    shift = -w[q] / direction[q]
                    low = max(low, min(0.0, shift - span))
                    high = min(high, max(0.0, shift + span))
            along = H[j] if j < n else combine(H, direction, 0.0)
            step, value, _width = line_search(
                _stacked(sums, thresholds, count),
                _stacked(along, zeros, count),
                gains.reshape(-1),
                0.0,
                low,
                high,
            )
            if value >= merit - _TOLERANCE:
                add_scaled(w, step, direction)
                add_scaled(sums, step, along)
                merit = value
        reached = best_thresholds(sums, gains, thresholds, offsets, fixed, kind, found)
        if reached >= merit - _TOLERANCE:
            merit = reached
            assign(thresholds, found)
        largest = largest_of(w)
        if largest > 1.0 or (largest > 0.0 and is_scalable):
            # Where weights are not scalable this only mends the last bits of one at its limit.
            divide(w, largest)
            divide(sums, largest)
            if is_scalable and kind == PER_UNIT:
                divide(thresholds, largest)
        if merit <= before + _TOLERANCE:
            break
