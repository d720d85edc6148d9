"""Moves of a network: improve a unit, draw it anew, move the thresholds that a layer shares.

All units but one being fixed, the gain of a threshold on an input is the cost of the network with
the unit below it minus its cost with the unit above it. Only inputs with a gain that is not zero
matter to the unit, so they are gathered first; a unit that matters nowhere is drawn anew, which
changes no cost.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import compiled
from bdnn.search.kernels.arrays import PER_UNIT, Arrays, IntArray, Levels, MoveLimits
from bdnn.search.kernels.forward import commit, refresh, switch
from bdnn.search.kernels.lines import unit_task
from bdnn.search.moves.improve import improve_lines, improve_values
from bdnn.search.moves.unit import (
    assign,
    bracket,
    draw_thresholds,
    layer_at,
    nonzeros,
    put,
    room_of,
    total_of,
)

# A relative difference of costs that is rounding.
_TOLERANCE = 1e-9


@compiled
def redraw(
    s: Arrays, v: Levels | None, limits: MoveLimits, k: int, unit: int, rng: np.random.Generator
) -> float:
    """Draw a unit anew, its thresholds between the sums of random inputs; return the cost."""
    n = s.widths[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    values = s.values[s.value_at[k] : s.value_at[k + 1]]
    room = room_of(s.weights, s.weight_at, limits, k, at, n)
    # Where not all weights may differ from 0, those that must do first, others in further turns.
    turns = n if room == n else n + room
    for turn in range(turns):
        j = at + turn if turn < n else at + int(rng.random() * n)
        low, high = limits.low[j], limits.high[j]
        value = low
        if low < high:
            value = max(low, -1.0)
            value += rng.random() * (min(high, 1.0) - value)
            if len(values) > 0:
                value = min(high, max(low, values[int(rng.random() * len(values))]))
        if room < n and low <= 0.0 <= high:
            if turn < n:
                value = 0.0
            elif nonzeros(s.weights, at, at + n) >= room:
                break
        s.weights[j] = value
    # Sums first, then thresholds between them.
    for attempt in range(2):
        cost = commit(s, v, k, unit)
        if s.threshold_kind != PER_UNIT:
            break
        if attempt == 0:
            draw_thresholds(v, k, s.sums[unit], s.thresholds[unit], rng)
    return cost


@compiled
def improve_units(
    s: Arrays,
    v: Levels | None,
    limits: MoveLimits,
    units: IntArray,
    rng: np.random.Generator,
    passes: int,
    extra: int,
) -> float:
    """Improve units one after the other, never raising the cost; return the cost."""
    total: float = total_of(s.cost)
    kind = s.threshold_kind
    for unit in units:
        k = layer_at(s.unit_at, unit)
        is_output = k == len(s.widths) - 2
        if is_output and (s.goal[1] != 0.0 or s.goal[2] != 0.0):
            # Error and margin join the outputs, so none of them is a half-space problem alone.
            continue
        H, gains, sums = unit_task(s, v, k, unit)
        if gains.shape[1] == 0:
            total = redraw(s, v, limits, k, unit, rng)
            continue
        n, count = s.widths[k], len(gains)
        at = s.weight_at[k] + (unit - s.unit_at[k]) * n
        w, thresholds = s.weights[at : at + n], s.thresholds[unit, :count]
        low, high = limits.low[at : at + n], limits.high[at : at + n]
        values = s.values[s.value_at[k] : s.value_at[k + 1]]
        room = room_of(s.weights, s.weight_at, limits, k, at, n)
        old_w, old = np.empty(n), np.empty(count)
        assign(old_w, w)
        put(v, old, thresholds)
        is_real = len(values) == 0
        if is_real and room < n:
            # Which weights differ from 0 is found with signs alone; then only these are improved.
            values = s.values[len(s.values) - 3 :]
        if len(values) > 0:
            improve_values(
                v,
                k,
                kind,
                H,
                w,
                thresholds,
                sums,
                gains,
                low,
                high,
                room,
                values,
                rng,
                passes,
                extra,
            )
        if is_real:
            improve_lines(
                v, k, kind, H, w, thresholds, gains, low, high, room < n, rng, passes, extra
            )
        for attempt in range(2):
            cost = commit(s, v, k, unit)
            # Sums formed anew may differ in their last bits from those the move went by.
            if attempt == 1 or cost <= total + _TOLERANCE * max(1.0, abs(total)):
                break
            assign(w, old_w)
            put(v, thresholds, old)
        total = cost
    return total


@compiled
def move_layer_threshold(
    s: Arrays, v: Levels | None, k: int, rng: np.random.Generator, trials: int
) -> float:
    """Try other thresholds for layer ``k`` as a whole, never raising the cost; return the cost."""
    m = s.sums.shape[1]
    first, last = s.unit_at[k], s.unit_at[k + 1]
    # Continuous weights scale with a shared threshold, which lies in [-1, 1]; integers do not, nor
    # those beside thresholds at fixed distances.
    limit = 1.0 if s.value_at[k] == s.value_at[k + 1] else np.inf
    count = 1
    if v is not None:
        count = v.counts[k]
        limit = np.inf if v.fixed[k] else limit
    old, new = np.empty(count), np.empty(count)
    total: float = total_of(s.cost)
    for trial in range(2 * trials):
        # Odd trials undo the even one before them if it cost more.
        if trial % 2 == 0:
            put(v, old, s.thresholds[first, :count])
            put(v, new, old)
            level = int(rng.random() * count) if count > 1 else 0
            wanted = s.sums[first + int(rng.random() * (last - first)), int(rng.random() * m)]
            if abs(wanted) > limit:
                wanted = limit * (2.0 * rng.random() - 1.0)
            below, above = -limit, limit
            for r in range(first, last):
                below, above = bracket(s.sums[r], wanted, below, above)
            new[level] = 0.5 * (max(below, above - 1.0) + above)
            if v is not None:
                for other in range(count):
                    if v.fixed[k]:
                        new[other] = new[level] + v.offsets[k, other] - v.offsets[k, level]
                    elif other < level:
                        new[other] = min(old[other], new[level])
                    elif other > level:
                        new[other] = max(old[other], new[level])
        elif total_of(s.cost) > total + _TOLERANCE * max(1.0, abs(total)):
            put(v, new, old)
        else:
            total = total_of(s.cost)
            continue
        for r in range(first, last):
            put(v, s.thresholds[r, :count], new)
            switch(v, s.thresholds[r], s.sums[r], s.level[r])
        refresh(s, v, k + 1)
    return total
