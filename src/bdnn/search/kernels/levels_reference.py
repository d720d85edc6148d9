"""The primitives of :mod:`bdnn.search.kernels.levels` in plain numpy, for tests and fallback."""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray, weighted_sums
from bdnn.search.kernels.arrays import Arrays, Levels
from bdnn.search.kernels.forward_reference import layer_rows, layer_weights, output_costs

_TOLERANCE = 1e-9
_CLEARANCE = 0.5


def _values(v: Levels, k: int, rows: slice, sums: FloatArray) -> FloatArray:
    reached = (sums[..., None] >= v.thresholds[rows, None, :]).sum(axis=-1)
    return np.asarray(v.sets[k][reached])


def _below(s: Arrays, v: Levels, k: int) -> FloatArray:
    return s.inputs if k == 0 else v.values[layer_rows(s, k - 1)]


def refresh_levels(s: Arrays, v: Levels, first: int) -> None:
    """Compute sums, values and costs anew from layer ``first`` upwards."""
    top = len(s.widths) - 2
    for k in range(first, top + 1):
        rows = layer_rows(s, k)
        s.sums[rows] = weighted_sums(_below(s, v, k).T, layer_weights(s, k)).T
        if k < top:
            v.values[rows] = _values(v, k, rows, s.sums[rows])
        else:
            s.on[rows] = s.sums[rows] >= s.thresholds[rows, None]
    output_costs(s, np.zeros_like(s.cost_on), s.cost)


def _shifts(s: Arrays, v: Levels, k: int, unit: int, change: FloatArray) -> list[FloatArray]:
    """Shifts of the sums of all layers above ``k`` when one of its units changes its values."""
    shifts = [np.outer(layer_weights(s, k + 1)[:, unit - s.unit_at[k]], change)]
    for upper in range(k + 1, len(s.widths) - 2):
        rows = layer_rows(s, upper)
        moved = _values(v, upper, rows, s.sums[rows] + shifts[-1])
        moved = np.where(shifts[-1] == 0.0, v.values[rows], moved)
        shifts.append(layer_weights(s, upper + 1) @ (moved - v.values[rows]))
    return shifts


def level_costs(s: Arrays, v: Levels, k: int, unit: int) -> FloatArray:
    """Cost of every input with a unit of hidden layer ``k`` at each of its levels."""
    costs = np.empty((v.counts[k] + 1, s.sums.shape[1]))
    for level, line in enumerate(costs):
        change = v.sets[k, level] - v.values[unit]
        output_costs(s, _shifts(s, v, k, unit, change)[-1], line)
    return costs


def commit_levels(s: Arrays, v: Levels, k: int, unit: int) -> float:
    """Follow a change of a hidden unit through the layers; return the cost."""
    row = layer_weights(s, k)[unit - s.unit_at[k], None]
    s.sums[unit] = weighted_sums(_below(s, v, k).T, row)[:, 0]
    values = _values(v, k, slice(unit, unit + 1), s.sums[unit : unit + 1])[0]
    change = values - v.values[unit]
    v.values[unit] = values
    for upper, shift in enumerate(_shifts(s, v, k, unit, change), start=k + 1):
        rows = layer_rows(s, upper)
        s.sums[rows] += shift
        if upper < len(s.widths) - 2:
            moved = _values(v, upper, rows, s.sums[rows])
            v.values[rows] = np.where(shift == 0.0, v.values[rows], moved)
        else:
            s.on[rows] = np.where(
                shift == 0.0, s.on[rows], s.sums[rows] >= s.thresholds[rows, None]
            )
    output_costs(s, np.zeros_like(s.cost_on), s.cost)
    return float(s.cost.sum())


def gather_levels(s: Arrays, v: Levels, k: int, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Collect inputs of layer ``k`` and gains of every threshold, where levels differ."""
    active = (costs != costs[0]).any(axis=0)
    H = np.ascontiguousarray(_below(s, v, k)[:, active])
    return H, np.ascontiguousarray(-np.diff(costs, axis=0)[:, active])


def merit_of_levels(sums: FloatArray, thresholds: FloatArray, gains: FloatArray) -> float:
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
