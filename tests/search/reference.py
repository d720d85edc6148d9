"""All compiled primitives in plain numpy, to compare them with."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.search.kernels.arrays import Arrays, LevelArray, Levels

_END_WIDTH = 1.0
_SMALLEST_WIDTH = 1e-9
_TOLERANCE = 1e-9
_FARTHEST = 1e100
_CLEARANCE = 0.5


def assign(target: FloatArray, values: FloatArray) -> None:
    """Copy values into an array."""
    target[:] = values


def fill(target: FloatArray, value: float) -> None:
    """Set all entries."""
    target[:] = value


def divide(target: FloatArray, divisor: float) -> None:
    """Divide all entries in place."""
    target /= divisor


def shift_by(target: FloatArray, value: float) -> None:
    """Add a number to all entries in place."""
    target += value


def add_scaled(target: FloatArray, factor: float, values: FloatArray) -> None:
    """Add a multiple of values to an array in place."""
    target += factor * values


def total_of(values: FloatArray) -> float:
    """Sum of all entries."""
    return float(values.sum())


def largest_of(values: FloatArray) -> float:
    """Largest absolute value."""
    return float(np.abs(values).max(initial=0.0))


def bracket(sums: FloatArray, wanted: float, below: float, above: float) -> tuple[float, float]:
    """Raise ``below`` and lower ``above`` to the sums next to a wanted value."""
    low = sums < wanted
    return (
        float(sums[low].max(initial=below)),
        float(sums[~low].min(initial=above)),
    )


def _best_interval(
    breaks: FloatArray, jumps: FloatArray, base: float, low: float, high: float, end: float
) -> tuple[float, float, float]:
    """Middle, value and width of the widest best interval between breakpoints in [low, high]."""
    inside = (breaks > low) & (breaks < high)
    base += float(jumps[breaks <= low].sum())
    points, group = np.unique(breaks[inside], return_inverse=True)
    steps = np.bincount(group.reshape(-1), weights=jumps[inside], minlength=len(points))
    values = base + np.concatenate(([0.0], np.cumsum(steps)))
    left = np.concatenate(([low], points))
    right = np.concatenate((points, [high]))
    bounded = np.isfinite(left) & np.isfinite(right)
    if np.isinf(left[0]) and np.isinf(right[0]):
        left[0], right[0] = -0.5 * end, 0.5 * end
    if np.isinf(left[0]):
        left[0] = right[0] - end
    if np.isinf(right[-1]):
        right[-1] = left[-1] + end
    width = right - left
    safe = ~bounded | (width > _SMALLEST_WIDTH * (1.0 + np.abs(left)))
    if not safe.any():
        return 0.0, -np.inf, -1.0
    best = values[safe].max()
    ties = np.flatnonzero(safe & (values > best - _TOLERANCE))
    k = ties[np.argmax(width[ties])]
    return float(0.5 * (left[k] + right[k])), float(values[k]), float(width[k])


def line_search(
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    low: float,
    high: float,
) -> tuple[float, float, float]:
    """Find the step along a direction with the largest merit; return step, merit and width."""
    moving = direction != 0.0
    base = gains[~moving & (sums >= threshold)].sum() + gains[direction < 0.0].sum()
    slope = direction[moving]
    with np.errstate(over="ignore"):
        breaks = (threshold - sums[moving]) / slope
    jumps = np.where(slope > 0.0, gains[moving], -gains[moving])
    base += jumps[breaks < -_FARTHEST].sum()
    near = np.abs(breaks) <= _FARTHEST
    return _best_interval(breaks[near], jumps[near], float(base), low, high, _END_WIDTH)


def threshold_search(
    sums: FloatArray, gains: FloatArray, low: float, high: float
) -> tuple[float, float, float]:
    """Find the threshold with the largest merit; return threshold, merit and width of the gap."""
    return _best_interval(sums, -gains, float(gains.sum()), low, high, _SMALLEST_WIDTH)


def value_search(
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    weight: float,
    values: FloatArray,
) -> FloatArray:
    """Merit of the unit for every value of one weight, the threshold being fixed."""
    return np.array(
        [gains[sums + (value - weight) * direction >= threshold].sum() for value in values]
    )


def combine(H: FloatArray, w: FloatArray, offset: float) -> FloatArray:
    """Weighted sum of the lines of ``H``, minus an offset."""
    sums = np.full(H.shape[1], -offset)
    for line, weight in zip(H, w, strict=True):
        sums += weight * line
    return sums


def level_merit(sums: FloatArray, thresholds: FloatArray, gains: FloatArray) -> float:
    """Merit of a unit: the gains of the thresholds that every input reaches."""
    return float(gains[sums >= thresholds[: len(gains), None]].sum())


def ordered_search(sums: FloatArray, gains: FloatArray, thresholds: FloatArray) -> float:
    """Write the ordered thresholds with the largest merit, and return it."""
    count, n = gains.shape
    order = np.argsort(sums, kind="stable")
    line = sums[order]
    gaps = np.zeros(n + 1)
    gaps[1:-1] = np.diff(line)
    allowed = np.ones(n + 1, dtype=bool)
    allowed[1:-1] = gaps[1:-1] > _TOLERANCE * (1.0 + np.abs(line[1:]))
    best = np.zeros(n + 1)
    places = np.zeros((count, n + 1), dtype=np.int64)
    for level in range(count):
        rest = np.append(np.cumsum(gains[level, order][::-1])[::-1], 0.0)
        values = np.where(allowed, best + rest, -np.inf)
        top, width, place = -np.inf, 0.0, 0
        for q in range(n + 1):
            value, gap = values[q], gaps[q]
            if value > top + _TOLERANCE or (value > top - _TOLERANCE and gap > width):
                top, width, place = max(top, value), gap, q
            best[q], places[level, q] = top, place
    ends = np.concatenate([line[:1] - _CLEARANCE, line[-1:] + _CLEARANCE])
    middles = np.concatenate([ends[:1], 0.5 * (line[:-1] + line[1:]), ends[1:]])
    q = n
    for level in range(count - 1, -1, -1):
        q = places[level, q]
        thresholds[level] = middles[q] if n else 0.0
    return float(best[n])


def set_gain(
    total: FloatArray, size: float, weight: float, price: FloatArray, rules: FloatArray
) -> float:
    """Gain of a set of inputs with sums ``total`` and weight ``size``."""
    return float(_gains(total[None], np.array([size]), weight, price, rules)[0])


def best_split(
    breaks: FloatArray,
    signs: FloatArray,
    moments: FloatArray,
    base: FloatArray,
    weight: float,
    price: FloatArray,
    rules: FloatArray,
    low: float,
    high: float,
) -> tuple[float, float]:
    """Find the step with the largest gain; return the middle of its interval and the gain."""
    order = np.argsort(breaks, kind="stable")
    steps = signs[order, None] * moments[order]
    states = np.vstack([base, base + np.cumsum(steps, axis=0)])
    ends = np.clip(breaks[order], low, high)
    left, right = np.concatenate(([low], ends)), np.concatenate((ends, [high]))
    both = np.isinf(left) & np.isinf(right)
    left = np.where(both, -0.5 * _END_WIDTH, np.where(np.isinf(left), right - _END_WIDTH, left))
    right = np.where(both, 0.5 * _END_WIDTH, np.where(np.isinf(right), left + _END_WIDTH, right))
    wide = right - left > _SMALLEST_WIDTH * (1.0 + np.abs(left))
    if not wide.any():
        return 0.0, -np.inf
    gains = _gains(states[:, 1:], states[:, 0], weight, price, rules)
    best = int(np.argmax(np.where(wide, gains, -np.inf)))
    return float(0.5 * (left[best] + right[best])), float(gains[best])


def _gains(
    totals: FloatArray, sizes: FloatArray, weight: float, price: FloatArray, rules: FloatArray
) -> FloatArray:
    ridge, limit, whole, has_zero, has_bias = rules
    damping = (sizes * (1.0 - sizes / weight) if has_bias else sizes) + ridge
    valid = damping > 1e-12 * weight
    damping = np.where(valid, damping, 1.0)[:, None]
    a = totals / damping
    if whole:
        a = np.rint(a)
        if not has_zero:
            a = np.where(a == 0.0, np.where(totals >= 0.0, 1.0, -1.0), a)
    a = np.clip(a, -limit, limit)
    gains = (2.0 * a * totals - a * a * damping) @ price
    return np.asarray(np.where(valid, gains, 0.0))


def layer_weights(s: Arrays, k: int) -> FloatArray:
    """Weights of layer ``k`` as a matrix that shares memory with the state."""
    return s.weights[s.weight_at[k] : s.weight_at[k + 1]].reshape(s.widths[k + 1], s.widths[k])


def layer_rows(s: Arrays, k: int) -> slice:
    """Lines of the units of layer ``k``."""
    return slice(s.unit_at[k], s.unit_at[k + 1])


def output_costs(s: Arrays, shift: FloatArray, cost: FloatArray) -> None:
    """Write the cost of every input, the sums of the outputs being shifted."""
    rows = layer_rows(s, len(s.widths) - 2)
    loss, error, hinge, wanted, first = s.goal
    scores = s.sums[rows] + shift - s.thresholds[rows, :1]
    if len(s.targets.weight):
        group = np.repeat(np.arange(len(cost)), np.diff(s.targets.first))
        errors = np.abs(scores[:, group] - s.targets.values)
        sizes = s.targets.price @ (errors**2 if s.targets.is_squared else errors)
        cost[:] = np.bincount(group, s.targets.weight * sizes, minlength=len(cost))
        return
    on = scores >= 0.0
    cost[:] = loss * np.where(on, s.cost_on, s.cost_off).sum(axis=0)
    if error == 0.0 and hinge == 0.0:
        return
    if len(scores) == 1 and len(s.label_weight) == 2:
        # At a score of 0 the output is on, which is class 1.
        chosen = on[0].astype(int)
        scores = np.concatenate((-scores, scores))
    else:
        chosen = np.argmax(on if first else scores, axis=0)
    classes = np.arange(len(s.label_weight))
    cost += error * (s.label_weight * (classes[:, None] != chosen)).sum(axis=0)
    if hinge != 0.0 and len(scores) > 1:
        for c in classes:
            margin = scores[c] - np.delete(scores, c, axis=0).max(axis=0)
            cost += hinge * s.label_weight[c] * np.maximum(0.0, wanted - margin)


def _levels(thresholds: FloatArray, sums: FloatArray) -> LevelArray:
    """How many thresholds are reached; those that a unit does not have are infinite."""
    reached = (sums[..., None] >= thresholds[..., None, :]).sum(axis=-1)
    return np.asarray(reached, dtype=np.uint8)


def _values(s: Arrays, v: Levels | None, k: int, level: LevelArray) -> FloatArray:
    """Values of units of layer ``k`` at their levels."""
    return np.asarray((s.pair if v is None else v.sets)[k][level])


def inputs_of(s: Arrays, v: Levels | None, k: int) -> FloatArray:
    """Inputs of layer ``k``, one line each."""
    if k > 0:
        return _values(s, v, k - 1, s.level[layer_rows(s, k - 1)])
    if s.bits.shape[1]:
        bits = np.unpackbits(s.bits, axis=1, count=int(s.widths[0]), bitorder="little")
        return np.ascontiguousarray(bits.T, dtype=float)
    return s.inputs


def switch(v: Levels | None, thresholds: FloatArray, sums: FloatArray, level: LevelArray) -> None:
    """Bring the levels of a unit in line with its thresholds and sums."""
    level[:] = _levels(thresholds, sums)


def refresh(s: Arrays, v: Levels | None, first: int) -> None:
    """Compute sums, levels and costs anew from layer ``first`` upwards."""
    for k in range(first, len(s.widths) - 1):
        rows = layer_rows(s, k)
        s.sums[rows] = weighted_sums(inputs_of(s, v, k).T, layer_weights(s, k)).T
        s.level[rows] = _levels(s.thresholds[rows], s.sums[rows])
    output_costs(s, np.zeros_like(s.cost_on), s.cost)


def _shifts(s: Arrays, v: Levels | None, k: int, unit: int, change: FloatArray) -> list[FloatArray]:
    """Shifts of the sums of all layers above ``k`` when one of its units changes its values."""
    shifts = [np.outer(layer_weights(s, k + 1)[:, unit - s.unit_at[k]], change)]
    for upper in range(k + 1, len(s.widths) - 2):
        rows = layer_rows(s, upper)
        moved = _levels(s.thresholds[rows], s.sums[rows] + shifts[-1])
        moved = np.where(shifts[-1] == 0.0, s.level[rows], moved)
        jumps = _values(s, v, upper, moved) - _values(s, v, upper, s.level[rows])
        shifts.append(layer_weights(s, upper + 1) @ jumps)
    return shifts


def unit_gains(s: Arrays, v: Levels | None, k: int, unit: int) -> FloatArray:
    """What reaching each threshold gains on every input, of shape (levels, inputs)."""
    if k == len(s.widths) - 2:
        o = unit - s.unit_at[k]
        return np.asarray(s.goal[:1, None] * (s.cost_off[o] - s.cost_on[o]))
    count = 1 if v is None else v.counts[k]
    costs = np.empty((count + 1, s.sums.shape[1]))
    now = _values(s, v, k, s.level[unit])
    for level, line in enumerate(costs):
        change = _values(s, v, k, np.full_like(s.level[unit], level)) - now
        output_costs(s, _shifts(s, v, k, unit, change)[-1], line)
    return -np.diff(costs, axis=0)


def commit(s: Arrays, v: Levels | None, k: int, unit: int) -> float:
    """Follow a change of a unit's weights or thresholds through the layers; return the cost."""
    row = layer_weights(s, k)[unit - s.unit_at[k], None]
    s.sums[unit] = weighted_sums(inputs_of(s, v, k).T, row)[:, 0]
    before = _values(s, v, k, s.level[unit])
    switch(v, s.thresholds[unit], s.sums[unit], s.level[unit])
    change = _values(s, v, k, s.level[unit]) - before
    if k < len(s.widths) - 2 and change.any():
        for upper, shift in enumerate(_shifts(s, v, k, unit, change), start=k + 1):
            rows = layer_rows(s, upper)
            s.sums[rows] += shift
            moved = _levels(s.thresholds[rows], s.sums[rows])
            s.level[rows] = np.where(shift == 0.0, s.level[rows], moved)
    output_costs(s, np.zeros_like(s.cost_on), s.cost)
    return float(s.cost.sum())
