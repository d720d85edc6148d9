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
from bdnn.search.kernels.bits import BLOCK, sum_bits


@part
def _distance_costs(s: Arrays, r: Targets, shift: FloatArray, first: int, cost: FloatArray) -> None:
    """Write what the distance of every input's values from its targets costs."""
    outputs, m = shift.shape
    for i in range(m):
        cost[i] = 0.0
    for o in range(outputs):
        unit = s.unit_at[len(s.unit_at) - 2] + o
        for i in range(m):
            value = s.sums[unit, first + i] + shift[o, i] - s.thresholds[unit, 0]
            for row in range(r.first[first + i], r.first[first + i + 1]):
                error = abs(value - r.values[o, row])
                error = error * error if r.is_squared else error
                cost[i] += r.price[o] * r.weight[row] * error


@compiled
def output_costs(s: Arrays, shift: FloatArray, first: int, cost: FloatArray) -> None:
    """Write the cost of inputs from the ``first`` on, the sums of the outputs being shifted."""
    if len(s.targets.weight) > 0:
        _distance_costs(s, s.targets, shift, first, cost)
        return
    top = s.unit_at[len(s.unit_at) - 2]
    outputs, m = shift.shape
    classes = len(s.label_weight)
    loss, error, hinge, wanted = s.goal[0], s.goal[1], s.goal[2], s.goal[3]
    for i in range(m):
        cost[i] = 0.0
    for o in range(outputs):
        threshold, by = s.thresholds[top + o, 0], shift[o]
        sums = s.sums[top + o, first : first + m]
        if_on, if_off = s.cost_on[o, first : first + m], s.cost_off[o, first : first + m]
        for i in range(m):
            on, off = if_on[i], if_off[i]
            cost[i] += loss * (on if sums[i] + by[i] >= threshold else off)
    if error == 0.0 and hinge == 0.0:
        return
    for i in range(m):
        # Scores of the leading two classes; one output stands for two opposite scores.
        best, chosen = 0, -1
        leading, second = -np.inf, -np.inf
        for o in range(outputs):
            score = s.sums[top + o, first + i] + shift[o, i] - s.thresholds[top + o, 0]
            if score >= 0.0 and chosen < 0:
                chosen = o
            if score > leading:
                best, leading, second = o, score, leading
            elif score > second:
                second = score
        if outputs == 1 and classes == 2:
            best = 1 if leading >= 0.0 else 0
            leading = abs(leading)
            second = -leading
        if outputs == 1 or s.goal[4] == 0.0:
            chosen = best
        chosen = max(chosen, 0)
        for c in range(classes):
            share = s.label_weight[c, first + i]
            if share == 0.0:
                continue
            if c != chosen:
                cost[i] += error * share
            if c == best:
                margin = leading - second
            elif outputs == 1:
                margin = second - leading
            else:
                margin = (
                    s.sums[top + c, first + i] + shift[c, i] - s.thresholds[top + c, 0] - leading
                )
            if margin < wanted:
                cost[i] += hinge * share * (wanted - margin)


@part
def _level(thresholds: FloatArray, total: float) -> int:
    """How many thresholds of a unit a sum reaches; those that it does not have are infinite."""
    level = 0
    while level < len(thresholds) and total >= thresholds[level]:
        level += 1
    return level


@part
def _changes(
    v: Levels | None,
    pair: FloatArray,
    k: int,
    thresholds: FloatArray,
    # New sums, and levels before.
    sums: FloatArray,
    level: LevelArray,
    change: FloatArray,
) -> bool:
    """Write how the values of a unit of layer ``k`` change; returns whether any does."""
    changed = False
    # Without branches, so that many inputs are seen to at once.
    if v is None:
        threshold, jump = thresholds[0], pair[k, 1] - pair[k, 0]
        for i in range(len(sums)):
            step = np.int64(sums[i] >= threshold) - np.int64(level[i])
            changed |= step != 0
            change[i] = jump * step
    else:
        for i in range(len(sums)):
            to = _level(thresholds, sums[i])
            changed |= to != level[i]
            change[i] = v.sets[k, to] - v.sets[k, level[i]]
    return changed


@part
def switch(v: Levels | None, thresholds: FloatArray, sums: FloatArray, level: LevelArray) -> None:
    """Bring the levels of a unit in line with its thresholds and sums."""
    if v is None:
        threshold = thresholds[0]
        for i in range(len(sums)):
            level[i] = sums[i] >= threshold
        return
    for i in range(len(sums)):
        level[i] = _level(thresholds, sums[i])


@part
def _next_shift(
    s: Arrays, v: Levels | None, k: int, shift: FloatArray, first: int, keeps: bool
) -> FloatArray:
    """Shift of the sums of layer ``k + 1`` when those of layer ``k`` are shifted.

    The shift is that of inputs from the ``first`` on. Where it ``keeps`` them, sums and levels of
    layer ``k`` follow.
    """
    units, m = shift.shape
    following = s.widths[k + 2]
    result, change, moved = np.zeros((following, m)), np.empty(m), np.empty(m)
    for u in range(units):
        by, is_shifted = shift[u], False
        for i in range(m):
            is_shifted |= by[i] != 0.0
        if not is_shifted:
            continue
        r = s.unit_at[k] + u
        thresholds = s.thresholds[r]
        sums, level = s.sums[r, first : first + m], s.level[r, first : first + m]
        for i in range(m):
            moved[i] = sums[i] + by[i]
        changed = _changes(v, s.pair, k, thresholds, moved, level, change)
        if keeps:
            sums[:] = moved
            if changed:
                switch(v, thresholds, sums, level)
        if not changed:
            continue
        for q in range(following):
            w, total = s.weights[s.weight_at[k + 1] + q * units + u], result[q]
            if w != 0.0:
                for i in range(m):
                    total[i] += change[i] * w
    return result


@part
def _output_shift(
    s: Arrays, v: Levels | None, k: int, unit: int, change: FloatArray, first: int, keeps: bool
) -> FloatArray:
    """Shift of the outputs' sums when a unit changes its values at inputs from the ``first`` on.

    Where it ``keeps`` them, sums and levels of the layers between follow.
    """
    units, following, m = s.widths[k + 1], s.widths[k + 2], len(change)
    shift = np.empty((following, m))
    for q in range(following):
        w = s.weights[s.weight_at[k + 1] + q * units + unit - s.unit_at[k]]
        for i in range(m):
            shift[q, i] = w * change[i]
    for upper in range(k + 1, len(s.widths) - 2):
        shift = _next_shift(s, v, upper, shift, first, keeps)
    return shift


@part
def _add_pair(low: float, high: float, level: LevelArray, sums: FloatArray) -> None:
    """Add one of two numbers to every sum."""
    for i in range(len(sums)):
        sums[i] += high if level[i] else low


@part
def _sum_unit(s: Arrays, v: Levels | None, k: int, unit: int) -> None:
    """Form the sums of a unit of layer ``k`` anew, in feature order."""
    m, n = s.sums.shape[1], s.widths[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    if k == 0 and s.bits.shape[1] > 0:
        sum_bits(s.bits, s.weights[at : at + n], s.sums[unit])
        return
    sums = s.sums[unit]
    for i in range(m):
        sums[i] = 0.0
    for j in range(n):
        w = s.weights[at + j]
        if w == 0.0:
            continue
        if k == 0:
            for i in range(m):
                sums[i] += s.inputs[j, i] * w
            continue
        level = s.level[s.unit_at[k - 1] + j]
        if v is None:
            _add_pair(s.pair[k - 1, 0] * w, s.pair[k - 1, 1] * w, level, sums)
        else:
            for i in range(m):
                sums[i] += v.sets[k - 1, level[i]] * w


@compiled
def refresh(s: Arrays, v: Levels | None, first: int) -> None:
    """Compute sums, levels and costs anew from layer ``first`` upwards."""
    top = len(s.widths) - 2
    for k in range(first, top + 1):
        for unit in range(s.unit_at[k], s.unit_at[k + 1]):
            _sum_unit(s, v, k, unit)
            switch(v, s.thresholds[unit], s.sums[unit], s.level[unit])
    output_costs(s, np.zeros((s.widths[top + 1], s.sums.shape[1])), 0, s.cost)


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
    count = 1 if v is None else v.counts[k]
    costs = np.empty((count + 1, m))
    # Without levels a unit's present cost is known, and its other one is found.
    for first in range(0, m, BLOCK):
        block = slice(first, min(m, first + BLOCK))
        level, change = s.level[unit, block], np.empty(block.stop - first)
        jump = s.pair[k, 1] - s.pair[k, 0]
        for to in range(1 if v is None else count + 1):
            for i in range(len(change)):
                if v is None:
                    change[i] = jump * (1 - 2 * np.int64(level[i]))
                else:
                    change[i] = v.sets[k, to] - v.sets[k, level[i]]
            shift = _output_shift(s, v, k, unit, change, first, False)
            output_costs(s, shift, first, costs[to, block])
    gains = np.empty((count, m))
    if v is None:
        for i in range(m):
            gain = s.cost[i] - costs[0, i]
            gains[0, i] = -gain if s.level[unit, i] else gain
        return gains
    for to in range(count):
        for i in range(m):
            gains[to, i] = costs[to, i] - costs[to + 1, i]
    return gains


@part
def commit(s: Arrays, v: Levels | None, k: int, unit: int) -> float:
    """Follow a change of a unit's weights or thresholds through the layers; return the cost."""
    m = s.sums.shape[1]
    top = len(s.widths) - 2
    _sum_unit(s, v, k, unit)
    outputs = s.widths[top + 1]
    for first in range(0, m, BLOCK):
        block = slice(first, min(m, first + BLOCK))
        level, sums, thresholds = s.level[unit, block], s.sums[unit, block], s.thresholds[unit]
        change = np.empty(len(sums))
        changed = _changes(v, s.pair, k, thresholds, sums, level, change)
        if changed:
            switch(v, thresholds, sums, level)
        if k == top:
            output_costs(s, np.zeros((outputs, len(sums))), first, s.cost[block])
        elif changed:
            shift = _output_shift(s, v, k, unit, change, first, True)
            output_costs(s, shift, first, s.cost[block])
            for o in range(outputs):
                r = s.unit_at[top] + o
                for i in range(len(sums)):
                    s.sums[r, first + i] += shift[o, i]
                switch(v, s.thresholds[r], s.sums[r, block], s.level[r, block])
    total = 0.0
    for i in range(m):
        total += s.cost[i]
    return total


@compiled
def follow(s: Arrays, v: Levels | None, k: int, unit: int) -> float:
    """Do the same for a unit that Python changed."""
    cost: float = commit(s, v, k, unit)
    return cost
