"""Units of other values than 0 and 1 (paper, section 2.1, "more general discrete activations").

The paper has a 0/1 variable u^v per value, with rows that hold the sum between the ends of the
interval of v. Here u_l says that the sum reaches threshold l, so that u^v = u_l - u_{l+1} and
exactly one of them is 1 by itself; the value is v_0 + sum_l (v_l - v_{l-1}) u_l:

    active:     W h - t_l >= -M (1 - u_l)
    inactive:   W h - t_l <= -margin + M u_l
    levels:     u_l >= u_{l+1}
    intervals:  t_l <= t_{l+1}

The interval of a value is [t_l, t_{l+1} - margin]. The first two are the rows of a step, see
`layers`: a unit of L thresholds has L of them with the same weights. Products of the layer above
are those of 0/1 variables, see `mccormick`, weighed by what a threshold adds to the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bdnn.activation import Activation, BoolArray, FloatArray
from bdnn.architecture import ThresholdKind, WeightSet
from bdnn.formulation.bounds import LayerBounds
from bdnn.formulation.weights import TOLERANCE, LayerWeights
from bdnn.network import Network
from bdnn.program import IndexArray, Program
from bdnn.scaling import grid_step


@dataclass(frozen=True)
class LayerLevels:
    """Variables ``W`` and ``t[unit, threshold]`` of a layer whose units take several values.

    Has what :class:`~bdnn.formulation.weights.LayerWeights` has, and the activation.
    """

    number: int
    weights: WeightSet
    kind: ThresholdKind
    bounds: LayerBounds
    range: tuple[float, float]
    W: IndexArray
    t: IndexArray
    v: IndexArray | None
    rule: Activation

    @classmethod
    def add(
        cls,
        program: Program,
        number: int,
        shape: tuple[int, int],
        weights: WeightSet,
        kind: ThresholdKind,
        bounds: LayerBounds,
        rule: Activation,
    ) -> LayerLevels:
        """Add the variables of layer ``number`` with (units, inputs) weights, and their order."""
        base = LayerWeights.add(program, number, shape, weights, "zero", bounds, signed=False)
        bounds = bounds_of_levels(bounds, rule, kind)
        offsets = rule.offsets / bounds.unit
        low, high = bounds.threshold
        fixed = np.ceil(offsets) if bounds.exact else offsets
        t = program.add_variables(
            f"t{number}",
            (shape[0] if kind == "neuron" else 1, rule.n_thresholds),
            lower=fixed if kind == "zero" else low,
            upper=fixed if kind == "zero" else high,
            integer=bounds.exact,
        )
        if kind != "zero" and rule.n_thresholds > 1:
            pairs = np.stack([t[:, 1:], t[:, :-1]], axis=-1)
            distance = np.diff(offsets) if rule.thresholds is not None else 0.0
            limit = distance if rule.thresholds is not None else np.inf
            program.add_rows(f"intervals{number}", pairs, [1.0, -1.0], lower=distance, upper=limit)
        t = np.broadcast_to(t, (shape[0], rule.n_thresholds))
        return cls(number, weights, kind, bounds, base.range, base.W, t, base.v, rule)

    @property
    def steps(self) -> LayerWeights:
        """The layer as one of steps: one unit per threshold, those of a unit with equal weights."""
        return LayerWeights(
            self.number,
            self.weights,
            self.kind,
            self.bounds,
            self.range,
            self._repeated(self.W),
            self.t.reshape(-1),
            None,
        )

    def _repeated(self, values: IndexArray, axis: int = 0) -> IndexArray:
        return np.repeat(values, self.rule.n_thresholds, axis=axis)

    def add_levels(self, program: Program, u: IndexArray) -> None:
        """Add the order of a unit's activations ``u``, of shape (samples, units x thresholds)."""
        reached = u.reshape(len(u), len(self.W), -1)
        if reached.shape[-1] > 1:
            pairs = np.stack([reached[..., :-1], reached[..., 1:]], axis=-1)
            program.add_rows(f"levels{self.number}", pairs, [1.0, -1.0], lower=0.0)

    def switches(self, sums: FloatArray, t: FloatArray) -> BoolArray:
        """Which thresholds are reached, of shape (samples, units x thresholds)."""
        limits = t.reshape(len(t), -1)
        return np.asarray((sums[:, :, None] >= limits).reshape(len(sums), -1))

    def values(self, on: BoolArray) -> FloatArray:
        """Values of units whose thresholds are reached or not."""
        reached = on.reshape(len(on), len(self.W), -1).sum(axis=-1)
        return np.asarray(np.array(self.rule.values, dtype=float)[reached])

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of a solution, thresholds in the middle of the margin."""
        W, t = replace(self.steps, W=self.W).read(x)
        t = t.reshape(self.t.shape)
        if self.kind == "zero":
            t = np.tile(self.rule.offsets, (len(t), 1))
        elif self.rule.thresholds is not None:
            t = t[:, :1] + (self.rule.offsets - self.rule.offsets[0])
        else:
            t = np.maximum.accumulate(t, axis=1)
        return W, t[:, 0] if self.rule.n_thresholds == 1 else t

    def lift(
        self,
        x: FloatArray,
        W: FloatArray,
        t: FloatArray,
        sums: FloatArray,
        on: BoolArray,
        *,
        rigid: bool = False,
    ) -> bool:
        """Write weights and thresholds that keep the given activations with the full margin.

        As in :class:`~bdnn.formulation.weights.LayerWeights`, ``on`` being that of `switches`.
        """
        unit, margin = self.bounds.unit, self.bounds.margin
        shape = self.t.shape
        t, sums = t.reshape(shape) / unit, sums / unit
        scalable = not rigid and self.kind != "zero" and self.rule.thresholds is None
        if not self.weights.integer and scalable:
            scale = replace(self.steps, W=self.W).scale(W, t)
            W, t, sums = W * scale[:, None], t * scale[:, None], sums * scale
        reached, wide = on.reshape(len(on), *shape), sums[:, :, None]
        below = np.where(reached, -np.inf, wide).max(axis=0, initial=-np.inf) + margin
        above = np.where(reached, wide, np.inf).min(axis=0, initial=np.inf)
        low, high = (
            np.maximum(below, self.bounds.threshold[0]),
            np.minimum(above, self.bounds.threshold[1]),
        )
        wanted = t + margin / 2
        if self.bounds.exact:
            wanted = np.rint(wanted)
        if self.kind == "layer":
            low, high = np.broadcast_to(low.max(axis=0), shape), np.broadcast_to(high.min(0), shape)
        if self.kind == "zero":
            offsets = self.rule.offsets / unit
            wanted = np.broadcast_to(np.ceil(offsets) if self.bounds.exact else offsets, shape)
            low, high = np.maximum(low, wanted), np.minimum(high, wanted)
        elif self.rule.thresholds is not None:
            # One shift for all thresholds of a unit.
            offsets = (self.rule.offsets - self.rule.offsets[0]) / unit
            low = (low - offsets).max(axis=1, keepdims=True) + offsets
            high = (high - offsets).min(axis=1, keepdims=True) + offsets
            wanted = wanted[:, :1] + offsets
        if (low > high + TOLERANCE).any():
            return False
        x[self.W] = W
        if self.v is not None:
            x[self.v] = W > 0
        x[self.t] = np.clip(wanted, low, np.maximum(low, high))
        return True


Layer = LayerWeights | LayerLevels


def steps_of(layer: Layer) -> LayerWeights:
    """A layer as one of steps."""
    return layer.steps if isinstance(layer, LayerLevels) else layer


def switches_of(network: Network, layers: Sequence[Layer], inputs: FloatArray) -> list[BoolArray]:
    """Which units of every layer are on, or which of their thresholds are reached."""
    taken = network.activations(inputs)[: len(layers)]
    if not network.architecture.activations:
        return taken
    sums = network.preactivations(inputs)
    return [
        layer.switches(sums[k], network.thresholds[k]) if isinstance(layer, LayerLevels) else on
        for k, (layer, on) in enumerate(zip(layers, taken, strict=True))
    ]


def turn_round(
    weights: list[FloatArray],
    thresholds: list[FloatArray],
    on: BoolArray,
    rule: Activation,
) -> BoolArray:
    """Make the single output's weights non-negative by turning round units below it.

    A unit turned round reaches its thresholds from the other end: its value v becomes
    v_0 + v_L - v, which the output's threshold takes up. Weights and thresholds are changed in
    their lists; the switches of the last hidden layer are returned.
    """
    flip = weights[-1][0] < 0
    total = rule.values[0] + rule.values[-1]
    thresholds[-1] = thresholds[-1] - total * np.minimum(weights[-1], 0.0).sum(axis=1)
    weights[-1] = np.abs(weights[-1])
    weights[-2] = np.where(flip[:, None], -weights[-2], weights[-2])
    limits = thresholds[-2].reshape(len(flip), -1)
    limits = np.where(flip[:, None], -limits[:, ::-1], limits)
    thresholds[-2] = limits.reshape(thresholds[-2].shape)
    reached = on.reshape(len(on), *limits.shape)
    return np.where(flip[:, None], ~reached[..., ::-1], reached).reshape(on.shape)


def on_steps_below(layer: Layer, below: Activation) -> Layer:
    """A layer whose inputs are the thresholds of the layer below, those of a unit weighed alike."""
    return replace(layer, W=np.repeat(layer.W, below.n_thresholds, axis=1))


def bounds_of_levels(bounds: LayerBounds, rule: Activation, kind: ThresholdKind) -> LayerBounds:
    """Give bounds the range of a unit's thresholds instead of that of a step's."""
    offsets = rule.offsets / bounds.unit
    low, high = bounds.threshold
    if kind == "zero":
        offsets = np.ceil(offsets) if bounds.exact else offsets
        low, high = float(offsets.min()), float(offsets.max())
    elif rule.thresholds is not None:
        # The first may have to lie above all sums, and the last below.
        span = float(offsets[-1] - offsets[0])
        low, high = low - span, high + span
    return replace(bounds, threshold=(low, high))


def unit_of_levels(
    unit: float, *, exact: bool, rule: Activation, kind: ThresholdKind
) -> tuple[float, bool]:
    """Unit in which fixed distances of thresholds are integers too, where sums are."""
    if not exact or kind == "zero" or rule.thresholds is None:
        return unit, exact
    finer = grid_step(np.append(rule.offsets - rule.offsets[0], unit))
    return (unit, False) if finer is None else (finer, True)


def value_range(weight_range: tuple[float, float], values: tuple[int, ...]) -> tuple[float, float]:
    """Smallest and largest product of a weight in a box and one of the values."""
    products = np.outer(weight_range, (values[0], values[-1]))
    return float(products.min()), float(products.max())


def weighed_products(
    s: IndexArray, W: IndexArray, rule: Activation, unit: float
) -> tuple[IndexArray, FloatArray]:
    """Terms and coefficients of ``sum_j W_j value_j`` from products with 0/1 activations."""
    n_inputs = W.shape[1]
    jumps = np.tile(rule.jumps, n_inputs)
    if rule.values[0] == 0:
        return s, jumps / unit
    base = np.broadcast_to(W, (len(s), *W.shape))
    lowest = np.full(n_inputs, float(rule.values[0]))
    return np.concatenate([s, base], axis=-1), np.concatenate([jumps, lowest]) / unit
