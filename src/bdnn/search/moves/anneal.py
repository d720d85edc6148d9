"""Annealed moves of single weights, for objectives that are not half-space problems.

Along a hinge on output margins, improving moves soon run out in corners; accepting a move that
costs ``d`` more with probability ``exp(-d / temperature)`` leaves them. Given the gains of a hidden
unit, a proposal for one of its weights costs one pass over the inputs that matter; a proposal for
an output's weight shifts that output's sums.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import compiled, part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import PER_UNIT, Arrays, IntArray, Levels, MoveLimits
from bdnn.search.kernels.forward import commit, output_costs, switch
from bdnn.search.kernels.line import level_merit
from bdnn.search.kernels.lines import add_line, combine, input_lines, unit_task
from bdnn.search.moves.improve import shuffled
from bdnn.search.moves.unit import (
    add_scaled,
    assign,
    best_thresholds,
    fill,
    layer_at,
    nonzeros,
    put,
    room_of,
    total_of,
)

# Continuous weights and thresholds move by up to this much at once.
REACH = 0.5


@part
def proposal(
    values: FloatArray,
    weight: float,
    low: float,
    high: float,
    zeros: float,
    rng: np.random.Generator,
) -> float:
    """Another value for a weight; in large sets half of the steps are short.

    Of continuous weights a share of ``zeros`` is proposed to vanish.
    """
    if len(values) == 0:
        if zeros > 0.0 and rng.random() < zeros:
            return min(high, max(low, 0.0))
        value = min(1.0, max(-1.0, weight + REACH * (2.0 * rng.random() - 1.0)))
        return min(high, max(low, value))
    value = float(values[int(rng.random() * len(values))])
    if rng.random() < 0.5 and len(values) > 3:
        value = weight + (1.0 if rng.random() < 0.5 else -1.0)
        value = min(values[len(values) - 1], max(values[0], value))
    return min(high, max(low, value))


@part
def accepts(rise: float, temperature: float, rng: np.random.Generator) -> bool:
    """Decide on a move that raises the cost by so much."""
    return rise <= 0.0 or (temperature > 0.0 and rng.random() < np.exp(-rise / temperature))


@part
def _move(v: Levels | None, k: int, thresholds: FloatArray, level: int, jump: float) -> bool:
    """Move one threshold, or all of fixed distances; tell whether they are still in order."""
    thresholds[level] += jump
    ordered = True
    if v is not None:
        for other in range(len(thresholds)):
            if v.fixed[k] and other != level:
                thresholds[other] += jump
        for other in range(1, len(thresholds)):
            ordered = ordered and thresholds[other - 1] <= thresholds[other]
    return ordered


@compiled
def anneal(
    s: Arrays,
    v: Levels | None,
    limits: MoveLimits,
    units: IntArray,
    temperature: float,
    rng: np.random.Generator,
) -> float:
    """Propose a change of every weight and threshold of units; return the cost.

    The first output stands for all of them, which are moved together.
    """
    total: float = total_of(s.cost)
    is_free = s.threshold_kind == PER_UNIT
    for unit in units:
        k = layer_at(s.unit_at, unit)
        if k == len(s.widths) - 2:
            total = _anneal_outputs(s, v, limits, temperature, rng)
            continue
        H, gains, _ = unit_task(s, v, k, unit)
        if gains.shape[1] == 0:
            continue
        n, count = s.widths[k], len(gains)
        at = s.weight_at[k] + (unit - s.unit_at[k]) * n
        thresholds = s.thresholds[unit, :count]
        sums = combine(H, s.weights[at : at + n], 0.0)
        trial, moved = np.empty(len(sums)), np.empty(count)
        merit = level_merit(sums, thresholds, gains)
        values = s.values[s.value_at[k] : s.value_at[k + 1]]
        spare = room_of(s.weights, s.weight_at, limits, k, at, n)
        spare -= nonzeros(s.weights, at, at + n)
        for j in shuffled(n + count, rng):
            assign(trial, sums)
            put(v, moved, thresholds)
            old, value = 0.0, 0.0
            if j < n:
                low, high, old = limits.low[at + j], limits.high[at + j], s.weights[at + j]
                if low == high:
                    continue
                value = proposal(values, old, low, high, 0.0, rng)
                if old == 0.0 and value != 0.0 and spare <= 0:
                    continue
                add_line(trial, value - old, H, j)
            elif is_free:
                jump = 2.0 * REACH * (2.0 * rng.random() - 1.0)
                if not _move(v, k, moved, j - n, jump):
                    continue
            else:
                continue
            reached = level_merit(trial, moved, gains)
            if accepts(merit - reached, temperature, rng):
                merit = reached
                assign(sums, trial)
                put(v, thresholds, moved)
                if j < n:
                    s.weights[at + j] = value
                    spare += (1 if old != 0.0 else 0) - (1 if value != 0.0 else 0)
        total = commit(s, v, k, unit)
    return total


@part
def _anneal_outputs(
    s: Arrays,
    v: Levels | None,
    limits: MoveLimits,
    temperature: float,
    rng: np.random.Generator,
) -> float:
    """Propose a change of every weight and threshold of the outputs; return the cost."""
    top = len(s.widths) - 2
    n, outputs, m = s.widths[top], s.widths[top + 1], s.sums.shape[1]
    is_free = s.threshold_kind == PER_UNIT
    shift = np.zeros((outputs, m))
    values = s.values[s.value_at[top] : s.value_at[top + 1]]
    trial = np.empty(m)
    every = np.arange(m)
    total: float = total_of(s.cost)
    for item in shuffled(outputs * (n + 1), rng):
        o, j = item // (n + 1), item % (n + 1)
        unit, at = s.unit_at[top] + o, s.weight_at[top] + o * n + j
        jump, value = 0.0, 0.0
        if j == n:
            if not is_free:
                continue
            jump = 2.0 * REACH * (2.0 * rng.random() - 1.0)
            fill(shift[o], -jump)
        else:
            low, high, old = limits.low[at], limits.high[at], s.weights[at]
            if low == high:
                continue
            value = proposal(values, old, low, high, 0.0, rng)
            jump = value - old
            # A weight that comes in needs room, which is counted where it is scarce.
            if old == 0.0 and value != 0.0:
                first = s.weight_at[top] + o * n
                room = room_of(s.weights, s.weight_at, limits, top, first, n)
                if room <= nonzeros(s.weights, first, first + n):
                    continue
            if jump == 0.0:
                continue
            fill(shift[o], 0.0)
            add_line(shift[o], jump, input_lines(s, v, top, every, j, 1), 0)
        output_costs(s, shift, 0, trial)
        cost = total_of(trial)
        if accepts(cost - total, temperature, rng):
            total = cost
            if j == n:
                s.thresholds[unit, 0] += jump
            else:
                s.weights[at] = value
                add_scaled(s.sums[unit], 1.0, shift[o])
            assign(s.cost, trial)
        fill(shift[o], 0.0)
    for unit in range(s.unit_at[top], s.unit_at[top + 1]):
        switch(v, s.thresholds[unit], s.sums[unit], s.level[unit])
    return total


@compiled
def try_zero(
    s: Arrays, v: Levels | None, limits: MoveLimits, positions: IntArray, tolerance: float
) -> float:
    """Set weights to zero where that does not raise the cost; return the cost.

    A unit that loses a weight gets the best thresholds for what is left of it.
    """
    total: float = total_of(s.cost)
    for at in positions:
        if limits.low[at] > 0.0 or limits.high[at] < 0.0:
            continue
        k = layer_at(s.weight_at, at)
        n = s.widths[k]
        unit = s.unit_at[k] + (at - s.weight_at[k]) // n
        old_weight = s.weights[at]
        s.weights[at] = 0.0
        H, gains, _ = unit_task(s, v, k, unit)
        thresholds = s.thresholds[unit, : len(gains)]
        old, found = np.empty(len(gains)), np.empty(len(gains))
        put(v, old, thresholds)
        if gains.shape[1] > 0:
            first = s.weight_at[k] + (unit - s.unit_at[k]) * n
            sums = combine(H, s.weights[first : first + n], 0.0)
            best_thresholds(v, k, s.threshold_kind, sums, gains, old, found)
            put(v, thresholds, found)
        for attempt in range(2):
            cost = commit(s, v, k, unit)
            if attempt == 1 or cost <= total + tolerance:
                break
            s.weights[at] = old_weight
            put(v, thresholds, old)
        total = cost
    return total
