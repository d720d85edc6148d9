"""A bound without solver: d units of v values have at most v^d activations, so as many levels.

The loss is at least that of the best partition of the targets, in ascending order, into so many
groups with a constant each: a dynamic program over sorted targets.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.regression_problem import RegressionProblem, weighted_median

# Larger tables take too long for a bound that is close to 0 anyway.
_MOST_LEVELS = 32
_MOST_TARGETS = 1500
_MOST_MEDIANS = 150


def level_bound(problem: RegressionProblem) -> float | None:
    """Lower bound on the loss of every network, None if there is none to be had quickly."""
    shape = problem.architecture
    if not shape.hidden or shape.n_outputs != 1:
        return None
    levels = min(
        len(shape.activation_of(k).values) ** min(width, 10) for k, width in enumerate(shape.hidden)
    )
    values, place = np.unique(problem.targets[:, 0], return_inverse=True)
    most = _MOST_TARGETS if problem.kind == "squared" else _MOST_MEDIANS
    if levels > _MOST_LEVELS or levels >= len(values) or len(values) > most:
        return None
    weight = np.bincount(place.reshape(-1), problem.weight).astype(float)
    costs = _squared_costs(values, weight) if problem.kind == "squared" else _sizes(values, weight)
    # best[j]: cost of the first j values in the groups so far.
    best = np.concatenate(([0.0], costs[0]))
    for _ in range(levels - 1):
        best = np.concatenate(([0.0], (best[:-1, None] + costs).min(axis=0)))
    # Rounding must not lift the bound above the truth.
    found = problem.offset + float(problem.price[0]) * best[-1]
    return float(found - 1e-9 * max(1.0, found))


def _squared_costs(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Cost of every run first..last of values around their mean, infinite where last < first."""
    sums = np.cumsum(np.vstack([weight, weight * values, weight * values**2]), axis=1)
    before = np.hstack([np.zeros((3, 1)), sums[:, :-1]])
    w, s, q = sums[:, None, :] - before[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.maximum(q - s * s / w, 0.0)
    return np.where(np.tri(len(values), k=-1, dtype=bool), np.inf, costs)


def _sizes(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Cost of every run of values around their median."""
    n = len(values)
    costs = np.full((n, n), np.inf)
    for first in range(n):
        for last in range(first, n):
            part = slice(first, last + 1)
            middle = weighted_median(values[part], weight[part])
            costs[first, last] = weight[part] @ np.abs(values[part] - middle)
    return costs
