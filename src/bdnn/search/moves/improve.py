"""Improvement of one unit, given what reaching its thresholds is worth on the inputs that matter.

The unit's inputs come as ``H``, one line per weight, and the gains with one line per threshold;
both have one column per input on which the unit matters. Weights stay between ``low`` and ``high``,
and at most ``room`` of them differ from 0: where all are taken, one comes in when another goes out.
A unit of L thresholds is L steps of the same sum, so that its inputs, one copy per threshold, make
an ordinary line search; given its weights, the best ordered thresholds are found exactly.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import PER_UNIT, IntArray, Levels, Lines
from bdnn.search.kernels.counting import (
    counted_merits,
    counted_threshold,
    counts_for,
    move_sums,
    tally,
)
from bdnn.search.kernels.line import level_merit, line_search, value_search
from bdnn.search.kernels.lines import add_line, combine, line_of
from bdnn.search.moves.unit import (
    add_scaled,
    assign,
    best_thresholds,
    divide,
    largest_of,
    move_by,
    nonzeros,
    put,
    shift_by,
    stacked,
    total_of,
)

_TOLERANCE = 1e-9
# Up to this many values of a weight are each tried with their own best thresholds.
_JOINT_VALUES = 9


@part
def shuffled(n: int, rng: np.random.Generator) -> IntArray:
    """Random order of the first ``n`` integers."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        item = order[i]
        order[i] = order[j]
        order[j] = item
    return order


@part
def improve_lines(
    v: Levels | None,
    k: int,
    kind: int,
    H: Lines,
    w: FloatArray,
    thresholds: FloatArray,
    gains: FloatArray,
    low: FloatArray,
    high: FloatArray,
    keeps_zeros: bool,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> None:
    """Improve continuous weights and thresholds in place by exact line searches.

    A pass goes through all coordinates and ``extra`` random directions in random order, then
    through the thresholds; the last pass is the first one without gain. Bounds that are infinite
    say that the scale is free, and the largest weight becomes 1. Where ``keeps_zeros``, weights
    that are 0 stay so.
    """
    n = len(w)
    scalable = False
    for j in range(n):
        scalable = scalable or high[j] - low[j] == np.inf
    sums = combine(H, w, 0.0)
    merit = level_merit(sums, thresholds, gains)
    direction, found = np.zeros(n), np.empty(len(gains))
    for _ in range(passes):
        before = merit
        for j in shuffled(n + extra, rng):
            if j < n and (low[j] == high[j] or (keeps_zeros and w[j] == 0.0)):
                continue
            offset = 0.0
            least, most = -np.inf, np.inf
            for q in range(n):
                direction[q] = 1.0 if q == j else 0.0
                if j >= n and low[q] < high[q] and not (keeps_zeros and w[q] == 0.0):
                    direction[q] = 2.0 * rng.random() - 1.0
                if direction[q] != 0.0:
                    one, two = (low[q] - w[q]) / direction[q], (high[q] - w[q]) / direction[q]
                    least = max(least, min(0.0, one, two))
                    most = min(most, max(0.0, one, two))
            if j >= n and kind == PER_UNIT:
                offset = 2.0 * rng.random() - 1.0
            values = line_of(H, j) if j < n else combine(H, direction, offset)
            if v is None:
                step, value, _width = line_search(
                    sums, values, gains[0], thresholds[0], least, most
                )
            else:
                step, value, _width = line_search(
                    stacked(sums, thresholds),
                    stacked(values, np.zeros(len(gains))),
                    gains.reshape(-1),
                    0.0,
                    least,
                    most,
                )
            if value >= merit - _TOLERANCE:
                add_scaled(w, step, direction)
                if not scalable:
                    # The last bits of a weight at its limit.
                    for q in range(n):
                        w[q] = min(high[q], max(low[q], w[q]))
                add_scaled(sums, step, values)
                # The direction's values are relative to the thresholds, which move along.
                if offset != 0.0:
                    shift_by(sums, step * offset)
                    move_by(v, thresholds, step * offset, 1.0)
                merit = value
        if kind == PER_UNIT:
            value = best_thresholds(v, k, kind, sums, gains, thresholds, found)
            if value >= merit - _TOLERANCE:
                put(v, thresholds, found)
                merit = value
        largest = largest_of(w)
        if scalable and largest > 0.0:
            divide(w, largest)
            divide(sums, largest)
            move_by(v, thresholds, 0.0, largest)
        if merit <= before + _TOLERANCE:
            break


@part
def _merits_of_values(
    v: Levels | None,
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    thresholds: FloatArray,
    weight: float,
    values: FloatArray,
) -> FloatArray:
    """Merit of the unit for every value of one weight, the thresholds being fixed."""
    merits = value_search(sums, direction, gains[0], thresholds[0], weight, values)
    if v is not None:
        for level in range(1, len(gains)):
            more = value_search(sums, direction, gains[level], thresholds[level], weight, values)
            add_scaled(merits, 1.0, more)
    return merits


@part
def _merit_after(
    v: Levels | None,
    k: int,
    kind: int,
    H: Lines,
    j: int,
    change: float,  # of weight ``j``
    sums: FloatArray,
    shifted: FloatArray,  # to be written over
    gains: FloatArray,
    thresholds: FloatArray,
    found: FloatArray,
) -> float:
    """Write the best thresholds after a change of a weight; return their merit."""
    assign(shifted, sums)
    add_line(shifted, change, H, j)
    return best_thresholds(v, k, kind, shifted, gains, thresholds, found)


@part
def improve_values(
    v: Levels | None,
    k: int,
    kind: int,
    H: Lines,
    w: FloatArray,
    thresholds: FloatArray,
    sums: FloatArray,  # at the inputs, to be written over
    gains: FloatArray,
    low: FloatArray,
    high: FloatArray,
    room: int,
    values: FloatArray,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> None:
    """Improve weights and thresholds in place, one weight after the other.

    A move sets one weight to its best value, in small sets jointly with the best thresholds of
    every value; in ``extra`` moves per pass another, random weight takes a random value first.
    Ties are broken at random, which is how the search walks along plateaus.
    """
    n, is_limited = len(w), room < len(w)
    shifted = np.empty(len(sums))
    buffer = np.empty((3, len(gains)))
    found, chosen, kept = buffer[0], buffer[1], buffer[2]
    merit = level_merit(sums, thresholds, gains)
    joint = kind == PER_UNIT and len(values) <= _JOINT_VALUES
    merits, found_at = np.empty(len(values)), np.empty(len(values))
    # Best thresholds of the present weights and their merit: what keeping a weight comes to.
    put(v, kept, thresholds)
    kept_merit = merit
    counts = counts_for(v, H, sums, w, low, high, values if joint else values[:0])
    total = total_of(gains[0])
    if counts.end > 0:
        tally(counts, H, 0, gains[0])
        kept[0], kept_merit, _width = counted_threshold(counts, H, 0.0, total)
    elif joint:
        kept_merit = best_thresholds(v, k, kind, sums, gains, thresholds, kept)
    used = nonzeros(w, 0, n)
    for _ in range(passes):
        before = merit
        for item in shuffled(n + extra, rng):
            j = item if item < n else int(rng.random() * n)
            # What is used without this weight, and whether that leaves it nothing but 0.
            rest = used - (1 if w[j] != 0.0 else 0)
            is_full = is_limited and rest >= room
            other, aside = j, w[j]
            if n > 1 and (item >= n or (is_full and w[j] == 0.0)):
                other = (j + 1 + int(rng.random() * (n - 1))) % n
                aside = values[int(rng.random() * len(values))]
                if is_limited and (is_full or rng.random() < 0.5):
                    aside = 0.0
                aside = min(high[other], max(low[other], aside))
                rest += (1 if aside != 0.0 else 0) - (1 if w[other] != 0.0 else 0)
                is_full = is_limited and rest >= room
            if low[j] == high[j] or low[other] == high[other] or (is_limited and rest > room):
                continue
            jump = aside - w[other]
            move_sums(counts, sums, jump, H, other)
            if not joint:
                line = line_of(H, j)
                merits = _merits_of_values(v, sums, line, gains, thresholds, w[j], values)
            elif counts.end > 0:
                counted_merits(
                    counts, H, j, gains[0], total, w[j], values, jump != 0.0, merits, found_at
                )
            best, best_value, ties = -np.inf, w[j], 0.0
            put(v, chosen, thresholds)
            for place in range(len(values)):
                value = values[place]
                if value < low[j] or value > high[j] or (is_full and value != 0.0):
                    continue
                if not joint:
                    reached = merits[place]
                elif jump == 0.0 and value == w[j]:
                    reached = kept_merit
                    put(v, found, kept)
                elif counts.end > 0:
                    reached, found[0] = merits[place], found_at[place]
                else:
                    change = value - w[j]
                    reached = _merit_after(
                        v, k, kind, H, j, change, sums, shifted, gains, thresholds, found
                    )
                if reached > best + _TOLERANCE:
                    best, ties = reached, 0.0
                if reached > best - _TOLERANCE:
                    ties += 1.0
                    if rng.random() * ties < 1.0:
                        best_value = value
                        if joint:
                            put(v, chosen, found)
            if best >= merit - _TOLERANCE:
                w[other] = aside
                move_sums(counts, sums, best_value - w[j], H, j)
                w[j] = best_value
                used = rest + (1 if best_value != 0.0 else 0)
                put(v, thresholds, chosen)
                put(v, kept, chosen)
                merit = kept_merit = best
            else:
                move_sums(counts, sums, -jump, H, other)
        if kind == PER_UNIT and not joint:
            reached = best_thresholds(v, k, kind, sums, gains, thresholds, found)
            if reached >= merit - _TOLERANCE:
                put(v, thresholds, found)
                merit = reached
        if merit <= before + _TOLERANCE:
            break
