"""Activations as big-M rows (paper, Lemma 1, constraints 6 to 9, and section 2.1).

    active:     W h - t_l >= -M (1 - u_l)
    inactive:   W h - t_l <= -margin + M u_l
    levels:     u_l >= u_{l+1}

with h the samples for the first layer and the values of the layer below for the others. A step has
one threshold. For "more general discrete activations" the paper has a 0/1 variable u^v per value,
with rows that hold the sum between the ends of the interval of v. Here u_l says that the sum
reaches threshold l, so that u^v = u_l - u_{l+1} and exactly one of them is 1 by itself; the value
is v_0 + sum_l (v_l - v_{l-1}) u_l, and its interval is [t_l, t_{l+1} - margin]. Products of the
layer above are those of 0/1 variables, see `mccormick`, weighed by what a threshold adds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import Activation, BoolArray, FloatArray, step
from bdnn.network.network import Network
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class Steps:
    """Activations ``u[i, (unit, level)]`` of one layer and the rows that tie them to its sums."""

    layer: LayerWeights
    u: IndexArray

    @classmethod
    def add_activations(cls, program: Program, layer: LayerWeights, n_samples: int) -> Steps:
        """Add the 0/1 activations of a layer, and their order where a unit has several."""
        n_levels = layer.rule.n_thresholds
        shape = (n_samples, len(layer.W) * n_levels)
        u = program.add_variables(f"u{layer.number}", shape, integer=True)
        if n_levels > 1:
            reached = u.reshape(n_samples, -1, n_levels)
            pairs = np.stack([reached[..., :-1], reached[..., 1:]], axis=-1)
            program.add_rows(f"levels{layer.number}", pairs, [1.0, -1.0], lower=0.0)
        return cls(layer, u)

    def add_rows(
        self,
        program: Program,
        terms: IndexArray,
        values: FloatArray,
        *,
        needs_active: BoolArray,
        needs_inactive: BoolArray,
    ) -> None:
        """Add the rows of those samples and thresholds that need them.

        Parameters
        ----------
        program : Program
        terms : array that broadcasts to (samples, units, inputs)
            Columns whose weighted sum is the pre-activation: the weights, or products.
        values : array that broadcasts likewise
            Their coefficients: the samples, or ones.
        needs_active, needs_inactive : arrays of shape (samples, units x levels)
        """
        bounds = self.layer.bounds
        shape = (len(self.u), len(self.layer.W), terms.shape[-1])
        terms, values = np.broadcast_to(terms, shape), np.broadcast_to(values, shape)
        active, inactive = np.nonzero(needs_active), np.nonzero(needs_inactive)
        number = self.layer.number
        if active[0].size:
            M = bounds.big_m_active[active[0]]
            columns, coefficients = self._row(terms, values, active, M)
            program.add_rows(f"active{number}", columns, coefficients, lower=-M)
        if inactive[0].size:
            M = bounds.big_m_inactive[inactive[0]]
            columns, coefficients = self._row(terms, values, inactive, M)
            program.add_rows(f"inactive{number}", columns, coefficients, upper=-bounds.margin)

    def _row(
        self,
        terms: IndexArray,
        values: FloatArray,
        pairs: tuple[IndexArray, ...],
        M: FloatArray,
    ) -> tuple[IndexArray, FloatArray]:
        """Columns and coefficients of ``W h - t - M u`` for the given samples and thresholds."""
        sample, unit = pairs[0], pairs[1] // self.layer.rule.n_thresholds
        columns = [terms[sample, unit], self.u[pairs][:, None]]
        coefficients = [values[sample, unit], -M[:, None]]
        if self.layer.t is not None:
            columns.append(self.layer.t.reshape(-1)[pairs[1]][:, None])
            coefficients.append(np.full((len(M), 1), -1.0))
        return np.concatenate(columns, axis=1), np.concatenate(coefficients, axis=1)

    def lift(self, x: FloatArray, on: BoolArray) -> FloatArray:
        """Fill in activations; return the values of the units."""
        x[self.u] = on
        reached = on.reshape(len(on), len(self.layer.W), -1).sum(axis=-1)
        return np.asarray(np.array(self.layer.rule.values, dtype=float)[reached])


def switches_of(network: Network, inputs: FloatArray) -> list[BoolArray]:
    """Which thresholds are reached, for every layer of shape (samples, units x levels)."""
    return [
        step(sums[:, :, None], t).reshape(len(sums), -1)
        for sums, t in zip(network.preactivations(inputs), network.thresholds, strict=True)
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
    flip = (weights[-1][0] < 0)[:, None]
    total = rule.values[0] + rule.values[-1]
    negative = np.minimum(weights[-1], 0.0).sum(axis=1, keepdims=True)
    thresholds[-1] = thresholds[-1] - total * negative
    weights[-1] = np.abs(weights[-1])
    weights[-2] = np.where(flip, -weights[-2], weights[-2])
    thresholds[-2] = np.where(flip, -thresholds[-2][:, ::-1], thresholds[-2])
    reached = on.reshape(len(on), *thresholds[-2].shape)
    return np.where(flip, ~reached[..., ::-1], reached).reshape(on.shape)
