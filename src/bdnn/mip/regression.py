"""Identity outputs and their loss: the last layer of the exact model of regression.

    value:     v_il = sum_j s_ilj - t_l,   s_ilj = a_lj u_ij   (McCormick, all four rows;
               above units of other values weighed as in `discrete`)
    residual:  e_il = v_il - y_il
    squared:   minimise sum w_i p_l e_il^2 + ridge sum p_l a_lj^2
    absolute:  minimise sum w_i p_l f_il,  f >= e,  f >= -e

A solver without squares gets variables ``q`` in their place, which tangents hold from below:
``q >= 2 e0 e - e0^2``. Every set of tangents gives a relaxation, so that its bounds are true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.mip.bounds import LayerBounds
from bdnn.mip.layers import Sums
from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import FloatArray
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray, Program, interleave


@dataclass(frozen=True)
class DistanceObjective:
    """The loss as objective; ``e`` are residuals, ``f`` their sizes or squares."""

    program: Program
    e: IndexArray | None  # (samples, outputs): residuals of a squared loss
    # (samples, outputs): sizes of an absolute loss, or squares under tangents.
    f: IndexArray | None
    # (outputs, inputs): weights under a ridge, and their squares under tangents.
    a: IndexArray
    g: IndexArray | None
    targets: FloatArray  # (samples, outputs)
    layer: LayerWeights  # of the outputs
    values: Sums  # columns and coefficients of every line's values
    group: IndexArray  # (samples,)

    @staticmethod
    def bounds(problem: Problem[DistanceLoss]) -> LayerBounds:
        """Range of the biases: the best leaves no output entirely above or below its targets."""
        shape, targets = problem.architecture, problem.loss.targets
        inputs = problem.inputs
        if shape.hidden:
            inputs = np.array(shape.activation_of(len(shape.hidden) - 1).values)
        reach = shape.weights[-1].limit * shape.widths[-2] * float(np.abs(inputs).max(initial=0.0))
        limits = (-float(targets.max()) - reach, reach - float(targets.min()))
        limits = (0.0, 0.0) if shape.thresholds == "zero" else limits
        return LayerBounds(1.0, np.zeros(0), np.zeros(0), limits, 0.0, exact=False)

    @classmethod
    def add(
        cls,
        program: Program,
        problem: Problem[DistanceLoss],
        layer: LayerWeights,
        sums: Sums,
        *,
        tangents: bool,
    ) -> DistanceObjective:
        """Make the loss of the outputs' values the objective, squares by tangents if wanted."""
        targets, group = problem.loss.targets, problem.loss.group
        shape = (problem.samples.n_lines, len(layer.W), sums.columns.shape[-1])
        columns = np.broadcast_to(sums.columns, shape)
        factors = np.broadcast_to(sums.coefficients, shape)
        if layer.t is not None:
            bias = np.broadcast_to(layer.t, (*shape[:2], 1))
            columns = np.concatenate([columns, bias], axis=-1)
            factors = np.concatenate([factors, -np.ones(bias.shape)], axis=-1)
        values = Sums(columns, factors)
        terms, coefficients = columns[group], factors[group]
        costs = problem.loss.weight[:, None] * problem.loss.price
        size = targets.shape
        # No network worth finding has a larger loss, hence larger errors, than a constant one that
        # keeps all terms; without one, errors are what thresholds and weights allow.
        constant = problem.constant_network()
        ceiling = float(problem.objective(constant)) - problem.loss.offset
        largest = (1.0 + 1e-6) * ceiling / costs + 1e-9
        if not problem.is_feasible(constant):
            low, high = layer.bounds.threshold
            widest = problem.loss.size(np.array(high - low + float(np.ptp(targets))))
            largest = np.full(size, float(widest))
        e = f = g = None
        if not problem.loss.is_squared:
            f = program.add_variables("f", size, upper=largest)
            for name, sign in (("above", -1.0), ("below", 1.0)):
                columns = interleave(terms, f[..., None])
                signed = np.concatenate([sign * coefficients, np.ones((*size, 1))], axis=-1)
                program.add_rows(name, columns, signed, lower=sign * targets)
            program.minimise(f, costs)
        else:
            reach = np.sqrt(largest)
            e = program.add_variables("e", size, lower=-reach, upper=reach)
            columns = interleave(terms, e[..., None])
            equal = np.concatenate([coefficients, -np.ones((*size, 1))], axis=-1)
            program.add_rows("residual", columns, equal, lower=targets, upper=targets)
            price = problem.loss.ridge * problem.loss.price[:, None]
            prices = np.broadcast_to(price, layer.W.shape)
            if tangents:
                f = program.add_variables("f", size, upper=largest)
                program.minimise(f, costs)
                if problem.loss.ridge:
                    most = float(layer.weights.limit) ** 2
                    g = program.add_variables("g", layer.W.shape, upper=most)
                    program.minimise(g, prices)
            else:
                program.minimise(e, costs, quadratic=True)
                if problem.loss.ridge:
                    program.minimise(layer.W, prices, quadratic=True)
        program.offset += problem.loss.offset
        return cls(program, e, f, layer.W, g, targets, layer, values, group)

    def add_tangents(self, residuals: FloatArray, weights: FloatArray) -> None:
        """Hold the squares from below by their tangents at these residuals and weights."""
        pairs = [(self.e, self.f, residuals)]
        if self.g is not None:
            pairs.append((self.a, self.g, weights))
        for column, square, points in pairs:
            if column is None or square is None:
                raise ValueError("tangents are for squares that no solver takes")
            columns = np.stack([square, column], axis=-1)
            slopes = np.stack([np.ones(points.shape), -2.0 * points], axis=-1)
            self.program.add_rows("tangent", columns, slopes, lower=-(points**2))

    def true_value(self, x: FloatArray) -> float:
        """Objective of a solution with squares in place of what tangents make of them."""
        exact = x.copy()
        self._fill(exact)
        return self.program.objective(exact)

    @property
    def step(self) -> float:
        """Nothing is known of how objectives differ."""
        return 0.0

    def round_up(self, bound: float) -> float:
        """Any number may be the loss."""
        return bound

    def lift(self, x: FloatArray, W: FloatArray, t: FloatArray) -> bool:
        """Fill in residuals and their sizes; False if a bias is out of its range."""
        low, high = self.layer.bounds.threshold
        if (t < low).any() or (t > high).any():
            return False
        self._fill(x)
        return True

    def _fill(self, x: FloatArray) -> None:
        values = (x[self.values.columns] * self.values.coefficients).sum(axis=-1)
        residuals = values[self.group] - self.targets
        if self.e is not None:
            x[self.e] = residuals
        if self.f is not None:
            x[self.f] = np.abs(residuals) if self.e is None else residuals**2
        if self.g is not None:
            x[self.g] = x[self.a] ** 2
