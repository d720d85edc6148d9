"""Improvement of one unit, given what being on is worth on the inputs that matter.

The unit's inputs come as ``H``, one line per weight and one column per input whose gain is not 0.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.search.kernels.arrays import PER_LAYER, PER_UNIT, IntArray
from bdnn.search.kernels.backend import (
    add_scaled,
    assign,
    combine,
    compiled,
    divide,
    largest_of,
    line_search,
    merit_of,
    shift_by,
    threshold_search,
    value_search,
)

_TOLERANCE = 1e-9
# Up to this many values of a weight are each tried with their own best threshold.
_JOINT_VALUES = 9


@compiled
def shuffled(n: int, rng: np.random.Generator) -> IntArray:
    """Random order of the first ``n`` integers."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        item = order[i]
        order[i] = order[j]
        order[j] = item
    return order


@compiled
def improve_real(
    H: FloatArray,
    w: FloatArray,
    threshold: float,
    gains: FloatArray,
    frozen: BoolArray,
    kind: int,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> float:
    """Improve continuous weights in place by exact line searches; return the threshold.

    A pass goes through all coordinates and ``extra`` random directions in random order, then
    through the threshold; the last pass is the first one without gain.
    """
    n = len(H)
    sums = combine(H, w, 0.0)
    merit = merit_of(sums, threshold, gains)
    direction = np.zeros(n)
    for _ in range(passes):
        before = merit
        for j in shuffled(n + extra, rng):
            if j < n and frozen[j]:
                continue
            offset = 0.0
            low, high = -np.inf, np.inf
            for q in range(n):
                direction[q] = 1.0 if q == j else 0.0
                if j >= n and not frozen[q]:
                    direction[q] = 2.0 * rng.random() - 1.0
                if kind == PER_LAYER and direction[q] != 0.0:
                    # Scale is not free beside a shared threshold: weights must stay in [-1, 1].
                    span = 1.0 / abs(direction[q])
                    shift = -w[q] / direction[q]
                    low = max(low, min(0.0, shift - span))
                    high = min(high, max(0.0, shift + span))
            if j >= n and kind == PER_UNIT:
                offset = 2.0 * rng.random() - 1.0
            values = H[j] if j < n else combine(H, direction, offset)
            step, value, _width = line_search(sums, values, gains, threshold, low, high)
            if value >= merit - _TOLERANCE:
                add_scaled(w, step, direction)
                add_scaled(sums, step, values)
                # The direction's values are relative to the threshold, which moves along.
                if offset != 0.0:
                    shift_by(sums, step * offset)
                    threshold += step * offset
                merit = value
        if kind == PER_UNIT:
            candidate, value, _width = threshold_search(sums, gains, -np.inf, np.inf)
            if value >= merit - _TOLERANCE:
                threshold, merit = candidate, value
        largest = largest_of(w)
        if largest > 1.0 or (largest > 0.0 and kind != PER_LAYER):
            # Beside a shared threshold this only mends the last bits of a weight at its limit.
            divide(w, largest)
            divide(sums, largest)
            if kind != PER_LAYER:
                threshold /= largest
        if merit <= before + _TOLERANCE:
            break
    return threshold


@compiled
def improve_integer(
    H: FloatArray,
    w: FloatArray,
    threshold: float,
    gains: FloatArray,
    frozen: BoolArray,
    values: FloatArray,
    kind: int,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> float:
    """Improve integer weights in place; return the threshold.

    A move sets one weight to its best value, in small sets jointly with the best threshold of
    every value; in ``extra`` moves per pass another, random weight takes a random value first.
    Ties are broken at random, which is how the search walks along plateaus.
    """
    n = len(H)
    n_values = len(values)
    sums = combine(H, w, 0.0)
    shifted = np.empty(len(sums))
    merit = merit_of(sums, threshold, gains)
    joint = kind == PER_UNIT and n_values <= _JOINT_VALUES
    merits = np.empty(n_values)
    # Best threshold of the present weights and its merit: what keeping a weight comes to.
    kept_threshold, kept_merit = threshold, merit
    if joint:
        kept_threshold, kept_merit, _width = threshold_search(sums, gains, -np.inf, np.inf)
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
            if not joint:
                merits = value_search(sums, H[j], gains, threshold, w[j], values)
            best, best_value, best_threshold, ties = -np.inf, w[j], threshold, 0.0
            for v in range(n_values):
                candidate, reached = threshold, merits[v]
                if joint and jump == 0.0 and values[v] == w[j]:
                    candidate, reached = kept_threshold, kept_merit
                elif joint:
                    assign(shifted, sums)
                    add_scaled(shifted, values[v] - w[j], H[j])
                    candidate, reached, _width = threshold_search(shifted, gains, -np.inf, np.inf)
                if reached > best + _TOLERANCE:
                    best, ties = reached, 0.0
                if reached > best - _TOLERANCE:
                    ties += 1.0
                    if rng.random() * ties < 1.0:
                        best_value, best_threshold = values[v], candidate
            if best >= merit - _TOLERANCE:
                w[other] += jump
                add_scaled(sums, best_value - w[j], H[j])
                w[j] = best_value
                threshold, merit = best_threshold, best
                kept_threshold, kept_merit = best_threshold, best
            else:
                add_scaled(sums, -jump, H[other])
        if kind == PER_UNIT and not joint:
            candidate, reached, _width = threshold_search(sums, gains, -np.inf, np.inf)
            if reached >= merit - _TOLERANCE:
                threshold, merit = candidate, reached
        if merit <= before + _TOLERANCE:
            break
    return threshold
