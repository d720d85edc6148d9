"""Absolute errors of identity outputs.

In a program: minimise ``sum w_i p_l f_il`` with ``f >= e`` and ``f >= -e``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.problem.losses.base import OutputLayer
from bdnn.problem.losses.distance import DistanceBlock, DistanceLoss, Errors
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray, interleave


@dataclass(frozen=True, eq=False)
class AbsoluteLoss(DistanceLoss):
    """Weighted sum of absolute errors; rows with equal inputs stay apart."""

    kind: ClassVar[str] = "absolute"

    @classmethod
    def of(
        cls,
        samples: Samples,
        targets: FloatArray,
        *,
        unit: FloatArray | None = None,
        ridge: float = 0.0,
        tolerance: float = 1e-6,
    ) -> AbsoluteLoss:
        """Keep all rows."""
        if ridge:
            raise ModelError(
                f"ridge is for the squared loss, got {ridge!r} with the absolute one: leave it at "
                "0 or 'auto'."
            )
        rows = samples.rows
        price = np.ones(targets.shape[1]) if unit is None else unit.copy()
        weight, group = samples.row_weight[rows], samples.line[rows]
        return cls(targets[rows], weight, group, price, tolerance)

    def size(self, errors: FloatArray) -> FloatArray:
        return np.abs(errors)

    def best_constant(self, values: FloatArray, weight: FloatArray) -> float:
        return weighted_median(values, weight)

    def interval_costs(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """What is above the median less what is below it."""
        costs = np.full((len(values), len(values)), np.inf)
        for first in range(len(values)):
            w, s = np.cumsum(weight[first:]), np.cumsum((weight * values)[first:])
            middle = np.searchsorted(w, 0.5 * w)
            median = values[first:][middle]
            costs[first, first:] = s - 2 * s[middle] + median * (2 * w[middle] - w)
        return np.asarray(np.maximum(costs, 0.0))

    def add(self, errors: Errors, outputs: OutputLayer) -> AbsoluteBlock:
        program, rows = outputs.program, errors.rows
        f = program.add_variables("f", self.targets.shape, upper=errors.largest)
        columns = interleave(rows.columns, f[..., None])
        for name, sign in (("above", -1.0), ("below", 1.0)):
            signed = np.concatenate([sign * rows.coefficients, np.ones((*f.shape, 1))], axis=-1)
            program.add_rows(name, columns, signed, lower=sign * self.targets)
        program.minimise(f, errors.costs)
        return AbsoluteBlock(errors, f)

    @property
    def deviation_price(self) -> FloatArray:
        """Prices are of errors, so that squared errors have their squares."""
        return np.asarray(self.price**2)

    def conflicts(self, n_lines: int) -> float:
        medians = np.empty((n_lines, self.targets.shape[1]))
        for column, y in enumerate(self.targets.T):
            medians[:, column] = _grouped_medians(y, self.weight, self.group)
        return self.of_values(medians)


@dataclass(frozen=True, eq=False)
class AbsoluteBlock(DistanceBlock):
    """Sizes of errors as columns."""

    f: IndexArray  # (rows, outputs)

    def fill(self, x: FloatArray) -> None:
        x[self.f] = np.abs(self.errors.at(x))


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Smallest value with at least half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(reached, 0.5 * reached[-1])]])


def _grouped_medians(values: FloatArray, weight: FloatArray, group: IndexArray) -> FloatArray:
    """Weighted median of the values of every group, all groups at once."""
    order = np.lexsort((values, group))
    group, values, reached = group[order], values[order], np.cumsum(weight[order])
    last = np.flatnonzero(np.append(np.diff(group) != 0, True))
    before = np.concatenate(([0.0], reached[last[:-1]]))
    places = np.searchsorted(reached, 0.5 * (before + reached[last]))
    return np.asarray(values[np.minimum(places, last)])
