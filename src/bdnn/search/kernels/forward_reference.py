"""The primitives of :mod:`bdnn.search.kernels.forward` in plain numpy, for tests and fallback."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.search.kernels.arrays import Arrays, LevelArray, Levels


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
    on = scores >= 0.0
    cost[:] = loss * np.where(on, s.cost_on, s.cost_off).sum(axis=0)
    if error == 0.0 and hinge == 0.0:
        return
    if len(scores) == 1 and len(s.mass) == 2:
        # At a score of 0 the output is on, which is class 1.
        chosen = on[0].astype(int)
        scores = np.concatenate((-scores, scores))
    else:
        chosen = np.argmax(on if first else scores, axis=0)
    classes = np.arange(len(s.mass))
    cost += error * (s.mass * (classes[:, None] != chosen)).sum(axis=0)
    if hinge != 0.0 and len(scores) > 1:
        for c in classes:
            margin = scores[c] - np.delete(scores, c, axis=0).max(axis=0)
            cost += hinge * s.mass[c] * np.maximum(0.0, wanted - margin)


def _levels(thresholds: FloatArray, sums: FloatArray) -> LevelArray:
    """How many thresholds are reached; those that a unit does not have are infinite."""
    reached = (sums[..., None] >= thresholds[..., None, :]).sum(axis=-1)
    return np.asarray(reached, dtype=np.uint8)


def _values(s: Arrays, v: Levels | None, k: int, level: LevelArray) -> FloatArray:
    """Values of units of layer ``k`` at their levels."""
    return np.asarray((s.pair if v is None else v.sets)[k][level])


def _below(s: Arrays, v: Levels | None, k: int) -> FloatArray:
    """Inputs of layer ``k``, one line each."""
    return s.inputs if k == 0 else _values(s, v, k - 1, s.level[layer_rows(s, k - 1)])


def input_line(s: Arrays, v: Levels | None, k: int, j: int, target: FloatArray) -> None:
    """Write input ``j`` of layer ``k`` for all samples."""
    target[:] = _below(s, v, k)[j]


def switch(v: Levels | None, thresholds: FloatArray, sums: FloatArray, level: LevelArray) -> None:
    """Bring the levels of a unit in line with its thresholds and sums."""
    level[:] = _levels(thresholds, sums)


def refresh(s: Arrays, v: Levels | None, first: int) -> None:
    """Compute sums, levels and costs anew from layer ``first`` upwards."""
    for k in range(first, len(s.widths) - 1):
        rows = layer_rows(s, k)
        s.sums[rows] = weighted_sums(_below(s, v, k).T, layer_weights(s, k)).T
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
    s.sums[unit] = weighted_sums(_below(s, v, k).T, row)[:, 0]
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


def unit_task(s: Arrays, v: Levels | None, k: int, unit: int) -> tuple[FloatArray, FloatArray]:
    """Collect the inputs on which a unit of layer ``k`` matters, and what they gain."""
    gains = unit_gains(s, v, k, unit)
    active = (gains != 0.0).any(axis=0)
    return np.ascontiguousarray(_below(s, v, k)[:, active]), np.ascontiguousarray(gains[:, active])
