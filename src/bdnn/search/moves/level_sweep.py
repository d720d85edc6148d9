"""Moves of networks whose hidden units take several values.

The same as `sweep` and `annealing` have for steps; outputs are steps and have those.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.search.kernels.arrays import NO_THRESHOLD, PER_UNIT, Arrays, IntArray, Levels
from bdnn.search.kernels.backend import (
    add_scaled,
    assign,
    combine,
    commit_levels,
    compiled,
    gather_levels,
    largest_of,
    level_costs,
    merit_of_levels,
    refresh_levels,
    total_of,
)
from bdnn.search.moves.annealing import REACH, accepts, proposal
from bdnn.search.moves.level_unit import best_thresholds, improve_integer, improve_real
from bdnn.search.moves.unit import shuffled

_TOLERANCE = 1e-9


@compiled
def _layer_of(s: Arrays, unit: int) -> int:
    k = 0
    while unit >= s.unit_at[k + 1]:
        k += 1
    return k


@compiled
def improve_levels(
    s: Arrays, v: Levels, units: IntArray, rng: np.random.Generator, passes: int, extra: int
) -> float:
    """Improve hidden units one after the other, never raising the cost; return the cost."""
    total: float = total_of(s.cost)
    kind = s.threshold_kind[0]
    for unit in units:
        k = _layer_of(s, unit)
        H, gains = gather_levels(s, v, k, level_costs(s, v, k, unit))
        if H.shape[1] == 0:
            total = redraw_levels(s, v, k, unit, rng)
            continue
        n, count = s.widths[k], v.counts[k]
        at = s.weight_at[k] + (unit - s.unit_at[k]) * n
        w, frozen = s.weights[at : at + n], s.frozen[at : at + n]
        thresholds, offsets = v.thresholds[unit, :count], v.offsets[k, :count]
        values = s.values[s.value_at[k] : s.value_at[k + 1]]
        old_w, old = np.empty(n), np.empty(count)
        assign(old_w, w)
        assign(old, thresholds)
        if len(values) > 0:
            improve_integer(
                H,
                w,
                thresholds,
                gains,
                frozen,
                values,
                offsets,
                v.fixed[k],
                kind,
                rng,
                passes,
                extra,
            )
        else:
            scalable = kind == PER_UNIT and not v.fixed[k]
            scalable = scalable or (kind == NO_THRESHOLD and largest_of(offsets) == 0.0)
            improve_real(
                H,
                w,
                thresholds,
                gains,
                frozen,
                offsets,
                v.fixed[k],
                kind,
                scalable,
                rng,
                passes,
                extra,
            )
        cost = commit_levels(s, v, k, unit)
        # Sums formed anew may differ in their last bits from those the move went by.
        if cost > total + _TOLERANCE * max(1.0, abs(total)):
            assign(w, old_w)
            assign(thresholds, old)
            cost = commit_levels(s, v, k, unit)
        total = cost
    return total


@compiled
def redraw_levels(s: Arrays, v: Levels, k: int, unit: int, rng: np.random.Generator) -> float:
    """Draw a hidden unit anew, its thresholds between sums of random inputs; return the cost."""
    n, m, count = s.widths[k], s.sums.shape[1], v.counts[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    first, last = s.value_at[k], s.value_at[k + 1]
    for j in range(at, at + n):
        if not s.frozen[j]:
            s.weights[j] = 2.0 * rng.random() - 1.0
            if last > first:
                s.weights[j] = s.values[first + int(rng.random() * (last - first))]
    cost = commit_levels(s, v, k, unit)
    if s.threshold_kind[0] != PER_UNIT:
        return cost
    for level in range(count):
        one, two = s.sums[unit, int(rng.random() * m)], s.sums[unit, int(rng.random() * m)]
        drawn = 0.5 * (one + two)
        if v.fixed[k]:
            drawn += v.offsets[k, level] - v.offsets[k, 0]
            if level > 0:
                drawn = v.thresholds[unit, 0] + v.offsets[k, level] - v.offsets[k, 0]
        # Insert in order.
        place = level
        while place > 0 and v.thresholds[unit, place - 1] > drawn:
            v.thresholds[unit, place] = v.thresholds[unit, place - 1]
            place -= 1
        v.thresholds[unit, place] = drawn
    return commit_levels(s, v, k, unit)


@compiled
def move_shared_levels(
    s: Arrays, v: Levels, k: int, rng: np.random.Generator, trials: int
) -> float:
    """Try other thresholds for hidden layer ``k`` as a whole, never raising the cost."""
    m, count = s.sums.shape[1], v.counts[k]
    first, last = s.unit_at[k], s.unit_at[k + 1]
    # Continuous weights scale with shared thresholds, which lie in [-1, 1]; integers do not.
    is_real = s.value_at[k] == s.value_at[k + 1]
    limit = 1.0 if is_real and not v.fixed[k] else np.inf
    total: float = total_of(s.cost)
    old, new = np.empty(count), np.empty(count)
    for _ in range(trials):
        assign(old, v.thresholds[first, :count])
        assign(new, old)
        level = int(rng.random() * count)
        wanted = s.sums[first + int(rng.random() * (last - first)), int(rng.random() * m)]
        if not is_real:
            wanted -= 0.5 * rng.random()
        if abs(wanted) > limit:
            wanted = limit * (2.0 * rng.random() - 1.0)
        for other in range(count):
            if v.fixed[k]:
                new[other] = wanted + v.offsets[k, other] - v.offsets[k, level]
            elif other == level:
                new[other] = wanted
            elif other < level:
                new[other] = min(old[other], wanted)
            else:
                new[other] = max(old[other], wanted)
        for r in range(first, last):
            assign(v.thresholds[r, :count], new)
        refresh_levels(s, v, k)
        cost = total_of(s.cost)
        if cost > total + _TOLERANCE * max(1.0, abs(total)):
            for r in range(first, last):
                assign(v.thresholds[r, :count], old)
            refresh_levels(s, v, k)
        else:
            total = cost
    return total


@compiled
def anneal_levels(
    s: Arrays, v: Levels, units: IntArray, temperature: float, rng: np.random.Generator
) -> float:
    """Propose a change of every weight and threshold of hidden units; return the cost."""
    total: float = total_of(s.cost)
    is_free = s.threshold_kind[0] == PER_UNIT
    for unit in units:
        k = _layer_of(s, unit)
        H, gains = gather_levels(s, v, k, level_costs(s, v, k, unit))
        if H.shape[1] == 0:
            continue
        n, count = s.widths[k], v.counts[k]
        at = s.weight_at[k] + (unit - s.unit_at[k]) * n
        thresholds = v.thresholds[unit, :count]
        sums = combine(H, s.weights[at : at + n], 0.0)
        trial, moved = np.empty(len(sums)), np.empty(count)
        merit = merit_of_levels(sums, thresholds, gains)
        for j in shuffled(n + count, rng):
            assign(trial, sums)
            assign(moved, thresholds)
            value = 0.0
            if j < n:
                if s.frozen[at + j]:
                    continue
                value = proposal(s, k, s.weights[at + j], rng)
                add_scaled(trial, value - s.weights[at + j], H[j])
            elif is_free:
                jump = 2.0 * REACH * (2.0 * rng.random() - 1.0)
                for level in range(count):
                    if v.fixed[k] or level == j - n:
                        moved[level] += jump
                if count > 1 and not v.fixed[k] and not _is_ordered(moved, j - n):
                    continue
            else:
                continue
            reached = merit_of_levels(trial, moved, gains)
            if accepts(merit - reached, temperature, rng):
                merit = reached
                assign(sums, trial)
                assign(thresholds, moved)
                if j < n:
                    s.weights[at + j] = value
        total = commit_levels(s, v, k, unit)
    return total


@compiled
def _is_ordered(thresholds: FloatArray, place: int) -> bool:
    below = place == 0 or thresholds[place - 1] <= thresholds[place]
    return below and (place == len(thresholds) - 1 or thresholds[place] <= thresholds[place + 1])


@compiled
def try_zero_levels(s: Arrays, v: Levels, positions: IntArray, tolerance: float) -> float:
    """Set weights of hidden units to zero where that does not raise the cost; return the cost.

    A unit that loses a weight gets the best thresholds for what is left of it.
    """
    total: float = total_of(s.cost)
    for at in positions:
        k = 0
        while at >= s.weight_at[k + 1]:
            k += 1
        n, count = s.widths[k], v.counts[k]
        unit = s.unit_at[k] + (at - s.weight_at[k]) // n
        first = s.weight_at[k] + (unit - s.unit_at[k]) * n
        thresholds, old, found = v.thresholds[unit, :count], np.empty(count), np.empty(count)
        old_weight = s.weights[at]
        assign(old, thresholds)
        s.weights[at] = 0.0
        H, gains = gather_levels(s, v, k, level_costs(s, v, k, unit))
        if H.shape[1] > 0:
            sums = combine(H, s.weights[first : first + n], 0.0)
            offsets = v.offsets[k, :count]
            kind = s.threshold_kind[0]
            best_thresholds(sums, gains, old, offsets, v.fixed[k], kind, found)
            assign(thresholds, found)
        cost = commit_levels(s, v, k, unit)
        if cost > total + tolerance:
            s.weights[at] = old_weight
            assign(thresholds, old)
            cost = commit_levels(s, v, k, unit)
        total = cost
    return total
