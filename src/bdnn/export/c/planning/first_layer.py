"""The last touches to an integer first layer: cuts, levels that start at 0, loop or no loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.export.c.planning.cuts import find_cut
from bdnn.export.c.planning.plan import (
    Constant,
    Cut,
    FirstOn,
    IntegerUnits,
    LargestScore,
    Plan,
    reach,
)
from bdnn.export.c.text import integer_type, mask_bytes, size_of
from bdnn.export.inputs import InputFormat, Integers

# Rough bytes of code or tables for the level of one feature.
_LEVEL_WRITTEN_OUT, _LEVEL_IN_LOOP = 12, 7
_LEVEL_LOOP = 40
_CUT = 8


def shape_first(plan: Plan, scaler: Encoder, inputs: InputFormat, unit: float | None) -> Plan:
    """Choose between a loop and statements, and put the offsets of levels into the thresholds."""
    units = plan.first
    if not isinstance(units, IntegerUnits):
        return plan
    cuts = (
        {}
        if isinstance(plan.decision, LargestScore) and not plan.layers
        else _cuts(plan, units, scaler, inputs, unit)
    )
    summed = [i for i in range(len(units.weights)) if i not in cuts]
    n_used = int(np.count_nonzero(units.weights[summed].any(axis=0)))
    moved = not inputs.is_integer or not all(level.is_count for level in plan.levels.values())
    cost_written = _cost_written(units.weights[summed]) + _CUT * len(cuts)
    cost_looped = _cost_looped(units.weights)
    if moved:
        cost_written += _LEVEL_WRITTEN_OUT * n_used
        cost_looped += _LEVEL_LOOP + _LEVEL_IN_LOOP * units.weights.shape[1]
    is_written_out = cost_written <= cost_looped
    if not is_written_out:
        cuts = {}
    kept = [i for i in range(len(units.weights)) if i not in cuts]
    used = set(np.flatnonzero(units.weights[kept].any(axis=0)).tolist())
    levels = {j: level for j, level in plan.levels.items() if j in used}
    plan = replace(plan, levels=levels, is_written_out=is_written_out)
    return _moved(plan, replace(units, cuts=cuts))


def _cost_written(weights: Integers) -> int:
    """Rough bytes of a statement per unit: an instruction per term, more with a product."""
    size = np.abs(weights)
    return int(3 * (np.count_nonzero(size) + np.count_nonzero(size > 1)) + 8 * len(weights))


def _cost_looped(weights: Integers) -> int:
    """Rough bytes of masks or weights, and of the loop over them."""
    if np.abs(weights).max(initial=0) <= 1:
        return 90 + 2 * len(weights) * mask_bytes(int(weights.shape[1]))
    return 60 + int(weights.size) * size_of(integer_type(weights.reshape(-1).tolist()))


def _cuts(
    plan: Plan, units: IntegerUnits, scaler: Encoder, inputs: InputFormat, unit: float | None
) -> dict[int, Cut | Constant]:
    """Units that need no sum; without levels only those that are constant."""
    low, high = reach(units.weights, plan.ranges)
    cuts: dict[int, Cut | Constant] = {}
    for i, (row, limit) in enumerate(zip(units.weights, units.thresholds, strict=True)):
        if not low[i] < limit <= high[i]:
            cuts[i] = Constant(bool(low[i] >= limit))
        elif unit is not None and np.count_nonzero(row) == 1:
            cuts[i] = find_cut(row, limit, scaler, inputs, unit)
    return cuts


def _moved(plan: Plan, units: IntegerUnits) -> Plan:
    """Take the lowest level of every feature out of the sums, which then start at 0."""
    lowest = np.zeros(units.weights.shape[1], dtype=np.int64)
    for j, level in plan.levels.items():
        lowest[j] = level.lowest
    offsets = (units.weights @ lowest).tolist()
    if not plan.layers and isinstance(plan.decision, LargestScore):
        scores = plan.decision
        moved = tuple(o - scores.factor * d for o, d in zip(scores.offsets, offsets, strict=True))
        return replace(plan, decision=replace(scores, offsets=moved))
    limits = tuple(
        limit - (0 if i in units.cuts else offset)
        for i, (limit, offset) in enumerate(zip(units.thresholds, offsets, strict=True))
    )
    units = replace(units, thresholds=limits)
    if plan.layers:
        return replace(plan, layers=(units, *plan.layers[1:]))
    return replace(plan, decision=FirstOn(units))
