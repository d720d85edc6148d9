"""Moves of a network: improve a unit, draw it anew, move the threshold that a layer shares.

All units but one being fixed, the gain of a unit on an input is the cost of the network with the
unit off minus its cost with the unit on. Only inputs whose gain is not zero matter to the unit, so
they are gathered first; a unit that matters nowhere is drawn anew, which changes no cost.
"""

from __future__ import annotations

import numpy as np

from bdnn.search.kernels.arrays import PER_UNIT, Arrays, IntArray
from bdnn.search.kernels.backend import (
    assign,
    bracket,
    commit,
    compiled,
    gather,
    refresh,
    switch,
    total_of,
    unit_gains,
)
from bdnn.search.moves.unit import improve_integer, improve_real

# A relative difference of costs that is rounding.
_TOLERANCE = 1e-9


@compiled
def redraw(s: Arrays, k: int, unit: int, rng: np.random.Generator) -> float:
    """Draw a unit anew, its threshold between the sums of two random inputs; return the cost."""
    n, m = s.widths[k], s.sums.shape[1]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    first, last = s.value_at[k], s.value_at[k + 1]
    for j in range(at, at + n):
        if not s.frozen[j]:
            s.weights[j] = 2.0 * rng.random() - 1.0
            if last > first:
                s.weights[j] = s.values[first + int(rng.random() * (last - first))]
    cost = commit(s, k, unit)
    if s.threshold_kind[0] == PER_UNIT:
        one, two = s.sums[unit, int(rng.random() * m)], s.sums[unit, int(rng.random() * m)]
        s.thresholds[unit] = 0.5 * (one + two)
        cost = commit(s, k, unit)
    return cost


@compiled
def improve_units(
    s: Arrays, units: IntArray, rng: np.random.Generator, passes: int, extra: int
) -> float:
    """Improve units one after the other, never raising the cost; return the cost."""
    total: float = total_of(s.cost)
    kind = s.threshold_kind[0]
    for unit in units:
        k = 0
        while unit >= s.unit_at[k + 1]:
            k += 1
        is_output = k == len(s.widths) - 2
        if is_output and (s.goal[1] != 0.0 or s.goal[2] != 0.0):
            # Error and margin join the outputs, so none of them is a half-space problem alone.
            continue
        H, gains = gather(s, k, unit_gains(s, k, unit))
        if len(gains) == 0:
            total = redraw(s, k, unit, rng)
            continue
        at = s.weight_at[k] + (unit - s.unit_at[k]) * s.widths[k]
        w = s.weights[at : at + s.widths[k]]
        frozen = s.frozen[at : at + s.widths[k]]
        values = s.values[s.value_at[k] : s.value_at[k + 1]]
        old_w, old_threshold = np.empty(len(w)), s.thresholds[unit]
        assign(old_w, w)
        if len(values) > 0:
            threshold = improve_integer(
                H, w, old_threshold, gains, frozen, values, kind, rng, passes, extra
            )
        else:
            threshold = improve_real(H, w, old_threshold, gains, frozen, kind, rng, passes, extra)
        s.thresholds[unit] = threshold
        cost = commit(s, k, unit)
        # Sums formed anew may differ in their last bits from those the move went by.
        if cost > total + _TOLERANCE * max(1.0, abs(total)):
            assign(w, old_w)
            s.thresholds[unit] = old_threshold
            cost = commit(s, k, unit)
        total = cost
    return total


@compiled
def move_layer_threshold(s: Arrays, k: int, rng: np.random.Generator, trials: int) -> float:
    """Try other thresholds for layer ``k`` as a whole, never raising the cost; return the cost."""
    m = s.sums.shape[1]
    first, last = s.unit_at[k], s.unit_at[k + 1]
    # Continuous weights scale with a shared threshold, which lies in [-1, 1]; integers do not.
    limit = 1.0 if s.value_at[k] == s.value_at[k + 1] else np.inf
    total: float = total_of(s.cost)
    for trial in range(2 * trials):
        # Odd trials undo the even one before them if it cost more.
        if trial % 2 == 0:
            old = s.thresholds[first]
            wanted = s.sums[first + int(rng.random() * (last - first)), int(rng.random() * m)]
            if abs(wanted) > limit:
                wanted = limit * (2.0 * rng.random() - 1.0)
            below, above = -limit, limit
            for r in range(first, last):
                below, above = bracket(s.sums[r], wanted, below, above)
            candidate = 0.5 * (max(below, above - 1.0) + above)
        elif total_of(s.cost) > total + _TOLERANCE * max(1.0, abs(total)):
            candidate = old
        else:
            total = total_of(s.cost)
            continue
        for r in range(first, last):
            s.thresholds[r] = candidate
            switch(s, r)
        refresh(s, k + 1)
    return total
