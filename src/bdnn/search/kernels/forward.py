"""Compiled forward pass, flips and costs.

Written as plain loops: that keeps compilation short, and the order of additions is the one of
:class:`bdnn.Network`, so that sums formed anew agree with the network's to the last bit.

A unit that reaches l of its thresholds is at level l. With the cost C_l of the network when the
unit is at level l, reaching threshold l gains ``g_l = C_{l-1} - C_l`` on an input, so that a unit's
merit is ``sum_l sum_i g_li [a_i >= t_l]``: that of one step per threshold, whose thresholds have to
be in order. A step has one threshold, and one changed forward pass tells its gains.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import compiled, part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import Arrays, LevelArray, Levels, Targets
from bdnn.search.kernels.bits import sum_bits


@part
def _distance_costs(s: Arrays, r: Targets, shift: FloatArray, cost: FloatArray) -> None:
    """Write what the distance of every input's values from its targets costs."""
    outputs, m = shift.shape
    for i in range(m):
        cost[i] = 0.0
    for o in range(outputs):
        unit = s.unit_at[len(s.unit_at) - 2] + o
        for i in range(m):
            value = s.sums[unit, i] + shift[o, i] - s.thresholds[unit, 0]
            for row in range(r.first[i], r.first[i + 1]):
                error = abs(value - r.values[o, row])
                error = error * error if r.is_squared else error
                cost[i] += r.price[o] * r.weight[row] * error


@compiled
def output_costs(s: Arrays, shift: FloatArray, cost: FloatArray) -> None:
    """Write the cost of every input, the sums of the outputs being shifted."""
    if len(s.targets.weight) > 0:
        _distance_costs(s, s.targets, shift, cost)
        return
    first = s.unit_at[len(s.unit_at) - 2]
    outputs, m = shift.shape
    classes = len(s.label_weight)
    loss, error, hinge, wanted = s.goal[0], s.goal[1], s.goal[2], s.goal[3]
    for i in range(m):
        cost[i] = 0.0
    for o in range(outputs):
        threshold = s.thresholds[first + o, 0]
        for i in range(m):
            on = s.sums[first + o, i] + shift[o, i] >= threshold
            cost[i] += loss * (s.cost_on[o, i] if on else s.cost_off[o, i])
    if error == 0.0 and hinge == 0.0:
        return
    for i in range(m):
        # Scores of the leading two classes; one output stands for two opposite scores.
        best, chosen = 0, -1
        top, second = -np.inf, -np.inf
        for o in range(outputs):
            score = s.sums[first + o, i] + shift[o, i] - s.thresholds[first + o, 0]
            if score >= 0.0 and chosen < 0:
                chosen = o
            if score > top:
                best, top, second = o, score, top
            elif score > second:
                second = score
        if outputs == 1 and classes == 2:
            best = 1 if top >= 0.0 else 0
            top = abs(top)
            second = -top
        if outputs == 1 or s.goal[4] == 0.0:
            chosen = best
        chosen = max(chosen, 0)
        for c in range(classes):
            share = s.label_weight[c, i]
            if share == 0.0:
                continue
            if c != chosen:
                cost[i] += error * share
            if c == best:
                margin = top - second
            elif outputs == 1:
                margin = second - top
            else:
                margin = s.sums[first + c, i] + shift[c, i] - s.thresholds[first + c, 0] - top
            if margin < wanted:
                cost[i] += hinge * share * (wanted - margin)


@part
def _level(v: Levels | None, thresholds: FloatArray, total: float) -> int:
    """How many thresholds of a unit a sum reaches; those that it does not have are infinite."""
    if v is None:
        return 1 if total >= thresholds[0] else 0
    level = 0
    while level < len(thresholds) and total >= thresholds[level]:
        level += 1
    return level


@part
def _value(v: Levels | None, pair: FloatArray, k: int, level: int) -> float:
    """Value of a unit of layer ``k`` at a level."""
    if v is None:
        return float(pair[k, 1] if level else pair[k, 0])
    return float(v.sets[k, level])


@part
def switch(v: Levels | None, thresholds: FloatArray, sums: FloatArray, level: LevelArray) -> None:
    """Bring the levels of a unit in line with its thresholds and sums."""
    for i in range(len(sums)):
        level[i] = _level(v, thresholds, sums[i])


@part
def _next_shift(s: Arrays, v: Levels | None, k: int, shift: FloatArray) -> FloatArray:
    """Shift of the sums of layer ``k + 1`` when the sums of layer ``k`` are shifted."""
    units, m = shift.shape
    following = s.widths[k + 2]
    result, moved = np.zeros((following, m)), np.empty(m, dtype=np.uint8)
    for u in range(units):
        r = s.unit_at[k] + u
        thresholds = s.thresholds[r]
        # Without a branch, so that many inputs are compared at once: few change their level.
        for i in range(m):
            moved[i] = _level(v, thresholds, s.sums[r, i] + shift[u, i])
        for i in range(m):
            if moved[i] != s.level[r, i]:
                change = _value(v, s.pair, k, moved[i]) - _value(v, s.pair, k, s.level[r, i])
                for q in range(following):
                    result[q, i] += change * s.weights[s.weight_at[k + 1] + q * units + u]
    return result


@part
def _first_shift(weights: FloatArray, units: int, place: int, change: FloatArray) -> FloatArray:
    """Shift of a layer's sums when one of the ``units`` below it changes its values."""
    m, following = len(change), len(weights) // units
    shift = np.empty((following, m))
    for q in range(following):
        w = weights[q * units + place]
        for i in range(m):
            shift[q, i] = w * change[i]
    return shift


@part
def _sum_unit(s: Arrays, v: Levels | None, k: int, unit: int) -> None:
    """Form the sums of a unit of layer ``k`` anew, in feature order."""
    m, n = s.sums.shape[1], s.widths[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    if k == 0 and s.bits.shape[1] > 0:
        sum_bits(s.bits, s.weights[at : at + n], s.sums[unit])
        return
    for i in range(m):
        s.sums[unit, i] = 0.0
    for j in range(n):
        w = s.weights[at + j]
        if w == 0.0:
            continue
        if k == 0:
            for i in range(m):
                s.sums[unit, i] += s.inputs[j, i] * w
            continue
        r = s.unit_at[k - 1] + j
        if v is None:
            low, high = s.pair[k - 1, 0] * w, s.pair[k - 1, 1] * w
            for i in range(m):
                s.sums[unit, i] += high if s.level[r, i] else low
        else:
            for i in range(m):
                s.sums[unit, i] += v.sets[k - 1, s.level[r, i]] * w


@compiled
def refresh(s: Arrays, v: Levels | None, first: int) -> None:
    """Compute sums, levels and costs anew from layer ``first`` upwards."""
    top = len(s.widths) - 2
    for k in range(first, top + 1):
        for unit in range(s.unit_at[k], s.unit_at[k + 1]):
            _sum_unit(s, v, k, unit)
            switch(v, s.thresholds[unit], s.sums[unit], s.level[unit])
    output_costs(s, np.zeros((s.widths[top + 1], s.sums.shape[1])), s.cost)


@part
def unit_gains(s: Arrays, v: Levels | None, k: int, unit: int) -> FloatArray:
    """What reaching each threshold gains on every input, of shape (levels, inputs).

    For an output this is the part of the cost that is the loss.
    """
    m, top = s.sums.shape[1], len(s.widths) - 2
    if k == top:
        gains = np.empty((1, m))
        o = unit - s.unit_at[k]
        for i in range(m):
            gains[0, i] = s.goal[0] * (s.cost_off[o, i] - s.cost_on[o, i])
        return gains
    above = s.weights[s.weight_at[k + 1] : s.weight_at[k + 2]]
    change = np.empty(m)
    if v is None:
        gains = np.empty((1, m))
        jump = s.pair[k, 1] - s.pair[k, 0]
        for i in range(m):
            change[i] = -jump if s.level[unit, i] else jump
        shift = _first_shift(above, s.widths[k + 1], unit - s.unit_at[k], change)
        for upper in range(k + 1, top):
            shift = _next_shift(s, v, upper, shift)
        output_costs(s, shift, gains[0])
        for i in range(m):
            gains[0, i] = s.cost[i] - gains[0, i]
            if s.level[unit, i]:
                gains[0, i] = -gains[0, i]
        return gains
    count = v.counts[k]
    costs = np.empty((count + 1, m))
    for level in range(count + 1):
        for i in range(m):
            change[i] = v.sets[k, level] - v.sets[k, s.level[unit, i]]
        shift = _first_shift(above, s.widths[k + 1], unit - s.unit_at[k], change)
        for upper in range(k + 1, top):
            shift = _next_shift(s, v, upper, shift)
        output_costs(s, shift, costs[level])
    gains = np.empty((count, m))
    for level in range(count):
        for i in range(m):
            gains[level, i] = costs[level, i] - costs[level + 1, i]
    return gains


@part
def commit(s: Arrays, v: Levels | None, k: int, unit: int) -> float:
    """Follow a change of a unit's weights or thresholds through the layers; return the cost."""
    m = s.sums.shape[1]
    top = len(s.widths) - 2
    _sum_unit(s, v, k, unit)
    thresholds, change = s.thresholds[unit], np.empty(m)
    changed = False
    for i in range(m):
        before, level = s.level[unit, i], _level(v, thresholds, s.sums[unit, i])
        change[i] = 0.0
        if level != before:
            change[i] = _value(v, s.pair, k, level) - _value(v, s.pair, k, before)
            changed = True
        s.level[unit, i] = level
    if k < top and changed:
        above = s.weights[s.weight_at[k + 1] : s.weight_at[k + 2]]
        shift = _first_shift(above, s.widths[k + 1], unit - s.unit_at[k], change)
        for upper in range(k + 1, top + 1):
            following = shift
            if upper < top:
                following = _next_shift(s, v, upper, shift)
            for u in range(len(shift)):
                r = s.unit_at[upper] + u
                thresholds = s.thresholds[r]
                for i in range(m):
                    s.sums[r, i] += shift[u, i]
                switch(v, thresholds, s.sums[r], s.level[r])
            shift = following
    if k == top or changed:
        output_costs(s, np.zeros((s.widths[top + 1], m)), s.cost)
    total = 0.0
    for i in range(m):
        total += s.cost[i]
    return total


@compiled
def follow(s: Arrays, v: Levels | None, k: int, unit: int) -> float:
    """Do the same for a unit that Python changed."""
    cost: float = commit(s, v, k, unit)
    return cost
