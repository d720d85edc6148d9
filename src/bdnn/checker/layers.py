"""A layer as a model file states it: weights of a set, thresholds, and the values of its units."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

Number = int | float

STEP = (0, 1)
_NAMES = {"step": STEP, "sign": (-1, 1), "ternary": (-1, 0, 1)}
_MOST_VALUES = 16
_VALUE = r"-?[0-9]{1,6}"
_VALUES = re.compile(rf"values:{_VALUE}(/{_VALUE})*(@.*)?")
# Fixed distances are added to a unit's own shift in double arithmetic.
_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class Layer:
    """Weights of a layer, one line of thresholds per unit, weight set, and values of the units."""

    weights: list[list[Number]]
    limits: list[list[Number]]
    kind: str
    values: tuple[int, ...] = STEP
    fixed: tuple[float, ...] | None = None

    @property
    def is_step(self) -> bool:
        """Whether units are 0 or 1."""
        return self.values == STEP

    @property
    def thresholds(self) -> list[Number]:
        """The first threshold of every unit, the only one of a step."""
        return [line[0] for line in self.limits]


def parse_activation(name: object) -> tuple[tuple[int, ...], tuple[float, ...] | None]:
    """Values and fixed thresholds of an activation, None where thresholds are free."""
    if not isinstance(name, str):
        raise ValueError("an activation has no name")
    values, _, limits = name.removeprefix("values:").partition("@")
    levels = re.fullmatch(r"levels:([0-9]{1,2})", name)
    if levels:
        found: tuple[int, ...] = tuple(range(int(levels[1])))
    elif name in _NAMES:
        found = _NAMES[name]
    elif _VALUES.fullmatch(name):
        found = tuple(int(v) for v in values.split("/"))
    else:
        raise ValueError("an unknown activation")
    fixed = tuple(float(t) for t in limits.split("/")) if limits else None
    ascending = list(found) == sorted(set(found)) and 2 <= len(found) <= _MOST_VALUES
    if fixed is not None and not all(map(math.isfinite, fixed)):
        raise ValueError("an activation with a threshold that is not finite")
    if not ascending or (fixed and (len(fixed) != len(found) - 1 or list(fixed) != sorted(fixed))):
        raise ValueError("an activation whose values or thresholds are out of order")
    return found, fixed


def set_complaint(layer: Layer, threshold_kind: str) -> str | None:
    """Say what about a layer does not fit its weight set or kind of thresholds."""
    numbers = [w for row in layer.weights for w in row]
    match = re.fullmatch(r"int:([0-9]{1,6})", layer.kind)
    limit = int(match[1]) if match else 1
    if not match and layer.kind not in ("continuous", "ternary", "binary"):
        return f"unknown weight set {layer.kind!r}"
    if any(abs(w) > limit for w in numbers):
        return f"a weight beyond {limit}"
    if layer.kind != "continuous" and any(w != int(w) for w in numbers):
        return "a weight that is no integer"
    if layer.kind == "binary" and 0 in numbers:
        return "a weight 0 in a binary layer"
    if not layer.is_step or layer.fixed is not None:
        return _limits_complaint(layer.limits, layer.values, layer.fixed, threshold_kind)
    if threshold_kind == "zero" and any(layer.thresholds):
        return "a threshold that is not 0"
    if threshold_kind == "layer" and len(set(layer.thresholds)) > 1:
        return "thresholds that differ within a layer"
    return None


def _offsets(values: Sequence[int], fixed: Sequence[float] | None) -> list[Fraction]:
    """Thresholds of a unit whose shift is 0."""
    if fixed is not None:
        return [Fraction(t) for t in fixed]
    if len(values) == 2:
        return [Fraction(0)]
    return [Fraction(a + b, 2) for a, b in pairwise(values)]


def _limits_complaint(
    limits: Sequence[Sequence[float]],
    values: Sequence[int],
    fixed: Sequence[float] | None,
    kind: str,
) -> str | None:
    """Say what about the thresholds of units of several values does not fit, one line per unit."""
    wanted = _offsets(values, fixed)
    lines = [[Fraction(t) for t in line] for line in limits]
    if any(line != sorted(line) for line in lines):
        return "thresholds out of order"
    if kind == "zero" and any(line != wanted for line in lines):
        return "a threshold that is not the fixed one"
    if kind == "layer" and any(line != lines[0] for line in lines):
        return "thresholds that differ within a layer"
    for line in lines if fixed is not None else ():
        size = 1 + max(abs(t) for t in line)
        gaps = (t - line[0] - (o - wanted[0]) for t, o in zip(line, wanted, strict=True))
        if any(abs(gap) > _ROUNDING * size for gap in gaps):
            return "thresholds that are not at their fixed distances"
    return None
