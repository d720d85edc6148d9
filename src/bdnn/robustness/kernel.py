"""Compiled branch and bound over boxes of scaled numbers, the nearest box first.

It is told by arrays what :class:`~bdnn.robustness.branching.Branching` asks a perturbation set, and
stops where only the forward pass can decide. Sums are compared with their thresholds after adding
all that rounding can be, which is known for the whole ball.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bdnn.compiled import compiled, part
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.robustness.relaxation import FARTHER, NOTHING, WHOLE, IntArray, Layers, Space, reduced

#: Why the kernel stopped: nothing is open, the boxes are used up, there is no room for more, or a
#: point has to be looked at, the nearest of a box or one with little lead.
DONE, USED_UP, FULL, LOOK, LOOK_LOW = 0, 1, 2, 3, 4
_LINF, _L1 = 0, 1


class Pool(NamedTuple):
    """Boxes with their costs, the heap of open ones, and how boxes were halved."""

    low: FloatArray
    high: FloatArray
    cost: FloatArray
    # Whether the nearest point is known to be none, and the one where the leads may be least.
    is_near: BoolArray
    is_low: BoolArray
    heap: IntArray
    feature: IntArray  # -1 where a box was not halved
    cut: FloatArray
    left: IntArray
    counts: IntArray  # boxes, open boxes, boxes taken, and those that intervals did not settle


@compiled
def push(pool: Pool, number: int) -> None:
    """Add a box to the heap."""
    heap, cost, place = pool.heap, pool.cost, pool.counts[1]
    pool.counts[1] += 1
    while place > 0:
        parent = (place - 1) // 2
        if cost[heap[parent]] <= cost[number]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = number


@part
def pop(pool: Pool) -> int:
    """Take the box of least cost from the heap."""
    heap, cost = pool.heap, pool.cost
    top = heap[0]
    pool.counts[1] -= 1
    last, n, place = heap[pool.counts[1]], pool.counts[1], 0
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and cost[heap[child + 1]] < cost[heap[child]]:
            child += 1
        if cost[last] <= cost[heap[child]]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return int(top)


@part
def distance(space: Space, low: FloatArray, high: FloatArray) -> float:
    """Lower limit of how far a box is away."""
    total = 0.0
    for j in range(len(low)):
        nearest = min(max(space.current[j], low[j]), high[j])
        if nearest == space.current[j]:
            continue
        move = abs(nearest * space.step - space.centre[j])
        move -= space.free + space.slack * (abs(space.centre[j]) + move)
        move = max(move, 0.0) / space.unit[j]
        if space.norm == _LINF:
            total = max(total, move)
        elif space.norm == _L1:
            total += move
        else:
            total += move * move
    if space.norm > _L1:
        total = np.sqrt(total)
    return total * (1.0 - space.slack)


@part
def first_sums(net: Layers, low: FloatArray, high: FloatArray, work: FloatArray) -> None:
    """Write the middles of the first layer's sums over a box, and how far they go from there."""
    n_out = net.widths[1]
    middle, spread = work[4], work[5]
    for u in range(n_out):
        middle[u] = spread[u] = 0.0
    for j in range(len(low)):
        centre, half = 0.5 * (low[j] + high[j]), 0.5 * (high[j] - low[j])
        for u in range(n_out):
            middle[u] += net.first[j, u] * centre
            spread[u] += net.first_size[j, u] * half


@part
def is_certain(
    net: Layers,
    low: FloatArray,
    high: FloatArray,
    ball: FloatArray,
    free: BoolArray,
    work: FloatArray,
) -> bool:
    """Tell whether the class is certain in a box of inputs; first-layer units are free or not."""
    n_layers = len(net.levels)
    a, b, c, d = work[0], work[1], work[2], work[3]
    first_sums(net, low, high, work)
    at, level_at, value_at, unit_at = 0, 0, 0, 0
    for k in range(n_layers - 1):
        n_in, n_out, n_levels = net.widths[k], net.widths[k + 1], net.levels[k]
        for u in range(n_out):
            if k == 0:
                least = max(work[4, u] - work[5, u], ball[0, u]) - net.error[unit_at]
                most = min(work[4, u] + work[5, u], ball[1, u]) + net.error[unit_at]
            else:
                least, most = -net.error[unit_at], net.error[unit_at]
                for j in range(n_in):
                    w = net.weights[at + j]
                    least += w * a[j] if w > 0.0 else w * b[j]
                    most += w * b[j] if w > 0.0 else w * a[j]
            at += n_in
            sure, maybe = 0, 0
            for level in range(n_levels):
                t = net.thresholds[level_at + level]
                sure += least >= t
                maybe += most >= t
            c[u], d[u] = net.values[value_at + sure], net.values[value_at + maybe]
            if k == 0:
                free[u] = sure != maybe
                work[6, u], work[7, u] = least, most
            level_at += n_levels
            unit_at += 1
        value_at += n_levels + 1
        a, b, c, d = c, d, a, b
    if n_layers == 1:
        for j in range(len(low)):
            a[j], b[j] = low[j], high[j]
    n_in, n_out, own = net.widths[n_layers - 1], net.widths[n_layers], net.label
    for q in range(n_out):
        if q == own:
            continue
        lead = 0.0
        for j in range(n_in):
            w = net.weights[at + own * n_in + j] - net.weights[at + q * n_in + j]
            lead += w * a[j] if w > 0.0 else w * b[j]
        lead -= net.thresholds[level_at + own] - net.thresholds[level_at + q]
        error = net.lead_error[own] + net.lead_error[q]
        # With an error no lead is known to be level.
        if lead < 0.0 if error == 0.0 and q > own else lead <= error:
            return False
    return True


@compiled
def search(
    net: Layers,
    space: Space,
    pool: Pool,
    within: FloatArray,
    ball: FloatArray,
    reach: float,
    boxes: int,
    given_up: FloatArray,
    point: FloatArray,
) -> tuple[int, int]:
    """Go on until a code above says why not, and the number of the box that it is about.

    The point to be looked at in it is written down, if it is not the nearest one.
    """
    n = len(space.current)
    width = 1
    for k in range(len(net.widths)):
        width = max(width, net.widths[k])
    work = np.empty((8, max(width, n)))
    lines = np.empty((5, net.widths[1] * net.levels[0] if net.is_relaxed else 0))
    unit_of = np.empty(lines.shape[1], dtype=np.int64)
    found = np.empty((6, n))
    free = np.zeros(net.widths[1], dtype=np.bool_)
    other_work, other_free, at = np.empty_like(work), np.zeros_like(free), np.empty(n)
    low, high = np.empty(n), np.empty(n)
    a, b = np.empty(n), np.empty(n)
    for _ in range(boxes):
        if pool.counts[1] == 0 or pool.cost[pool.heap[0]] >= reach:
            pool.counts[1] = 0
            return DONE, -1
        if pool.counts[0] + 2 > len(pool.cost):
            return FULL, -1
        box = pop(pool)
        pool.counts[2] += 1
        is_empty, is_point = False, True
        for j in range(n):
            low[j] = max(pool.low[box, j], within[0, j])
            high[j] = min(pool.high[box, j], within[1, j])
            is_empty |= low[j] > high[j]
            is_point &= low[j] == high[j]
            a[j], b[j] = low[j] * space.step, high[j] * space.step
        if is_empty:
            continue
        if not pool.is_near[box]:
            for j in range(n):
                a[j] = min(max(space.current[j], low[j]), high[j]) * space.step
            if not is_certain(net, a, a, ball, free, work):
                return LOOK, box
            pool.is_near[box] = True
            for j in range(n):
                a[j] = low[j] * space.step
        if is_point or is_certain(net, a, b, ball, free, work):
            continue
        if net.is_relaxed:
            kept = reduced(net, space, low, high, a, b, work, lines, unit_of, found)
            pool.counts[3] += kept != WHOLE
            if kept == NOTHING:
                continue
            if kept == FARTHER:  # its nearest point is another one
                for j in range(n):
                    pool.low[box, j], pool.high[box, j] = low[j], high[j]
                pool.cost[box] = max(pool.cost[box], distance(space, low, high))
                pool.is_near[box] = pool.is_low[box] = False
                if pool.cost[box] < reach:
                    push(pool, box)
                continue
            if not pool.is_low[box]:
                for j in range(n):
                    point[j] = low[j] if found[2, j] > 0.0 else high[j]
                    at[j] = point[j] * space.step
                if not is_certain(net, at, at, ball, other_free, other_work):
                    return LOOK_LOW, box
        best, chosen, is_wide = -1.0, -1, False
        for j in range(n):
            if high[j] > low[j]:
                gain = 1e-300
                for u in range(len(free)):
                    if free[u]:
                        gain += net.influence[u, j] * (b[j] - a[j])
                if gain > best:
                    best, chosen = gain, j
                is_wide |= high[j] - low[j] > space.narrow[j]
        if not is_wide:
            given_up[0] = min(given_up[0], pool.cost[box])
            continue
        middle = 0.5 * (low[chosen] + high[chosen])
        cut = np.floor(middle) if space.whole[chosen] else middle
        first = pool.counts[0]
        pool.counts[0] += 2
        pool.feature[box], pool.cut[box], pool.left[box] = chosen, cut, first
        for side in range(2):
            child = first + side
            for j in range(n):
                pool.low[child, j], pool.high[child, j] = low[j], high[j]
            if side == 0:
                pool.high[child, chosen] = cut
            else:
                pool.low[child, chosen] = cut + 1.0 if space.whole[chosen] else cut
            pool.cost[child] = distance(space, pool.low[child], pool.high[child])
            # The half that holds the nearest point of the whole has been looked at.
            own = space.current[chosen]
            pool.is_near[child] = (own <= cut) == (side == 0)
            pool.is_low[child], pool.feature[child] = False, -1
            if pool.cost[child] < reach:
                push(pool, child)
    return USED_UP, -1
