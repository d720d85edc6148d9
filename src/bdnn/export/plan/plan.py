"""What an exported function computes, decided before a line of it is written.

Every step is an exact statement about integers where the network and the inputs allow one:

- features become *levels*, multiples of the scaler's step, see ``levels``;
- a unit with integer weights compares an integer sum with an integer; one that looks at a single
  feature compares the raw input with a cut;
- a unit with real weights becomes one with integer weights where that is proven to decide alike on
  every input, see ``fixed_point``; else it stays real and is added in feature order;
- what follows a narrow hidden layer is a table of the class of every pattern, read off the forward
  pass;
- what never matters is left out: constant units, unused units, unused features.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bdnn.export.inputs import Integers
from bdnn.export.plan.levels import Cut, Level
from bdnn.network.activation import FloatArray

Ranges = tuple[tuple[int, int], ...]
#: Ranges of so many units.
BIT: Ranges = ((0, 1),)


@dataclass(frozen=True)
class Constant:
    """A unit that is on for all inputs, or for none."""

    is_on: bool


@dataclass(frozen=True)
class Units:
    """Units that are on iff a sum reaches a threshold; real numbers are added in input order.

    Integer sums are multiplied by the factor first; units with a cut need no sum.
    """

    weights: Integers | FloatArray
    thresholds: tuple[int, ...] | tuple[float, ...]
    factor: int = 1
    cuts: dict[int, Cut | Constant] = field(default_factory=dict)

    @property
    def is_real(self) -> bool:
        """Whether sums are no integers."""
        return self.weights.dtype.kind == "f"

    def moved(self, offsets: Integers | FloatArray) -> Units:
        """The same units for sums without some constants, one per unit."""
        pairs = zip(self.thresholds, offsets.tolist(), strict=True)
        return replace(self, thresholds=tuple(t - self.factor * by for t, by in pairs))

    def without(self, unit: int) -> Units:
        """All units but one."""
        thresholds = (*self.thresholds[:unit], *self.thresholds[unit + 1 :])
        weights = np.delete(self.weights, unit, axis=0)
        return replace(self, weights=weights, thresholds=thresholds)

    def without_input(self, place: int, is_on: bool) -> Units | None:
        """Units with one input less that is always on or always off; None if that would round."""
        if self.is_real and is_on:
            return None
        left = replace(self, weights=np.delete(self.weights, place, axis=1))
        return left.moved(self.weights[:, place]) if is_on else left


@dataclass(frozen=True)
class Table:
    """The class of every pattern of the layer before, bit 0 being its first unit."""

    classes: tuple[int, ...]


@dataclass(frozen=True)
class LargestScore:
    """The class of the largest ``factor * sum - threshold``, the first of equal ones."""

    units: Units


@dataclass(frozen=True)
class FirstOn:
    """The class of the first unit that is on, the first class if none is."""

    units: Units


@dataclass(frozen=True)
class Numbers:
    """No class, but ``shift + factor * (sum - threshold)`` of every unit, in doubles."""

    units: Units
    shift: tuple[float, ...]
    factor: tuple[float, ...]


@dataclass(frozen=True)
class Entries:
    """The class of the largest score, and an entry of a table per class by how far it is behind.

    Scores are ``factor * sum - threshold``, or 1 where the sum reaches the threshold. With d scores
    of size ``unit`` behind, a class has entry d + 1 of the table of the class found, or the last.
    """

    units: Units
    tables: tuple[tuple[int, ...], ...]
    unit: float
    by_outputs: bool


Decision = Table | LargestScore | FirstOn | Numbers | Entries


@dataclass(frozen=True)
class Plan:
    """Levels of the features, layers of units, and how a class is chosen.

    There are levels of the features that need them; others are compared raw or not at all.
    ``ranges`` are the least and largest numbers that an integer first layer gets, ``unit`` what a
    level of 1 is worth. A first layer that is written out has a statement per unit rather than a
    loop.
    """

    levels: dict[int, Level]
    ranges: Ranges
    unit: float | None
    layers: tuple[Units, ...]
    decision: Decision
    is_written_out: bool = True

    @property
    def stages(self) -> tuple[Units, ...]:
        """All units in turn, the outputs last if they are any; the first look at the features."""
        return (
            self.layers if isinstance(self.decision, Table) else (*self.layers, self.decision.units)
        )

    @property
    def is_integer(self) -> bool:
        """Whether no floating point is left."""
        return not any(units.is_real for units in self.stages)

    @property
    def is_constant(self) -> bool:
        """Whether every input has the same class."""
        return isinstance(self.decision, Table) and len(set(self.decision.classes)) == 1

    @property
    def n_numbers(self) -> int:
        """How many numbers the function gives, 0 for one that gives a class."""
        return len(self.decision.shift) if isinstance(self.decision, Numbers) else 0

    @property
    def n_weights(self) -> int:
        """How many weights of classes the function gives, 0 for one that gives none."""
        return len(self.decision.tables) if isinstance(self.decision, Entries) else 0

    def with_stage(self, place: int, units: Units) -> Plan:
        """The plan with other units at one of its stages."""
        if place < len(self.layers) or isinstance(self.decision, Table):
            layers = (*self.layers[:place], units, *self.layers[place + 1 :])
            return replace(self, layers=layers)
        return replace(self, decision=replace(self.decision, units=units))


def reach(weights: Integers, ranges: Ranges) -> tuple[Integers, Integers]:
    """Least and largest sum of every unit."""
    low = np.array([first for first, _ in ranges], dtype=np.int64)
    high = np.array([last for _, last in ranges], dtype=np.int64)
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    least, most = up @ low + down @ high, up @ high + down @ low
    return np.asarray(least, dtype=np.int64), np.asarray(most, dtype=np.int64)


def prune(plan: Plan) -> Plan:
    """Leave out units that are constant on all inputs or change no class, until none is left."""
    while True:
        if isinstance(plan.decision, Table) and plan.is_constant:
            return replace(plan, levels={}, layers=(), decision=Table(plan.decision.classes[:1]))
        smaller = _without_constant(plan) or _without_unused(plan)
        if smaller is None:
            return plan
        plan = smaller


def _without_constant(plan: Plan) -> Plan | None:
    ranges = plan.ranges
    for place, layer in enumerate(plan.layers):
        if not layer.is_real:
            low, high = reach(layer.weights.astype(np.int64), ranges)
            limits = np.array(layer.thresholds, dtype=object)
            always, never = low >= limits, high < limits
            for i in np.flatnonzero(always | never).tolist():
                found = _drop(plan, place, i, bool(always[i]))
                if found is not None:
                    return found
        ranges = BIT * len(layer.thresholds)
    return None


def _without_unused(plan: Plan) -> Plan | None:
    for place, layer in enumerate(plan.layers):
        for i in range(len(layer.thresholds)):
            if isinstance(plan.decision, Table) and place + 1 == len(plan.layers):
                is_used = np.not_equal(*_halves(plan.decision, i)).any()
            else:
                is_used = plan.stages[place + 1].weights[:, i].any()
            found = None if is_used else _drop(plan, place, i, False)
            if found is not None:
                return found
    return None


def _drop(plan: Plan, place: int, unit: int, is_on: bool) -> Plan | None:
    """Leave out a unit that counts as always on or always off; None if it has to stay."""
    smaller = plan.with_stage(place, plan.layers[place].without(unit))
    if isinstance(plan.decision, Table) and place + 1 == len(plan.layers):
        classes = _halves(plan.decision, unit)[int(is_on)]
        return replace(smaller, decision=Table(tuple(classes.reshape(-1).tolist())))
    after = plan.stages[place + 1].without_input(unit, is_on)
    if after is None or len(plan.layers[place].thresholds) == 1:
        return None
    return smaller.with_stage(place + 1, after)


def _halves(table: Table, unit: int) -> tuple[Integers, Integers]:
    """Entries of a table for a unit that is off, and for one that is on."""
    pairs = np.array(table.classes).reshape(-1, 2, 1 << unit)
    return pairs[:, 0], pairs[:, 1]
