"""Step activations as big-M rows (paper, Lemma 1, constraints 6 to 9).

    active:    W h - t >= -M (1 - u)
    inactive:  W h - t <= -margin + M u

with h the samples for the first layer and the activations of the layer below for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.formulation.weights import LayerWeights
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class Steps:
    """Activations ``u[i, l]`` of one layer and the rows that tie them to its sums."""

    layer: LayerWeights
    u: IndexArray

    @classmethod
    def add_activations(cls, program: Program, layer: LayerWeights, n_samples: int) -> Steps:
        """Add the 0/1 activations of a layer."""
        shape = (n_samples, layer.W.shape[0])
        return cls(layer, program.add_variables(f"u{layer.number}", shape, integer=True))

    def add_rows(
        self,
        program: Program,
        terms: IndexArray,
        values: FloatArray,
        *,
        needs_active: BoolArray,
        needs_inactive: BoolArray,
    ) -> None:
        """Add the rows of those (sample, unit) pairs that need them.

        Parameters
        ----------
        program : Program
        terms : array that broadcasts to (samples, units, inputs)
            Columns whose weighted sum is the pre-activation: the weights, or products.
        values : array that broadcasts likewise
            Their coefficients: the samples, or ones.
        needs_active, needs_inactive : arrays of shape (samples, units)
        """
        bounds = self.layer.bounds
        shape = (*self.u.shape, terms.shape[-1])
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
        """Columns and coefficients of ``W h - t - M u`` for the given (sample, unit) pairs."""
        columns = [terms[pairs], self.u[pairs][:, None]]
        coefficients = [values[pairs], -M[:, None]]
        if self.layer.t is not None:
            columns.append(self.layer.t[pairs[1]][:, None])
            coefficients.append(np.full((len(M), 1), -1.0))
        return np.concatenate(columns, axis=1), np.concatenate(coefficients, axis=1)

    def lift(self, x: FloatArray, on: BoolArray) -> None:
        """Fill in activations."""
        x[self.u] = on
