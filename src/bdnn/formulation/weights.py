"""Weights and thresholds of one layer: ``W in D_k`` and ``lambda_k`` or biases (paper, Lemma 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import ThresholdKind, WeightSet
from bdnn.formulation.bounds import LayerBounds
from bdnn.program import IndexArray, Program, interleave

# A solver's network keeps the margin up to the solver's tolerance and is a good start all the
# same: solvers take starts that break a row by ten times as much.
TOLERANCE = 1e-7


@dataclass(frozen=True)
class LayerWeights:
    """Variables ``W`` and ``t`` of one layer.

    Thresholds are kept in the layer's unit and, where pre-activations are integers, are integer:
    unit on iff ``W x >= t``, off iff ``W x <= t - margin``.
    """

    number: int
    weights: WeightSet
    kind: ThresholdKind
    bounds: LayerBounds
    range: tuple[float, float]
    W: IndexArray
    t: IndexArray | None
    v: IndexArray | None

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
        signed: bool,
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
        if kind != "zero":
            units = (shape[0],) if kind == "neuron" else (1,)
            t = program.add_variables(
                f"t{number}",
                units,
                lower=bounds.threshold[0],
                upper=bounds.threshold[1],
                integer=bounds.exact,
            )
            t = np.broadcast_to(t, (shape[0],))
        return cls(number, weights, kind, bounds, (low, high), W, t, v)

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of a solution, the threshold in the middle of the margin."""
        W = x[self.W]
        W = np.rint(W) if self.weights.integer else np.where(np.abs(W) < 1e-9, 0.0, W)
        W = np.clip(W, *self.range)
        if self.t is None:
            return W, np.zeros(len(W))
        t = np.rint(x[self.t]) if self.bounds.exact else x[self.t]
        return W, (t - self.bounds.margin / 2) * self.bounds.unit

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

        Parameters
        ----------
        x : array
            Start to be filled.
        W, t : arrays
            Weights and thresholds of a network; thresholds as in :meth:`read`.
        sums, on : arrays of shape (n_inputs, units)
            Pre-activations of these weights, and the activations to keep.
        rigid : bool
            Whether continuous units must keep their size; else they fill the box.

        Returns
        -------
        bool
            Whether thresholds with that margin exist; the start is of no use otherwise.
        """
        unit, margin = self.bounds.unit, self.bounds.margin
        sums, t = sums / unit, t / unit
        if not self.weights.integer and not rigid:
            scale = self.scale(W, t)
            W, t, sums = W * scale[:, None], t * scale, sums * scale
        below = np.where(on, -np.inf, sums).max(axis=0, initial=-np.inf) + margin
        above = np.where(on, sums, np.inf).min(axis=0, initial=np.inf)
        if self.kind == "layer":
            below, above = np.full_like(below, below.max()), np.full_like(above, above.min())
        low, high = (
            np.maximum(below, self.bounds.threshold[0]),
            np.minimum(above, self.bounds.threshold[1]),
        )
        if (low > high + TOLERANCE).any():
            return False
        wanted = t + margin / 2
        if self.bounds.exact:
            wanted = np.rint(wanted)
        x[self.W] = W
        if self.v is not None:
            x[self.v] = W > 0
        if self.t is not None:
            x[self.t] = np.clip(wanted, low, np.maximum(low, high))
        return True

    def scale(self, W: FloatArray, t: FloatArray) -> FloatArray:
        """Factors that blow units up to the box: the wider the weights, the wider the margin."""
        largest = np.abs(W).max(axis=1, initial=0.0)
        if self.kind == "layer":
            largest[:] = max(largest.max(initial=0.0), float(np.abs(t).max(initial=0.0)))
        return 1.0 / np.where(largest > 0, largest, 1.0)


def weight_range(weights: WeightSet, *, signed: bool) -> tuple[float, float]:
    """Lower and upper bound of a weight, for signed outputs without its negative half."""
    if not signed:
        return -float(weights.limit), float(weights.limit)
    return (0.0 if weights.zero else 1.0), float(weights.limit)
