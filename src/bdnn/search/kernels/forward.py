"""Compiled forward pass, flips and costs; ``forward_reference`` says the same in plain numpy.

Written as plain loops: that keeps compilation short, and the order of additions is the one of
:class:`bdnn.Network`, so that sums formed anew agree with the network's to the last bit.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.search.kernels.arrays import Arrays
from bdnn.search.kernels.compiled import compiled


@compiled
def output_costs(s: Arrays, shift: FloatArray, cost: FloatArray) -> None:
    """Write the cost of every input, the sums of the outputs being shifted."""
    first = s.unit_at[len(s.unit_at) - 2]
    outputs, m = shift.shape
    classes = len(s.mass)
    loss, error, hinge, wanted = s.goal[0], s.goal[1], s.goal[2], s.goal[3]
    for i in range(m):
        cost[i] = 0.0
    for o in range(outputs):
        threshold = s.thresholds[first + o]
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
            score = s.sums[first + o, i] + shift[o, i] - s.thresholds[first + o]
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
            share = s.mass[c, i]
            if share == 0.0:
                continue
            if c != chosen:
                cost[i] += error * share
            if c == best:
                margin = top - second
            elif outputs == 1:
                margin = second - top
            else:
                margin = s.sums[first + c, i] + shift[c, i] - s.thresholds[first + c] - top
            if margin < wanted:
                cost[i] += hinge * share * (wanted - margin)


@compiled
def _next_shift(s: Arrays, k: int, shift: FloatArray) -> FloatArray:
    """Shift of the sums of layer ``k + 1`` when the sums of layer ``k`` are shifted."""
    units, m = shift.shape
    following = s.widths[k + 2]
    result = np.zeros((following, m))
    for u in range(units):
        r = s.unit_at[k] + u
        threshold = s.thresholds[r]
        for i in range(m):
            if shift[u, i] != 0.0:
                on = s.sums[r, i] + shift[u, i] >= threshold
                if on != s.on[r, i]:
                    sign = 1.0 if on else -1.0
                    for v in range(following):
                        result[v, i] += sign * s.weights[s.weight_at[k + 1] + v * units + u]
    return result


@compiled
def first_shift(s: Arrays, k: int, unit: int, change: FloatArray) -> FloatArray:
    """Shift of the sums of layer ``k + 1`` when one unit of layer ``k`` changes its values."""
    m = len(change)
    units, following = s.widths[k + 1], s.widths[k + 2]
    shift = np.empty((following, m))
    for v in range(following):
        w = s.weights[s.weight_at[k + 1] + v * units + unit - s.unit_at[k]]
        for i in range(m):
            shift[v, i] = w * change[i]
    return shift


@compiled
def _sum_unit(s: Arrays, k: int, unit: int) -> None:
    """Form the sums of a unit of layer ``k`` anew, in feature order."""
    m = s.sums.shape[1]
    n = s.widths[k]
    at = s.weight_at[k] + (unit - s.unit_at[k]) * n
    for i in range(m):
        s.sums[unit, i] = 0.0
    for j in range(n):
        w = s.weights[at + j]
        if w == 0.0:
            continue
        if k == 0:
            for i in range(m):
                s.sums[unit, i] += s.inputs[j, i] * w
        else:
            r = s.unit_at[k - 1] + j
            for i in range(m):
                if s.on[r, i]:
                    s.sums[unit, i] += w


@compiled
def refresh(s: Arrays, first: int) -> None:
    """Compute sums, activations and costs anew from layer ``first`` upwards."""
    m = s.sums.shape[1]
    layers = len(s.widths) - 1
    for k in range(first, layers):
        for unit in range(s.unit_at[k], s.unit_at[k + 1]):
            _sum_unit(s, k, unit)
            for i in range(m):
                s.on[unit, i] = s.sums[unit, i] >= s.thresholds[unit]
    output_costs(s, np.zeros((s.widths[layers], m)), s.cost)


@compiled
def unit_gains(s: Arrays, k: int, unit: int) -> FloatArray:
    """Cost with a unit of layer ``k`` off minus cost with it on, for every input.

    For an output this is the part of the cost that is the loss.
    """
    m = s.sums.shape[1]
    gains = np.empty(m)
    top = len(s.widths) - 2
    if k == top:
        o = unit - s.unit_at[top]
        for i in range(m):
            gains[i] = s.goal[0] * (s.cost_off[o, i] - s.cost_on[o, i])
        return gains
    change = np.empty(m)
    for i in range(m):
        change[i] = -1.0 if s.on[unit, i] else 1.0
    shift = first_shift(s, k, unit, change)
    for upper in range(k + 1, top):
        shift = _next_shift(s, upper, shift)
    output_costs(s, shift, gains)
    for i in range(m):
        gains[i] = change[i] * (s.cost[i] - gains[i])
    return gains


@compiled
def commit(s: Arrays, k: int, unit: int) -> float:
    """Follow a change of a unit's weights or threshold through the layers; return the cost."""
    m = s.sums.shape[1]
    top = len(s.widths) - 2
    _sum_unit(s, k, unit)
    change = np.empty(m)
    changed = False
    for i in range(m):
        on = s.sums[unit, i] >= s.thresholds[unit]
        change[i] = 0.0
        if on != s.on[unit, i]:
            change[i] = 1.0 if on else -1.0
            changed = True
        s.on[unit, i] = on
    if k < top and changed:
        shift = first_shift(s, k, unit, change)
        for upper in range(k + 1, top + 1):
            following = shift
            if upper < top:
                following = _next_shift(s, upper, shift)
            for u in range(len(shift)):
                r = s.unit_at[upper] + u
                for i in range(m):
                    if shift[u, i] != 0.0:
                        s.sums[r, i] += shift[u, i]
                        s.on[r, i] = s.sums[r, i] >= s.thresholds[r]
            shift = following
    if k == top or changed:
        output_costs(s, np.zeros((s.widths[top + 1], m)), s.cost)
    total = 0.0
    for i in range(m):
        total += s.cost[i]
    return total


@compiled
def gather(s: Arrays, k: int, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Collect inputs of layer ``k``, one line per weight, and gains, where the gain is not zero."""
    m = len(gains)
    active = np.empty(m, dtype=np.int64)
    p = 0
    for i in range(m):
        if gains[i] != 0.0:
            active[p] = i
            p += 1
    n = s.widths[k]
    H = np.empty((n, p))
    picked = np.empty(p)
    for q in range(p):
        picked[q] = gains[active[q]]
    for j in range(n):
        for q in range(p):
            if k == 0:
                H[j, q] = s.inputs[j, active[q]]
            else:
                H[j, q] = 1.0 if s.on[s.unit_at[k - 1] + j, active[q]] else 0.0
    return H, picked
