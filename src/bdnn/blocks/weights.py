"""Weights and thresholds of one layer: ``W in D_k`` and ``lambda_k`` or biases (paper, Lemma 1).

A unit of several values has as many thresholds as it takes to choose one of them, in order:

    intervals:  t_l <= t_{l+1}

and at fixed distances where the activation gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bdnn.blocks.bounds import LayerBounds, margin_of
from bdnn.network.activation import STEP, Activation, BoolArray, FloatArray
from bdnn.network.architecture import ThresholdKind, WeightSet
from bdnn.program import IndexArray, Program, interleave

# A solver's network keeps the margin up to the solver's tolerance and is a good start all the
# same: solvers take starts that break a row by ten times as much.
TOLERANCE = 1e-7


@dataclass(frozen=True)
class LayerWeights:
    """Variables ``W`` and ``t[unit, level]`` of one layer.

    Thresholds are kept in the layer's unit and, where pre-activations are integers, are integer:
    a threshold is reached iff ``W x >= t``, and not iff ``W x <= t - margin``. Where all are 0
    there are no variables for them.
    """

    number: int
    weights: WeightSet
    kind: ThresholdKind
    bounds: LayerBounds
    range: tuple[float, float]
    W: IndexArray
    t: IndexArray | None
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
        *,
        signed: bool = False,
        rule: Activation = STEP,
    ) -> LayerWeights:
        """Add the variables of layer ``number`` with (units, inputs) weights."""
        low, high = weight_range(weights, signed=signed)
        W = program.add_variables(
            f"W{number}", shape, lower=low, upper=high, integer=weights.integer
        )
        v = None
        if not weights.zero and low < high:
            # {-1, 1} is no interval: w = 2v - 1 with v in {0, 1}.
            v = program.add_variables(f"v{number}", shape, integer=True)
            pair = interleave(W[..., None], v[..., None])
            program.add_rows(f"binary{number}", pair, [1.0, -2.0], lower=-1.0, upper=-1.0)
        t = None
        if kind != "zero" or rule.offsets.any():
            least, most = bounds.threshold if kind != "zero" else (bounds.offsets(rule),) * 2
            t = program.add_variables(
                f"t{number}",
                (shape[0] if kind == "neuron" else 1, rule.n_thresholds),
                lower=least,
                upper=most,
                integer=bounds.exact,
            )
            if kind != "zero" and rule.n_thresholds > 1:
                pairs = np.stack([t[:, 1:], t[:, :-1]], axis=-1)
                fixed = rule.thresholds is not None
                distance = np.diff(rule.offsets) / bounds.unit if fixed else 0.0
                limit = distance if fixed else np.inf
                program.add_rows(
                    f"intervals{number}", pairs, [1.0, -1.0], lower=distance, upper=limit
                )
            t = np.broadcast_to(t, (shape[0], rule.n_thresholds))
        return cls(number, weights, kind, bounds, (low, high), W, t, v, rule)

    @property
    def big_m(self) -> tuple[FloatArray, FloatArray]:
        """M of the rows of active and of inactive units, (inputs, 1)."""
        return self.bounds.big_m_active[:, None], self.bounds.big_m_inactive[:, None]

    @property
    def sides(self) -> tuple[FloatArray, FloatArray]:
        """What ``W x - t`` is at least where a unit is on, and at most where it is off."""
        return np.zeros(1), np.full(1, -self.bounds.margin)

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of a solution, thresholds in the middle of the margin."""
        W = x[self.W]
        W = np.rint(W) if self.weights.integer else np.where(np.abs(W) < 1e-9, 0.0, W)
        W = np.clip(W, *self.range)
        if self.t is None or self.kind == "zero":
            return W, np.tile(self.rule.offsets, (len(W), 1))
        t = np.rint(x[self.t]) if self.bounds.exact else x[self.t]
        t = (t - self.bounds.margin / 2) * self.bounds.unit
        if self.rule.thresholds is not None:
            return W, t[:, :1] + (self.rule.offsets - self.rule.offsets[0])
        return W, np.maximum.accumulate(t, axis=1)

    def lift(
        self,
        x: FloatArray,  # start to be filled
        # Weights and thresholds of a network; thresholds as in :meth:`read`.
        W: FloatArray,
        t: FloatArray,
        # (n_inputs, units): least and largest pre-activations of these weights; without, any
        # thresholds will do.
        sums: tuple[FloatArray, FloatArray] | None = None,
        # (n_inputs, units x levels): which thresholds are to be reached.
        on: BoolArray | None = None,
        *,
        # Whether continuous units must keep their size; else they fill the box.
        rigid: bool = False,
    ) -> bool:
        """Write weights and thresholds that keep the given activations with the full margin.

        Returns whether thresholds with that margin exist; the start is of no use otherwise.
        """
        rule, unit, margin = self.rule, self.bounds.unit, self.bounds.margin
        t, scale = t / unit, np.ones(len(W))
        # Fixed thresholds leave a unit no scale.
        loose = rule.thresholds is None and not (self.kind == "zero" and rule.offsets.any())
        if not self.weights.integer and not rigid and loose:
            scale = self.scale(W, t)
            W, t = W * scale[:, None], t * scale[:, None]
        low, high = (np.full(t.shape, limit) for limit in self.bounds.threshold)
        if sums is not None and on is not None:
            least, largest = ((part / unit * scale)[:, :, None] for part in sums)
            reached = on.reshape(len(on), *t.shape)
            below = np.where(reached, -np.inf, largest).max(axis=0, initial=-np.inf) + margin
            above = np.where(reached, least, np.inf).min(axis=0, initial=np.inf)
            if self.kind == "layer":
                below[:], above[:] = below.max(axis=0), above.min(axis=0)
            low, high = np.maximum(below, low), np.minimum(above, high)
        wanted = t + margin / 2
        if self.bounds.exact:
            wanted = np.rint(wanted)
        if self.kind == "zero":
            wanted = np.broadcast_to(self.bounds.offsets(rule), t.shape)
            low, high = np.maximum(low, wanted), np.minimum(high, wanted)
        elif rule.thresholds is not None:
            # One shift for all thresholds of a unit.
            offsets = (rule.offsets - rule.offsets[0]) / unit
            low = (low - offsets).max(axis=1, keepdims=True) + offsets
            high = (high - offsets).min(axis=1, keepdims=True) + offsets
            wanted = wanted[:, :1] + offsets
        if (low > high + TOLERANCE).any():
            return False
        x[self.W] = W
        if self.v is not None:
            x[self.v] = W > 0
        if self.t is not None:
            x[self.t] = np.clip(wanted, low, np.maximum(low, high))
        return True

    def certain(
        self, x: FloatArray, least: FloatArray, largest: FloatArray
    ) -> tuple[BoolArray, BoolArray]:
        """Which thresholds of a start sums in these bounds surely reach, and which possibly."""
        t = np.zeros((1, len(self.W), 1)) if self.t is None else x[self.t][None]
        slack = 1e-9 * (1.0 + np.abs(t))
        on = least[..., None] >= t - slack
        possible = (largest[..., None] > t - self.bounds.margin + slack) | on
        return on.reshape(len(least), -1), possible.reshape(len(least), -1)

    def scale(self, W: FloatArray, t: FloatArray) -> FloatArray:
        """Factors that blow units up to the box: the wider the weights, the wider the margin."""
        largest = np.abs(W).max(axis=1, initial=0.0)
        if self.kind == "layer":
            largest[:] = max(largest.max(initial=0.0), float(np.abs(t).max(initial=0.0)))
        return 1.0 / np.where(largest > 0, largest, 1.0)


@dataclass(frozen=True)
class GivenWeights:
    """A layer whose weights are numbers: on if ``W h >= least``, off if ``W h <= most``.

    Sums and limits are those of the switches below, without what their lowest values add.
    """

    number: int
    W: FloatArray
    rule: Activation
    coefficients: FloatArray
    sides: tuple[FloatArray, FloatArray]
    network: tuple[FloatArray, FloatArray]

    t: ClassVar[None] = None

    @classmethod
    def of(
        cls,
        number: int,
        W: FloatArray,
        t: FloatArray,
        weights: WeightSet,
        below: Activation,
        rule: Activation,
        *,
        eps: float,
    ) -> GivenWeights:
        """Hold a layer to weights and thresholds of a network."""
        coefficients = np.repeat(W, below.n_thresholds, axis=1) * np.tile(below.jumps, W.shape[1])
        reach = float(np.abs(coefficients).sum(axis=1).max(initial=0.0))
        margin = margin_of(reach, eps, exact=False)
        levels = (t - below.values[0] * W.sum(axis=1, keepdims=True)).ravel()
        sides = (levels + margin / 2, levels - margin / 2)
        if weights.integer:
            sides = (np.ceil(levels), np.ceil(levels) - 1.0)
        return cls(number, W, rule, coefficients, sides, (W, t))

    @property
    def big_m(self) -> tuple[FloatArray, FloatArray]:
        """M of the rows of active and of inactive units, (1, units x levels)."""
        n_levels = self.rule.n_thresholds
        lowest, highest = (
            np.repeat(part(self.coefficients, 0.0).sum(axis=1), n_levels)
            for part in (np.minimum, np.maximum)
        )
        least, most = self.sides
        return np.maximum(0.0, least - lowest)[None], np.maximum(0.0, highest - most)[None]

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Nothing depends on the solution."""
        del x
        return self.network


@dataclass(frozen=True)
class Given:
    """What of a network is not to be found."""

    # Weights and thresholds by number from 0, of layers above the first.
    layers: Mapping[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    # (n_lines, outputs): what the outputs must be, in place of a loss.
    outputs: BoolArray | None = None
    units: IndexArray | None = None  # outputs that are there; by default all


def weight_range(weights: WeightSet, *, signed: bool) -> tuple[float, float]:
    """Lower and upper bound of a weight, for signed outputs without its negative half."""
    if not signed:
        return -float(weights.limit), float(weights.limit)
    return (0.0 if weights.zero else 1.0), float(weights.limit)
