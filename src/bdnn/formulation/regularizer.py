"""Prices on weights, thresholds and margins (paper, introduction: regularizers).

    abs:      a >= w,  a >= -w                                  price l1
    square:   q >= (2 i + 1) a - i (i + 1),  i = 0..P-1          price l2, exact for integers
    bias:     c >= t',  c >= -t'                                price l1 on thresholds
    lack:     h >= g - s  (own class),  h >= g + s  (others)    price of the saturated margin
    worst:    H >= g - s,  H >= g + s                           price of the largest lack

with t' the network's threshold and s = W u - t' the score of an output. Squares of continuous
weights and of thresholds are quadratic terms, for solvers that have them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bdnn.activation import FloatArray
from bdnn.constraints.penalty import Penalty
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.formulation.discrete import Layer
from bdnn.program import IndexArray, Program, interleave


@dataclass(frozen=True)
class Penalties:
    """Variables that stand for sizes and lacks; each is filled from the columns it is tied to.

    Parameters
    ----------
    penalty : Penalty
    layers : tuple of Layer
    sizes : list of (columns, weights)
        Absolute values.
    squares : list of (columns, weights)
    ties : list of (columns, terms, coefficients, constant)
        Variables that are at least ``coefficients @ x[terms] + constant`` and 0.
    """

    penalty: Penalty
    layers: tuple[Layer, ...]
    sizes: list[tuple[IndexArray, IndexArray]] = field(default_factory=list)
    squares: list[tuple[IndexArray, IndexArray]] = field(default_factory=list)
    ties: list[tuple[IndexArray, IndexArray, FloatArray, FloatArray]] = field(default_factory=list)

    @classmethod
    def add(
        cls,
        program: Program,
        problem: ConstrainedProblem,
        layers: tuple[Layer, ...],
        terms: IndexArray,
        values: FloatArray,
    ) -> Penalties | None:
        """Add the terms of a penalty, None if sizes and margins have no price.

        ``terms`` and ``values``, which broadcast to (samples, outputs, inputs), make the outputs'
        pre-activations.
        """
        penalty = problem.penalty
        if not penalty.sees_scale:
            return None
        block = cls(penalty, layers)
        for layer in layers:
            block._add_weights(program, layer)
            if penalty.biases and layer.t is not None:
                block._add_biases(program, layer)
        if penalty.saturated or penalty.maximal:
            block._add_margins(program, problem, terms, values)
        return block

    def _add_weights(self, program: Program, layer: Layer) -> None:
        l1, l2 = self.penalty.l1, self.penalty.l2
        limit = layer.weights.limit
        if l2 and not layer.weights.integer:
            program.minimise(layer.W, l2, quadratic=True)
            l2 = 0.0
        if not (l1 or l2):
            return
        number, integer = layer.number, layer.weights.integer
        a = program.add_variables(
            f"abs{number}", layer.W.shape, upper=float(limit), integer=integer
        )
        for sign in (-1.0, 1.0):
            pairs = np.stack([a, layer.W], axis=-1)
            program.add_rows(f"abs{number}", pairs, [1.0, sign], lower=0.0)
        self.sizes.append((a, layer.W))
        program.minimise(a, l1 + (l2 if limit == 1 else 0.0))
        if l2 and limit > 1:
            q = program.add_variables(
                f"square{number}", a.shape, upper=float(limit**2), integer=True
            )
            for i in range(limit):
                pairs, value = np.stack([q, a], axis=-1), [1.0, -(2.0 * i + 1.0)]
                program.add_rows(f"square{number}", pairs, value, lower=-float(i * (i + 1)))
            self.squares.append((q, layer.W))
            program.minimise(q, l2)

    def _add_biases(self, program: Program, layer: Layer) -> None:
        assert layer.t is not None
        t = layer.t[:1] if layer.kind == "layer" else layer.t
        bounds, (l1, l2) = layer.bounds, (self.penalty.l1, self.penalty.l2)
        if l1:
            # Twice the threshold is a whole number where sums are.
            factor = 2.0 if bounds.exact else 1.0
            most = factor * (max(map(abs, bounds.threshold)) + bounds.margin)
            c = program.add_variables(
                f"bias{layer.number}", t.shape, upper=most, integer=bounds.exact
            )
            for sign in (-1.0, 1.0):
                self._tie(
                    program,
                    f"bias{layer.number}",
                    c,
                    t[:, None],
                    np.full((len(t), 1), sign * factor),
                    np.full(len(t), -sign * factor * bounds.margin / 2),
                )
            program.minimise(c, l1 * bounds.unit / factor)
        if l2:
            price = l2 * bounds.unit**2
            program.minimise(t, price, quadratic=True)
            program.minimise(t, -price * bounds.margin)
            program.offset += price * len(t) * bounds.margin**2 / 4

    def _add_margins(
        self,
        program: Program,
        problem: ConstrainedProblem,
        terms: IndexArray,
        values: FloatArray,
    ) -> None:
        layer, penalty = self.layers[-1], self.penalty
        bounds = layer.bounds
        factor = 2.0 if bounds.exact else 1.0
        wanted = factor * penalty.wanted / bounds.unit
        shape = (*problem.mass.shape, max(terms.shape[-1], values.shape[-1]))
        columns = np.broadcast_to(terms, shape)
        weights = factor * np.broadcast_to(values, shape)
        constant = 0.0
        if layer.t is not None:
            t = np.broadcast_to(layer.t[None, :, None], (*shape[:2], 1))
            columns = interleave(columns, t)
            weights = np.concatenate([weights, np.full(t.shape, -factor)], axis=-1)
            constant = factor * bounds.margin / 2
        reach = np.abs(np.stack([bounds.lowest, bounds.highest])).max(initial=0.0)
        most = float(np.ceil(wanted + factor * (reach + max(map(abs, bounds.threshold)) + 1)))
        whole = bounds.exact and wanted == np.rint(wanted)
        worst = np.zeros(0, dtype=np.int64)
        if penalty.maximal:
            worst = program.add_variables("worst", (1,), upper=most, integer=whole)
            program.minimise(worst, penalty.maximal * bounds.unit / factor)
        for name, sign, mass in (("own", -1.0, problem.mass), ("other", 1.0, problem.cost_on)):
            pairs = np.nonzero(mass)
            row = columns[pairs], sign * weights[pairs]
            least = np.full(len(pairs[0]), wanted + sign * constant)
            if penalty.maximal:
                every = np.broadcast_to(worst, (len(least),))
                self._tie(program, f"worst_{name}", every, *row, least)
            if penalty.saturated:
                h = program.add_variables(f"lack_{name}", (len(least),), upper=most, integer=whole)
                self._tie(program, f"lack_{name}", h, *row, least)
                program.minimise(h, penalty.saturated * mass[pairs] * bounds.unit / factor)

    def _tie(
        self,
        program: Program,
        name: str,
        columns: IndexArray,
        terms: IndexArray,
        coefficients: FloatArray,
        constant: FloatArray,
    ) -> None:
        """Add ``x[columns] >= coefficients @ x[terms] + constant``, one row per line."""
        joint = np.concatenate([columns[:, None], terms], axis=1)
        values = np.concatenate([np.ones((len(columns), 1)), -coefficients], axis=1)
        program.add_rows(name, joint, values, lower=constant)
        self.ties.append((columns, terms, coefficients, constant))

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Leave the weights as they are."""

    def lift(self, x: FloatArray) -> bool:
        """Fill in sizes and lacks of the start's weights and activations."""
        for columns, W in self.sizes:
            x[columns] = np.abs(x[W])
        for columns, W in self.squares:
            x[columns] = x[W] ** 2
        for columns, *_ in self.ties:
            x[columns] = 0.0
        for columns, terms, coefficients, constant in self.ties:
            needed = (coefficients * x[terms]).sum(axis=1) + constant
            np.maximum.at(x, columns, needed)
        return True
