"""Clusters of training inputs, refined by cutting one of them in two at a time."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray
from bdnn.training.paper.splitting.directions import fit_to_set

SplitKind = Literal["kmeans", "labels"]

# A cut is learnt from at most this many inputs of a cluster, so that its cost is bounded.
_MOST_INPUTS = 1000
_RIDGE = 1e-3
_ROUNDINGS = 8


class Partition:
    """A partition of a problem's inputs.

    Parameters
    ----------
    problem : Problem[OutputLoss]

    Attributes
    ----------
    cluster : array of shape (n_inputs,)
        Number of the cluster of every input.
    n_clusters : int
    """

    def __init__(self, problem: Problem[OutputLoss]) -> None:
        self.problem = problem
        self.cluster: IndexArray = np.zeros(len(problem.inputs), dtype=np.int64)
        self.n_clusters = 1

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum of values of the inputs over every cluster."""
        return np.bincount(self.cluster, values, self.n_clusters).astype(float)

    def split_worst(
        self, losses: FloatArray, kind: SplitKind, rng: np.random.Generator
    ) -> int | None:
        """Cut the cluster of the largest loss that can be cut; return its number, None if none.

        Clusters without loss are cut last, the largest first.
        """
        weight = self.problem.loss.label_weight.sum(axis=1)
        order = np.lexsort((-self.totals(weight), -self.totals(losses)))
        for number in order:
            rows = np.flatnonzero(self.cluster == number)
            if len(rows) < 2:
                continue
            side = label_cut(self.problem, rows, rng) if kind == "labels" else None
            if side is None:
                side = two_means(self.problem, rows, rng)
            if side.any() and not side.all():
                self.cluster[rows[side]] = self.n_clusters
                self.n_clusters += 1
                return int(number)
        return None


def two_means(
    problem: Problem[OutputLoss], rows: IndexArray, rng: np.random.Generator
) -> BoolArray:
    """Cut inputs by k-means with two centres; tell which belong to the second."""
    from sklearn.cluster import KMeans

    chosen = _some(rows, rng)
    X, weight = problem.inputs[chosen], problem.loss.label_weight[chosen].sum(axis=1)
    seed = int(rng.integers(2**31 - 1))
    model = KMeans(2, n_init=1, random_state=seed).fit(X, sample_weight=weight)
    one, two = model.cluster_centers_
    # Nearest centre, written out: scikit-learn's own prediction starts threads for a few rows.
    middle = 0.5 * (one + two)
    return np.asarray((problem.inputs[rows] - middle) @ (two - one) > 0.0)


def label_cut(
    problem: Problem[OutputLoss], rows: IndexArray, rng: np.random.Generator
) -> BoolArray | None:
    """Cut inputs by a plane that separates their leading class, None if no cut lowers the loss.

    The direction is a ridge regression of the class on the inputs, in the first layer's weight set
    so that a unit can follow the cut, or a single feature; the place along it is where the majority
    loss of both sides is least. Equal inputs always stay together.
    """
    chosen = _some(rows, rng)
    X, mass = problem.inputs[chosen], problem.loss.label_weight[chosen]
    directions = _class_directions(X, mass, problem.architecture.weights[0], rng)
    line, place, cost = _best_cut(X @ directions.T, mass)
    if not cost < float(majority_loss(mass.sum(axis=0))):
        return None
    return np.asarray(problem.inputs[rows] @ directions[line] > place)


def _class_directions(
    X: FloatArray, mass: FloatArray, weights: WeightSet, rng: np.random.Generator
) -> FloatArray:
    """Directions in a weight set along which the leading class is told from the others."""
    leading = int(mass.sum(axis=0).argmax())
    total = mass.sum(axis=1)
    wanted = 2.0 * mass[:, leading] / total - 1.0
    centred = X - np.average(X, axis=0, weights=total)
    weighted = centred * total[:, None]
    gram = weighted.T @ centred
    gram[np.diag_indices_from(gram)] += _RIDGE * max(float(np.trace(gram)), 1e-300)
    plane = np.linalg.solve(gram, weighted.T @ wanted)
    # The small entries of an integer direction become zeros at a random limit: try several.
    trials = _ROUNDINGS if weights.integer else 1
    return fit_to_set(np.vstack([np.tile(plane, (trials, 1)), np.eye(X.shape[1])]), weights, rng)


def _best_cut(projections: FloatArray, mass: FloatArray) -> tuple[int, float, float]:
    """Which of some lines to cut and where, for the least majority loss of both parts."""
    order = np.argsort(projections, axis=0, kind="stable")
    levels = np.take_along_axis(projections, order, axis=0)
    left = np.cumsum(mass[order], axis=0)
    cost = (majority_loss(left) + majority_loss(left[-1:] - left))[:-1]
    cost = np.where(levels[1:] > levels[:-1] + 1e-9, cost, np.inf)
    place, line = np.unravel_index(int(cost.argmin()), cost.shape)
    middle = 0.5 * (levels[place, line] + levels[place + 1, line])
    return int(line), float(middle), float(cost[place, line])


def majority_loss(mass: FloatArray) -> FloatArray:
    """Least loss of inputs that must get the same outputs; class masses on the last axis."""
    return np.asarray(np.minimum(mass, mass.sum(axis=-1, keepdims=True) - mass).sum(axis=-1))


def _some(rows: IndexArray, rng: np.random.Generator) -> IndexArray:
    return rows if len(rows) <= _MOST_INPUTS else rng.choice(rows, _MOST_INPUTS, replace=False)
