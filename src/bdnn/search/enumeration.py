"""The least loss of a single unit with integer weights, by going through all of its weights.

A unit splits the inputs into those where it is on and the rest, in the order of its sums. For few
features and a small weight set all weight vectors can be listed; those that are each other's
negative give the same splits. Sums are formed as the network forms them, so that ties are its ties.
"""

from __future__ import annotations

import time
from itertools import islice, product

import numpy as np

from bdnn.activation import FloatArray, weighted_sums
from bdnn.problem import TrainingProblem

# Sums that are formed at most, and numbers that are held at a time.
_LARGEST_TABLE = 30_000_000
_CHUNK = 2_000_000


def least_loss_of_one_unit(problem: TrainingProblem, *, deadline: float) -> float | None:
    """Least loss where all outputs depend on one unit, or each is one; None if there are too many.

    Parameters
    ----------
    problem : TrainingProblem
        With no hidden layer, or a single unit in the first.
    deadline : float
        Moment of ``time.monotonic`` at which the list is given up.
    """
    shape, inputs = problem.architecture, problem.inputs
    kind = shape.weights[0]
    if not kind.integer or len(kind.values) ** shape.n_features * len(inputs) > _LARGEST_TABLE:
        return None
    shared = bool(shape.hidden)
    gains = problem.cost_off - problem.cost_on
    size = max(1, _CHUNK // max(1, gains.size))
    # Values descend, so the first half of the list has one of every pair of negatives.
    half = len(kind.values) ** shape.n_features // 2 + 1
    vectors = islice(product(kind.values[::-1], repeat=shape.n_features), half)
    best = np.inf if shared else np.full(gains.shape[1], np.inf)
    while len(W := np.array(list(islice(vectors, size)))):
        if time.monotonic() > deadline:
            return None
        costs = _split_costs(weighted_sums(inputs, W), gains, either=shared)
        if shared:
            best = min(best, float(costs.sum(axis=-1).min()))
        else:
            best = np.minimum(best, costs.min(axis=(0, 1)))
    return float(problem.cost_off.sum() + np.sum(best))


def _split_costs(sums: FloatArray, gains: FloatArray, *, either: bool) -> FloatArray:
    """Loss above that of all outputs off, per number of inputs on, weight vector and output.

    Being on is worth ``gains``. With ``either`` an output may be on or off on both sides of the
    split; otherwise it is on on one side, whichever is better.
    """
    order = np.argsort(sums, axis=0)
    ranked = np.take_along_axis(sums, order, axis=0)
    below = np.zeros((len(sums) + 1, sums.shape[1], gains.shape[1]))
    np.cumsum(gains[order], axis=0, out=below[1:])
    above = below[-1] - below
    costs = -np.maximum(below, above)
    if either:
        costs = -(np.maximum(below, 0.0) + np.maximum(above, 0.0))
    # Inputs of equal sums are on the same side.
    costs[1:-1][ranked[1:] == ranked[:-1]] = np.inf
    return np.asarray(costs)
