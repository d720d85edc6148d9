"""The primitives of :mod:`bdnn.search.kernels.forward` in plain numpy, for tests and fallback."""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray, weighted_sums
from bdnn.search.kernels.arrays import Arrays


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
    scores = s.sums[rows] + shift - s.thresholds[rows, None]
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


def refresh(s: Arrays, first: int) -> None:
    """Compute sums, activations and costs anew from layer ``first`` upwards."""
    for k in range(first, len(s.widths) - 1):
        below = s.inputs if k == 0 else s.on[layer_rows(s, k - 1)].astype(float)
        rows = layer_rows(s, k)
        s.sums[rows] = weighted_sums(below.T, layer_weights(s, k)).T
        s.on[rows] = s.sums[rows] >= s.thresholds[rows, None]
    output_costs(s, np.zeros_like(s.cost_on), s.cost)


def _shifts(s: Arrays, k: int, unit: int, change: FloatArray) -> list[FloatArray]:
    """Shifts of the sums of all layers above ``k`` when one of its units changes its values."""
    shifts = [np.outer(layer_weights(s, k + 1)[:, unit - s.unit_at[k]], change)]
    for upper in range(k + 1, len(s.widths) - 2):
        rows = layer_rows(s, upper)
        moved = s.sums[rows] + shifts[-1] >= s.thresholds[rows, None]
        on = np.where(shifts[-1] == 0.0, s.on[rows], moved)
        shifts.append(layer_weights(s, upper + 1) @ (on.astype(float) - s.on[rows]))
    return shifts


def unit_gains(s: Arrays, k: int, unit: int) -> FloatArray:
    """Cost with a unit of layer ``k`` off minus cost with it on, for every input."""
    top = len(s.widths) - 2
    if k == top:
        o = unit - s.unit_at[top]
        return np.asarray(s.goal[0] * (s.cost_off[o] - s.cost_on[o]))
    change = np.where(s.on[unit], -1.0, 1.0)
    flipped = np.empty_like(s.cost)
    output_costs(s, _shifts(s, k, unit, change)[-1], flipped)
    return np.asarray(change * (s.cost - flipped))


def commit(s: Arrays, k: int, unit: int) -> float:
    """Follow a change of a unit's weights or threshold through the layers; return the cost."""
    below = s.inputs if k == 0 else s.on[layer_rows(s, k - 1)].astype(float)
    s.sums[unit] = weighted_sums(below.T, layer_weights(s, k)[unit - s.unit_at[k], None])[:, 0]
    on = s.sums[unit] >= s.thresholds[unit]
    change = on.astype(float) - s.on[unit]
    s.on[unit] = on
    if k < len(s.widths) - 2 and change.any():
        for upper, shift in enumerate(_shifts(s, k, unit, change), start=k + 1):
            rows = layer_rows(s, upper)
            s.sums[rows] += shift
            moved = s.sums[rows] >= s.thresholds[rows, None]
            s.on[rows] = np.where(shift == 0.0, s.on[rows], moved)
    output_costs(s, np.zeros_like(s.cost_on), s.cost)
    return float(s.cost.sum())


def gather(s: Arrays, k: int, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Collect inputs of layer ``k``, one line per weight, and gains, where the gain is not zero."""
    active = np.flatnonzero(gains)
    below = s.inputs if k == 0 else s.on[layer_rows(s, k - 1)]
    return np.ascontiguousarray(below[:, active], dtype=float), gains[active]
