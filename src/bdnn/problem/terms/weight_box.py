"""Weights that must be 0 or have a value: forbidden features, fixed weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bdnn.blocks.weights import LayerWeights
from bdnn.errors import ModelError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm, WeightLimits
from bdnn.problem.terms.builder import Block, Builder
from bdnn.problem.terms.context import AbstractConstraint, Context, whole


@dataclass(frozen=True, eq=False)
class WeightBox(AbstractTerm):
    """``low <= W <= high`` in one layer; infinite where nothing is asked.

    bounds:  low <= W <= high
    """

    layer: int
    low: FloatArray
    high: FloatArray
    promised: dict[str, Any]

    wants_few_weights: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """Outputs that are each other's negative, and units that may be turned round."""
        above = architecture.n_layers - 1 - self.layer
        if above == 0 and not np.array_equal(self.low, -self.high[::-1]):
            return frozenset({"one_output"})
        return frozenset({"signed"} if above == 1 and (self.low != -self.high).any() else ())

    @property
    def scale_dependent(self) -> bool:
        """A value other than 0 has a size."""
        return bool(((self.low == self.high) & (self.low != 0.0)).any())

    @property
    def names_units(self) -> bool:
        """Whether units differ in what is asked of them."""
        return bool((self.low != self.low[0]).any() or (self.high != self.high[0]).any())

    def is_feasible(self, network: Network, problem: Problem[Any]) -> bool:
        W = network.weights[self.layer]
        return bool(((self.low <= W) & (self.high >= W)).all())

    def bound_weights(self, limits: WeightLimits) -> None:
        k = self.layer
        limits.low[k] = np.maximum(limits.low[k], self.low)
        limits.high[k] = np.minimum(limits.high[k], self.high)

    def block(self, builder: Builder) -> Block:
        layer = builder.layers[self.layer]
        # Where one output stands for two there are fewer units, and none of them is named.
        low, high = self.low[-len(layer.W) :], self.high[-len(layer.W) :]
        limit = float(layer.weights.limit)
        tight = np.nonzero((low > -limit) | (high < limit))
        if tight[0].size:
            columns = layer.W[tight][:, None]
            builder.program.add_rows(
                f"bounds{layer.number}", columns, 1.0, lower=low[tight], upper=high[tight]
            )
        return _BoundedWeights(self, layer)

    def claim(self) -> dict[str, Any]:
        return self.promised


@dataclass(frozen=True, eq=False)
class _BoundedWeights(Block):
    term: WeightBox
    layer: LayerWeights

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        W = weights[self.term.layer]
        if not self.layer.weights.integer:
            units = len(W)
            weights[self.term.layer] = np.clip(W, self.term.low[-units:], self.term.high[-units:])


def check_boxes(architecture: Architecture, terms: Sequence[AbstractTerm]) -> None:
    """Name two terms about weights that contradict each other."""
    boxes = [term for term in terms if isinstance(term, WeightBox)]
    for number, term in enumerate(boxes):
        for other in boxes[:number]:
            if other.layer == term.layer and _cross(other, term).any():
                raise ModelError(
                    f"{other.name} and {term.name} contradict each other: leave one out."
                )


def _cross(one: WeightBox, two: WeightBox) -> BoolArray:
    return np.asarray((one.low > two.high) | (one.high < two.low))


@dataclass(frozen=True, eq=False)
class Forbid(AbstractConstraint):
    """No unit of the first layer has a weight on a feature.

    Parameters
    ----------
    feature : str or int
        By name or number; or one input of a feature that has several, by its name.
    """

    feature: str | int

    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Fix the feature's weights at zero."""
        shape = context.architecture
        column, inputs = context.inputs_of(self.feature, self.name)
        if not shape.weights[0].zero:
            raise ModelError(
                f"{self.name} cannot hold with weights '{shape.weights[0].name}', none of which is "
                "zero: use for example weights='ternary'."
            )
        free = np.full((shape.widths[1], shape.n_features), -np.inf)
        if column is not None:
            low = free.copy()
            low[:, inputs] = 0.0
            return [WeightBox(self.name, 0, low, -low, {"kind": "unused", "features": [column]})]
        terms: list[AbstractTerm] = []
        for unit in range(len(free)):
            low = free.copy()
            low[unit, inputs] = 0.0
            promise = {"kind": "weight", "layer": 0, "unit": unit, "input": inputs[0], "value": 0}
            terms.append(WeightBox(self.name, 0, low, -low, promise))
        return terms

    @property
    def name(self) -> str:
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
        Number of the unit below; in layer 0 an input, by number or name.
    value : float
        Of the layer's weight set.
    """

    layer: int
    unit: int
    input: int | str
    value: float

    def resolve(self, context: Context) -> list[AbstractTerm]:
        shape, name = context.architecture, self.name
        k = whole(self.layer, f"{name}: layer", 0, shape.n_layers - 1)
        unit = whole(self.unit, f"{name}: unit", 0, shape.widths[k + 1] - 1)
        if k == 0:
            j = context.input(self.input, name)
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
        promise = {"kind": "weight", "layer": k, "unit": unit, "input": j, "value": float(value)}
        return [WeightBox(name, k, low, high, promise)]
