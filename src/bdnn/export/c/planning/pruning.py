"""What never matters is left out of a plan: constant units, unused units, unused features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.export.c.planning.plan import (
    Decision,
    FirstOn,
    IntegerUnits,
    LargestScore,
    Layer,
    Plan,
    RealUnits,
    Table,
    reach,
)

_BIT = ((0, 1),)


def prune(plan: Plan) -> Plan:
    """Leave out units that are constant on all inputs or change no class, until none is left."""
    while True:
        smaller = _without_unused(_without_constants(plan))
        if isinstance(smaller.decision, Table) and len(set(smaller.decision.classes)) == 1:
            return replace(
                smaller, levels={}, layers=(), decision=Table(smaller.decision.classes[:1])
            )
        if smaller is plan:
            return plan
        plan = smaller


def _without_constants(plan: Plan) -> Plan:
    ranges = plan.ranges
    for place, layer in enumerate(plan.layers):
        if isinstance(layer, IntegerUnits):
            low, high = reach(layer.weights, ranges)
            limits = np.array(layer.thresholds, dtype=object)
            always, never = low >= limits, high < limits
            for i in np.flatnonzero(always | never).tolist():
                found = _drop(plan, place, i, bool(always[i]))
                if found is not None:
                    return found
        ranges = _BIT * len(layer.thresholds)
    return plan


def _without_unused(plan: Plan) -> Plan:
    for place in range(len(plan.layers)):
        for i in range(len(plan.layers[place].thresholds)):
            if _is_unused(plan, place, i):
                found = _drop(plan, place, i, False)
                if found is not None:
                    return found
    return plan


def _is_unused(plan: Plan, place: int, unit: int) -> bool:
    """Whether the units and the decision after a layer do not look at one of its units."""
    if place + 1 < len(plan.layers):
        return not plan.layers[place + 1].weights[:, unit].any()
    match plan.decision:
        case Table(classes):
            pairs = np.array(classes).reshape(-1, 2, 1 << unit)
            return bool((pairs[:, 0] == pairs[:, 1]).all())
        case LargestScore(weights=weights):
            return not weights[:, unit].any()
        case FirstOn(units):
            return not units.weights[:, unit].any()
        case _:
            return not plan.decision.units.weights[:, unit].any()


def _drop(plan: Plan, place: int, unit: int, is_on: bool) -> Plan | None:
    """Leave out a unit that counts as always on or always off; None if that would round."""
    layer = plan.layers[place]
    if len(layer.thresholds) == 1 and not (
        place + 1 == len(plan.layers) and isinstance(plan.decision, Table)
    ):
        return None
    if place + 1 < len(plan.layers):
        after = plan.layers[place + 1]
        if not isinstance(after, IntegerUnits):
            return None if is_on else _shrunk(plan, place, unit, _real_without(after, unit))
        return _shrunk(plan, place, unit, _units_without(after, unit, is_on))
    decision: Decision
    match plan.decision:
        case Table(classes):
            pairs = np.array(classes).reshape(-1, 2, 1 << unit)
            decision = Table(tuple(pairs[:, int(is_on)].reshape(-1).tolist()))
        case LargestScore(weights, factor, offsets):
            moved = tuple(
                offset - factor * int(w) * is_on
                for offset, w in zip(offsets, weights[:, unit], strict=True)
            )
            decision = LargestScore(np.delete(weights, unit, axis=1), factor, moved)
        case FirstOn(units):
            decision = FirstOn(_units_without(units, unit, is_on))
        case _:
            if is_on:
                return None
            decision = replace(plan.decision, units=_real_without(plan.decision.units, unit))
    layers = (*plan.layers[:place], _without_unit(layer, unit))
    return replace(plan, layers=layers, decision=decision)


def _shrunk(plan: Plan, place: int, unit: int, after: Layer) -> Plan:
    """A plan with one unit less, and the layer after it."""
    layers = list(plan.layers)
    layers[place], layers[place + 1] = _without_unit(layers[place], unit), after
    return replace(plan, layers=tuple(layers))


def _without_unit(layer: Layer, unit: int) -> Layer:
    """A layer with one unit less."""
    if not isinstance(layer, IntegerUnits):
        weights = np.delete(layer.weights, unit, axis=0)
        return RealUnits(weights, np.delete(layer.thresholds, unit))
    thresholds = (*layer.thresholds[:unit], *layer.thresholds[unit + 1 :])
    return IntegerUnits(np.delete(layer.weights, unit, axis=0), thresholds)


def _units_without(units: IntegerUnits, place: int, is_on: bool) -> IntegerUnits:
    """Units with one input less, which counts as always on or always off."""
    moved = tuple(
        limit - int(w) * is_on
        for limit, w in zip(units.thresholds, units.weights[:, place], strict=True)
    )
    return IntegerUnits(np.delete(units.weights, place, axis=1), moved)


def _real_without(units: RealUnits, place: int) -> RealUnits:
    """Units with one input less, which is never on."""
    return replace(units, weights=np.delete(units.weights, place, axis=1))
