"""Activations as big-M rows, and products with them (paper, Lemma 1 and section 2.1).

    active:     W h - t_l >= -M (1 - u_l)
    inactive:   W h - t_l <= -margin + M v_l
    levels:     u_l >= u_{l+1}

with h the samples for the first layer and the values of the layer below for the others. A step has
one threshold. For "more general discrete activations" the paper has a 0/1 variable u^v per value,
with rows that hold the sum between the ends of the interval of v. Here u_l says that the sum
reaches threshold l, so that u^v = u_l - u_{l+1} and exactly one of them is 1 by itself; the value
is v_0 + sum_l (v_l - v_{l-1}) u_l, and its interval is [t_l, t_{l+1} - margin].

Products of a weight in [L, U] and a switch are exact with the four rows

    upper:  s <= U u,   s <= w - L (1 - v)
    lower:  s >= L u,   s >= w - U (1 - v)

The paper writes them with u^{i,k}; the factor is the layer's input u^{i,k-1}. A row that only
needs its sum not to be overstated can do with the upper pair, and the other way round. An input of
several thresholds has a product with each, and what a threshold adds to the value weighs it.

For a point u and v are one variable, and so are s of both pairs. For a set of inputs u is 1 only
if the threshold is surely reached and v is 0 only if it surely is not; the upper pair then holds
the least product and the lower pair the largest one. These rows only understate what is sure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bdnn.blocks.weights import GivenWeights, LayerWeights
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.program import IndexArray, Program

# Activations that need the row of an active unit, and of an inactive one: (lines, units x levels).
Needs = tuple[BoolArray, BoolArray]


class Sums(NamedTuple):
    """Columns and coefficients of a layer's sums, which broadcast to (lines, units, summands)."""

    columns: IndexArray
    coefficients: FloatArray


@dataclass(frozen=True)
class Steps:
    """Activations ``u[i, (unit, level)]`` of one layer and the rows that tie them to its sums.

    ``bounds`` is v of the module's text, None for points.
    """

    layer: LayerWeights | GivenWeights
    u: IndexArray
    bounds: IndexArray | None = None

    @property
    def possible(self) -> IndexArray:
        """Switches that may be on, for points those that are."""
        return self.u if self.bounds is None else self.bounds

    @classmethod
    def add(
        cls,
        program: Program,
        layer: LayerWeights | GivenWeights,
        n_lines: int,
        *,
        # Name of the sets of inputs that lines are; by default they are points.
        sets: str | None = None,
        kept: BoolArray | None = None,  # what the activations must be
    ) -> Steps:
        """Add the 0/1 activations of a layer, and their order where a unit has several."""
        n_levels = layer.rule.n_thresholds
        shape = (n_lines, len(layer.W) * n_levels)
        fixed = {} if kept is None else {"lower": kept, "upper": kept}
        found = []
        for name in ("u",) if sets is None else ("u", "possible"):
            name = f"{name}{layer.number}{sets or ''}"
            columns = program.add_variables(name, shape, integer=True, **fixed)
            if n_levels > 1:
                reached = columns.reshape(n_lines, -1, n_levels)
                pairs = np.stack([reached[..., :-1], reached[..., 1:]], axis=-1)
                program.add_rows(f"levels{layer.number}{sets or ''}", pairs, [1.0, -1.0], lower=0.0)
            found.append(columns)
        if sets is not None:
            pairs = np.stack(found[::-1], axis=-1)
            program.add_rows(f"order{layer.number}{sets}", pairs, [1.0, -1.0], lower=0.0)
        return cls(layer, *found)

    def of_lines(self, lines: IndexArray) -> Steps:
        """The activations of some lines."""
        bounds = None if self.bounds is None else self.bounds[lines]
        return replace(self, u=self.u[lines], bounds=bounds)

    def add_rows(
        self,
        program: Program,
        least: Sums,
        largest: Sums,
        *,
        needs_active: BoolArray,
        needs_inactive: BoolArray,
        name: str = "",
    ) -> None:
        """Add the rows of those lines and thresholds that need them, of shape (lines, u)."""
        layer = self.layer
        (M_on, M_off), (low, high) = layer.big_m, layer.sides
        shape, name = self.u.shape, f"{layer.number}{name}"
        active, inactive = np.nonzero(needs_active), np.nonzero(needs_inactive)
        if active[0].size:
            M, side = (np.broadcast_to(part, shape)[active] for part in (M_on, low))
            columns, coefficients = self._row(least, self.u, active, M)
            program.add_rows(f"active{name}", columns, coefficients, lower=side - M)
        if inactive[0].size:
            M, side = (np.broadcast_to(part, shape)[inactive] for part in (M_off, high))
            columns, coefficients = self._row(largest, self.possible, inactive, M)
            program.add_rows(f"inactive{name}", columns, coefficients, upper=side)

    def _row(
        self, sums: Sums, u: IndexArray, pairs: tuple[IndexArray, ...], M: FloatArray
    ) -> tuple[IndexArray, FloatArray]:
        """Columns and coefficients of ``W h - t - M u`` for the given lines and thresholds."""
        line, unit = pairs[0], pairs[1] // self.layer.rule.n_thresholds
        terms, values = sums
        shape = (len(u), len(self.layer.W), terms.shape[-1])
        columns = [np.broadcast_to(terms, shape)[line, unit], u[pairs][:, None]]
        coefficients = [np.broadcast_to(values, shape)[line, unit], -M[:, None]]
        if self.layer.t is not None:
            columns.append(self.layer.t.reshape(-1)[pairs[1]][:, None])
            coefficients.append(np.full((len(M), 1), -1.0))
        return np.concatenate(columns, axis=1), np.concatenate(coefficients, axis=1)

    def lift(self, x: FloatArray, on: BoolArray, possible: BoolArray | None = None) -> FloatArray:
        """Fill in activations; return the values of units that are on where they surely are."""
        x[self.u] = on
        if possible is not None and self.bounds is not None:
            x[self.bounds] = possible
        reached = on.reshape(len(on), len(self.layer.W), -1).sum(axis=-1)
        return np.asarray(np.array(self.layer.rule.values, dtype=float)[reached])


@dataclass(frozen=True)
class Products:
    """Variables ``s[i, l, j] = W[l, j] * u[i, j]``: line, unit, threshold of the layer below.

    ``bounds`` is s of the lower pair, None for points.
    """

    layer: LayerWeights
    below: Steps
    s: IndexArray
    bounds: IndexArray | None = None

    @property
    def largest(self) -> IndexArray:
        """Largest products, for points all there are."""
        return self.s if self.bounds is None else self.bounds

    @classmethod
    def add(
        cls,
        program: Program,
        layer: LayerWeights,
        below: Steps,
        *,
        needs_upper: BoolArray,
        needs_lower: BoolArray,
        earlier: Products | None = None,
    ) -> Products:
        """Add products of a layer's weights with the thresholds that are reached below.

        ``needs_upper`` and ``needs_lower``, of shape (lines, units), say for which sums the
        upper and the lower rows are wanted; products of the first points may be there already.
        """
        low, high = layer.range
        known = 0 if earlier is None else len(earlier.s)
        shape = (len(below.u) - known, len(layer.W), below.u.shape[1])
        found = []
        for side in ("",) if below.bounds is None else ("", "largest"):
            s = program.add_variables(
                f"s{layer.number}{side}",
                shape,
                lower=min(low, 0.0),
                upper=max(high, 0.0),
                integer=layer.weights.integer,
            )
            found.append(s if earlier is None else np.concatenate([earlier.s, s]))
        block = cls(layer, below, *found)
        if needs_upper.any():
            block._add_pair(program, "upper", needs_upper, first=high, second=low)
        if needs_lower.any():
            block._add_pair(program, "lower", needs_lower, first=low, second=high)
        return block

    @property
    def factors(self) -> IndexArray:
        """The weight in every product."""
        return np.repeat(self.layer.W, self.below.layer.rule.n_thresholds, axis=1)

    def sums(self, unit: float) -> tuple[Sums, Sums]:
        """Least and largest ``sum_j W_j value_j / unit``."""
        W, rule = self.layer.W, self.below.layer.rule
        jumps, lowest = np.tile(rule.jumps, W.shape[1]), rule.values[0]
        if lowest == 0:
            return Sums(self.s, jumps / unit), Sums(self.largest, jumps / unit)
        weighed = np.append(jumps, np.full(W.shape[1], float(lowest))) / unit
        base = np.broadcast_to(W, (len(self.s), *W.shape))
        least, largest = (
            Sums(np.concatenate([s, base], axis=-1), weighed) for s in (self.s, self.largest)
        )
        return least, largest

    def _add_pair(
        self, program: Program, side: str, needed: BoolArray, *, first: float, second: float
    ) -> None:
        line, unit = np.nonzero(needed)
        s = (self.s if side == "upper" else self.largest)[line, unit]
        u, v, w = self.below.u[line], self.below.possible[line], self.factors[unit]
        number, rows = self.layer.number, f"product_{side}"
        if first != 0.0:  # otherwise the bound of s says it already
            columns = np.stack([s, u], axis=-1)
            program.add_rows(f"{rows}_u{number}", columns, [1.0, -first], **{side: 0.0})
        columns = np.stack([s, w, v], axis=-1)
        program.add_rows(f"{rows}_w{number}", columns, [1.0, -1.0, -second], **{side: -second})

    def lift(self, x: FloatArray) -> None:
        """Fill in the products of weights and activations that the start already holds."""
        w = x[self.factors][None, :, :]
        sure, possible = (w * x[u][:, None, :] for u in (self.below.u, self.below.possible))
        x[self.largest] = np.maximum(sure, possible)
        x[self.s] = np.minimum(sure, possible)
