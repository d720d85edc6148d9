"""Squared errors of identity outputs, with a ridge on output weights.

In a program: minimise ``sum w_i p_l e_il^2 + ridge sum p_l a_lj^2``. A solver without squares gets
variables ``f`` in their place, which tangents hold from below: ``f >= 2 e0 e - e0^2``. Every set of
tangents gives a relaxation, so that its bounds are true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.problem.losses.base import OutputLayer
from bdnn.problem.losses.distance import DistanceBlock, DistanceLoss, Errors
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray, interleave

# Where the first tangents touch, in standard deviations of the targets and of the weights' range.
_FIRST_TOUCH = (-1.5, -0.5, 0.5, 1.5)


@dataclass(frozen=True, eq=False)
class SquaredLoss(DistanceLoss):
    """Weighted sum of squared errors.

    Rows with equal inputs get equal values from any network, so that their mean stands in their
    place, one target per line, and what that leaves is the offset.
    """

    kind: ClassVar[str] = "squared"
    is_squared: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        samples: Samples,
        targets: FloatArray,
        *,
        unit: FloatArray | None = None,
        ridge: float = 0.0,
        tolerance: float = 1e-6,
    ) -> SquaredLoss:
        """Take the means of lines, and a ridge in the user's unit of losses."""
        rows, n_lines = samples.rows, samples.n_lines
        weight, group, y = samples.row_weight[rows], samples.line[rows], targets[rows]
        price = np.ones(y.shape[1]) if unit is None else unit**2
        total = np.bincount(group, weight, minlength=n_lines).astype(float)
        mean = np.column_stack(
            [np.bincount(group, weight * column, minlength=n_lines) / total for column in y.T]
        )
        offset = float(weight @ ((y - mean[group]) ** 2 @ price))
        return cls(mean, total, np.arange(n_lines), price, tolerance, offset, ridge / samples.unit)

    def size(self, errors: FloatArray) -> FloatArray:
        return np.asarray(errors**2)

    def best_constant(self, values: FloatArray, weight: FloatArray) -> float:
        return float(np.average(values, weights=weight))

    def interval_costs(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """Sums of squares less squares of sums."""
        values = values - self.best_constant(values, weight)
        sums = np.cumsum(np.vstack([weight, weight * values, weight * values**2]), axis=1)
        before = np.hstack([np.zeros((3, 1)), sums[:, :-1]])
        w, s, q = sums[:, None, :] - before[:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            costs = np.maximum(q - s * s / w, 0.0)
        return np.where(np.tri(len(values), k=-1, dtype=bool), np.inf, costs)

    def add(self, errors: Errors, outputs: OutputLayer) -> SquaredBlock:
        program, rows, size = outputs.program, errors.rows, self.targets.shape
        reach, W = np.sqrt(errors.largest), errors.layer.W
        e = program.add_variables("e", size, lower=-reach, upper=reach)
        columns = interleave(rows.columns, e[..., None])
        equal = np.concatenate([rows.coefficients, -np.ones((*size, 1))], axis=-1)
        program.add_rows("residual", columns, equal, lower=self.targets, upper=self.targets)
        prices = np.broadcast_to(self.ridge * self.price[:, None], W.shape)
        if outputs.takes_squares:
            program.minimise(e, errors.costs, quadratic=True)
            if self.ridge:
                program.minimise(W, prices, quadratic=True)
            return SquaredBlock(errors, e)
        f, g = program.add_variables("f", size, upper=errors.largest), None
        program.minimise(f, errors.costs)
        if self.ridge:
            most = float(errors.layer.weights.limit) ** 2
            g = program.add_variables("g", W.shape, upper=most)
            program.minimise(g, prices)
        return SquaredBlock(errors, e, f, g)

    @property
    def deviation_price(self) -> FloatArray:
        """Prices are of squared errors already."""
        return self.price

    def conflicts(self, n_lines: int) -> float:
        del n_lines
        return self.offset


@dataclass(frozen=True, eq=False)
class SquaredBlock(DistanceBlock):
    """Errors as columns, and where the solver takes no squares, what tangents make of them."""

    e: IndexArray  # (rows, outputs)
    f: IndexArray | None = None  # the same shape: squares of errors under tangents
    g: IndexArray | None = None  # (outputs, inputs): squares of weights, with a ridge

    @property
    def is_relaxed(self) -> bool:
        """Whether squares are held by tangents."""
        return self.f is not None

    def cut(self, x: FloatArray | None = None) -> None:
        """Add the tangents at a point, or at a few fixed errors and weights."""
        W = self.errors.layer.W
        if x is not None:
            return self.add_tangents(x[self.e], x[W])
        limit = float(self.errors.layer.weights.limit)
        for touch in _FIRST_TOUCH:
            errors = np.broadcast_to(touch / np.sqrt(self.errors.loss.price), self.e.shape)
            self.add_tangents(errors, np.full(W.shape, touch / 1.5 * limit))

    def add_tangents(self, errors: FloatArray, weights: FloatArray) -> None:
        """Hold the squares from below by their tangents at these errors and weights."""
        for column, square, points in (
            (self.e, self.f, errors),
            (self.errors.layer.W, self.g, weights),
        ):
            if square is not None:
                columns = np.stack([square, column], axis=-1)
                slopes = np.stack([np.ones(points.shape), -2.0 * points], axis=-1)
                self.errors.program.add_rows("tangent", columns, slopes, lower=-(points**2))

    def true_value(self, x: FloatArray) -> float | None:
        """Objective of a solution with squares in place of what tangents make of them."""
        if not self.is_relaxed:
            return None
        exact = x.copy()
        self.fill(exact)
        return self.errors.program.objective(exact)

    def fill(self, x: FloatArray) -> None:
        x[self.e] = errors = self.errors.at(x)
        if self.f is not None:
            x[self.f] = errors**2
        if self.g is not None:
            x[self.g] = x[self.errors.layer.W] ** 2
