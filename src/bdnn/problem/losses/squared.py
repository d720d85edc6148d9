"""Squared errors of identity outputs, with a ridge on output weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.samples import Samples


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
        """Take the means of lines; ``unit`` is the standard deviations that a value of 1 is."""
        rows, n_lines = samples.rows, samples.n_lines
        weight, group, y = samples.row_weight[rows], samples.line[rows], targets[rows]
        price = np.ones(y.shape[1]) if unit is None else unit**2
        total = np.bincount(group, weight, minlength=n_lines).astype(float)
        mean = np.column_stack(
            [np.bincount(group, weight * column, minlength=n_lines) / total for column in y.T]
        )
        offset = float(weight @ ((y - mean[group]) ** 2 @ price))
        return cls(mean, total, np.arange(n_lines), price, tolerance, offset, float(ridge))

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

    @property
    def deviation_price(self) -> FloatArray:
        """Prices are of squared errors already."""
        return self.price

    def conflicts(self, n_lines: int) -> float:
        del n_lines
        return self.offset
