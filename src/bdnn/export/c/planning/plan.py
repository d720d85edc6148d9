"""What a C function computes, decided before a line of C is written.

Every step is an exact statement about integers where the network and the inputs allow one:

- features become *levels*, multiples of the scaler's step, see ``levels``;
- a unit with integer weights compares an integer sum with an integer; one that looks at a single
  feature compares the raw input with a cut;
- a unit with real weights becomes one with integer weights where that is proven to decide alike on
  every input, see ``fixed_point``; else it stays real and is added in feature order;
- what follows a narrow hidden layer is a table of the class of every pattern, read off the forward
  pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bdnn.export.c.planning.levels import Level
from bdnn.export.inputs import Integers
from bdnn.network.activation import FloatArray


@dataclass(frozen=True)
class Cut:
    """A unit that is on iff a raw input is at least a value, or below it."""

    feature: int
    is_at_least: bool
    value: int | float


@dataclass(frozen=True)
class Constant:
    """A unit that is on for all inputs, or for none."""

    is_on: bool


@dataclass(frozen=True)
class IntegerUnits:
    """Units that are on iff an integer sum reaches an integer threshold.

    Those in ``cuts`` need no sum.
    """

    weights: Integers
    thresholds: tuple[int, ...]
    cuts: dict[int, Cut | Constant] = field(default_factory=dict)


@dataclass(frozen=True)
class RealUnits:
    """Units that add real numbers in input order."""

    weights: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True)
class Table:
    """The class of every pattern of the layer before, bit 0 being its first unit."""

    classes: tuple[int, ...]


@dataclass(frozen=True)
class LargestScore:
    """The class of the largest ``factor * sum - offset``, the first of equal ones."""

    weights: Integers
    factor: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class FirstOn:
    """The class of the first unit that is on, the first class if none is."""

    units: IntegerUnits


@dataclass(frozen=True)
class RealDecision:
    """Outputs with real numbers, by score or by the first one that is on."""

    units: RealUnits
    ties: str


Layer = IntegerUnits | RealUnits
Decision = Table | LargestScore | FirstOn | RealDecision


@dataclass(frozen=True)
class Plan:
    """Levels of the features, layers of units, and how a class is chosen.

    Parameters
    ----------
    levels : dict of int to Level
        Of the features whose levels are needed; others are compared raw or not at all.
    ranges : tuple of (int, int)
        Least and largest number that an integer first layer gets from every feature.
    layers : tuple of IntegerUnits or RealUnits
    decision : Table, LargestScore, FirstOn or RealDecision
    is_written_out : bool
        Whether the first layer has a statement per unit rather than a loop.
    """

    levels: dict[int, Level]
    ranges: tuple[tuple[int, int], ...]
    layers: tuple[Layer, ...]
    decision: Decision
    is_written_out: bool = True

    @property
    def has_first(self) -> bool:
        """Whether anything looks at the features at all."""
        return bool(self.layers) or not isinstance(self.decision, Table)

    @property
    def first(self) -> Layer:
        """Units that look at the features; the outputs if there is no hidden layer."""
        if self.layers:
            return self.layers[0]
        if isinstance(self.decision, LargestScore):
            return IntegerUnits(self.decision.weights, (0,) * len(self.decision.offsets))
        if isinstance(self.decision, FirstOn | RealDecision):
            return self.decision.units
        raise TypeError("a table needs a layer before it")

    @property
    def is_integer(self) -> bool:
        """Whether no floating point is left."""
        decided = not isinstance(self.decision, RealDecision)
        return decided and all(isinstance(layer, IntegerUnits) for layer in self.layers)


def reach(weights: Integers, ranges: tuple[tuple[int, int], ...]) -> tuple[Integers, Integers]:
    """Least and largest sum of every unit."""
    low = np.array([first for first, _ in ranges], dtype=np.int64)
    high = np.array([last for _, last in ranges], dtype=np.int64)
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    least, most = up @ low + down @ high, up @ high + down @ low
    return np.asarray(least, dtype=np.int64), np.asarray(most, dtype=np.int64)
