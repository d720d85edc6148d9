"""Products ``s = w u`` of a weight and a binary activation (paper, section 2.1).

For ``w in [L, U]`` and binary u the four rows below are exact:

    upper:  s <= U u,   s <= w - L (1 - u)
    lower:  s >= L u,   s >= w - U (1 - u)

The paper writes them with u^{i,k}; the factor is the layer's input u^{i,k-1}. A row that only
needs its sum not to be overstated can do with the upper pair, and the other way round. An input of
several thresholds has a product with each, and what a threshold adds to the value weighs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import Activation, BoolArray, FloatArray
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class Products:
    """Variables ``s[i, l, j] = W[l, j] * u[i, j]``: sample, unit, threshold of the layer below."""

    layer: LayerWeights
    below: Activation
    u: IndexArray
    s: IndexArray

    @classmethod
    def add(
        cls,
        program: Program,
        layer: LayerWeights,
        below: Activation,
        u: IndexArray,
        *,
        needs_upper: BoolArray,
        needs_lower: BoolArray,
    ) -> Products:
        """Add products of a layer's weights with the thresholds ``u`` that are reached below.

        ``needs_upper`` and ``needs_lower``, of shape (samples, units), say for which sums the
        upper and the lower rows are wanted.
        """
        block = cls(layer, below, u, cls.add_products(program, layer, below, len(u)))
        block.add_rows(program, needs_upper=needs_upper, needs_lower=needs_lower)
        return block

    @staticmethod
    def add_products(
        program: Program, layer: LayerWeights, below: Activation, n_samples: int
    ) -> IndexArray:
        """Add the variables alone."""
        low, high = layer.range
        return program.add_variables(
            f"s{layer.number}",
            (n_samples, len(layer.W), layer.W.shape[1] * below.n_thresholds),
            lower=min(low, 0.0),
            upper=max(high, 0.0),
            integer=layer.weights.integer,
        )

    @property
    def factors(self) -> IndexArray:
        """The weight in every product."""
        return np.repeat(self.layer.W, self.below.n_thresholds, axis=1)

    def terms(self, unit: float) -> tuple[IndexArray, FloatArray]:
        """Columns and coefficients of ``sum_j W_j value_j / unit``."""
        W, lowest = self.layer.W, self.below.values[0]
        jumps = np.tile(self.below.jumps, W.shape[1])
        if lowest == 0:
            return self.s, jumps / unit
        base = np.broadcast_to(W, (len(self.s), *W.shape))
        weighed = np.append(jumps, np.full(W.shape[1], float(lowest)))
        return np.concatenate([self.s, base], axis=-1), weighed / unit

    def add_rows(self, program: Program, *, needs_upper: BoolArray, needs_lower: BoolArray) -> None:
        """Add the rows of those (sample, unit) pairs that need them."""
        low, high = self.layer.range
        if needs_upper.any():
            self._add_pair(program, "upper", needs_upper, first=high, second=low, is_upper=True)
        if needs_lower.any():
            self._add_pair(program, "lower", needs_lower, first=low, second=high, is_upper=False)

    def _add_pair(
        self,
        program: Program,
        side: str,
        needed: BoolArray,
        *,
        first: float,
        second: float,
        is_upper: bool,
    ) -> None:
        sample, unit = np.nonzero(needed)
        s, u = self.s[sample, unit], self.u[sample]
        w = self.factors[unit]
        number = self.layer.number
        columns, values = np.stack([s, u], axis=-1), np.array([1.0, -first])
        rows = f"product_{side}"
        if first != 0.0:  # otherwise the bound of s says it already
            program.add_rows(f"{rows}_u{number}", columns, values, **_side(0.0, is_upper=is_upper))
        columns, values = np.stack([s, w, u], axis=-1), np.array([1.0, -1.0, -second])
        program.add_rows(f"{rows}_w{number}", columns, values, **_side(-second, is_upper=is_upper))

    def lift(self, x: FloatArray) -> None:
        """Fill in the products of weights and activations that the start already holds."""
        x[self.s] = x[self.factors][None, :, :] * x[self.u][:, None, :]


def _side(value: float, *, is_upper: bool) -> dict[str, float]:
    return {"upper": value} if is_upper else {"lower": value}
