"""The last touches to an integer first layer: cuts, levels that start at 0, loop or no loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.export.c.text import integer_type, mask_bytes, size_of
from bdnn.export.inputs import InputFormat, Integers
from bdnn.export.plan.levels import Cut, find_cut
from bdnn.export.plan.plan import Constant, LargestScore, Plan, Units, reach

# Rough bytes of code or tables for the level of one feature.
_LEVEL_WRITTEN_OUT, _LEVEL_IN_LOOP = 12, 7
_LEVEL_LOOP = 40
_CUT = 8


def lay_out(plan: Plan, scaler: Encoder, inputs: InputFormat) -> Plan:
    """Choose between a loop and statements, and put the offsets of levels into the thresholds."""
    if not plan.stages or plan.stages[0].is_real:
        return plan
    units = plan.stages[0]
    weights = units.weights.astype(np.int64)
    by_score = isinstance(plan.decision, LargestScore) and not plan.layers
    cuts = {} if by_score else _cuts(plan, units, weights, scaler, inputs)
    cost_written = _cost_written(_summed(weights, cuts)) + _CUT * len(cuts)
    cost_looped = _cost_looped(weights)
    if not inputs.is_integer or not all(level.is_count for level in plan.levels.values()):
        n_used = int(np.count_nonzero(_summed(weights, cuts).any(axis=0)))
        cost_written += _LEVEL_WRITTEN_OUT * n_used
        cost_looped += _LEVEL_LOOP + _LEVEL_IN_LOOP * weights.shape[1]
    is_written_out = cost_written <= cost_looped
    if not is_written_out:
        cuts = {}
    used = np.flatnonzero(_summed(weights, cuts).any(axis=0)).tolist()
    levels = {j: level for j, level in plan.levels.items() if j in used}
    # The lowest level of every feature is taken out of the sums, which then start at 0.
    lowest = np.zeros(weights.shape[1], dtype=np.int64)
    lowest[list(levels)] = [level.lowest for level in levels.values()]
    offsets = weights @ lowest
    offsets[list(cuts)] = 0
    plan = replace(plan, levels=levels, is_written_out=is_written_out)
    return plan.with_stage(0, replace(units.moved(offsets), cuts=cuts))


def _summed(weights: Integers, cuts: dict[int, Cut | Constant]) -> Integers:
    """Weights of the units that need a sum."""
    return np.delete(weights, list(cuts), axis=0)


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
    plan: Plan, units: Units, weights: Integers, scaler: Encoder, inputs: InputFormat
) -> dict[int, Cut | Constant]:
    """Units that need no sum; without levels only those that are constant."""
    low, high = reach(weights, plan.ranges)
    cuts: dict[int, Cut | Constant] = {}
    for i, (row, limit) in enumerate(zip(weights, units.thresholds, strict=True)):
        if not low[i] < limit <= high[i]:
            cuts[i] = Constant(bool(low[i] >= limit))
        elif plan.unit is not None and np.count_nonzero(row) == 1:
            cuts[i] = find_cut(row, int(limit), scaler, inputs, plan.unit)
    return cuts
