"""Constraints on weights: features without, weights with a value, features that only help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.context import Context, whole
from bdnn.constraints.rules import AbstractRule, PathSigns, WeightBounds
from bdnn.errors import ModelError


@dataclass(frozen=True, eq=False)
class Forbid(AbstractConstraint):
    """No unit of the first layer has a weight on a feature.

    Parameters
    ----------
    feature : str or int
    """

    feature: str | int

    def resolve(self, context: Context) -> list[AbstractRule]:
        """Fix the feature's weights at zero."""
        shape = context.architecture
        j = context.feature(self.feature, self.name)
        if not shape.weights[0].zero:
            raise ModelError(
                f"{self.name} cannot hold with weights '{shape.weights[0].name}', none of which is "
                "zero: use for example weights='ternary'."
            )
        low = np.full((shape.widths[1], shape.n_features), -np.inf)
        low[:, j] = 0.0
        promise = {"kind": "unused", "features": [j]}
        return [WeightBounds(self.name, frozenset(), 0, low, -low, promise)]

    @property
    def name(self) -> str:
        """As the user writes it."""
        return f"Forbid({self.feature!r})"


@dataclass(frozen=True, eq=False)
class FixedWeight(AbstractConstraint):
    """``network_.weights[layer][unit, input] == value``.

    Parameters
    ----------
    layer : int
        From 0, the layer of the outputs last.
    unit : int
    input : int or str
        Number of the unit below; in layer 0 a feature, by number or name.
    value : float
        Of the layer's weight set.
    """

    layer: int
    unit: int
    input: int | str
    value: float

    def resolve(self, context: Context) -> list[AbstractRule]:
        """Fix the weight."""
        shape, name = context.architecture, self.name
        k = whole(self.layer, f"{name}: layer", 0, shape.n_layers - 1)
        unit = whole(self.unit, f"{name}: unit", 0, shape.widths[k + 1] - 1)
        if k == 0:
            j = context.feature(self.input, name)
        else:
            j = whole(self.input, f"{name}: input", 0, shape.widths[k] - 1)
        value, kind = self.value, shape.weights[k]
        is_number = isinstance(value, int | float | np.integer | np.floating)
        if not is_number or isinstance(value, bool) or not kind.contains(np.array([float(value)])):
            raise ModelError(
                f"{name}: value must be of the weight set '{kind.name}', got {value!r}: give a "
                "weight of the set."
            )
        low = np.full((shape.widths[k + 1], shape.widths[k]), -np.inf)
        high = -low
        low[unit, j] = high[unit, j] = float(value)
        # Pairs of outputs and units that are turned round would have the weight's negative.
        undone = {shape.n_layers - 1: "one_output", shape.n_layers - 2: "signed"}.get(k)
        undoes = frozenset() if undone is None else frozenset({undone})
        promise = {"kind": "weight", "layer": k, "unit": unit, "input": j, "value": float(value)}
        return [WeightBounds(name, undoes, k, low, high, promise)]


@dataclass(frozen=True, eq=False)
class Monotone(AbstractConstraint):
    """Raising a feature never speaks against a class.

    No path of weights from the feature has the wrong sign: to the output of the class none is
    negative, to the other outputs none is positive (with ``sign=-1`` the other way round). The
    scores then move only that way with the feature, whatever the other features are, and a sample
    that has the class keeps it.

    Parameters
    ----------
    feature : str or int
    sign : {1, -1}, default 1
        Whether larger values speak for the class or against it.
    label : object, default None
        The class; of two classes the second by default.
    """

    feature: str | int
    sign: int = 1
    label: Any = None

    def resolve(self, context: Context) -> list[AbstractRule]:
        """Constrain the signs of paths."""
        if self.sign not in (1, -1) or isinstance(self.sign, bool):
            raise ModelError(
                f"{self.name}: sign must be 1 or -1, got {self.sign!r}: choose one of these."
            )
        feature = context.feature(self.feature, self.name)
        output = context.output(self.label, self.name)
        label = context.classes[output]
        return [PathSigns(self.name, frozenset(), feature, int(self.sign), output, label)]

    @property
    def name(self) -> str:
        """As the user writes it."""
        label = "" if self.label is None else f", label={self.label!r}"
        sign = f"{self.sign:+d}" if isinstance(self.sign, int) else repr(self.sign)
        return f"Monotone({self.feature!r}, {sign}{label})"
