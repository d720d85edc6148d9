"""What an epoch sees of the data: a batch of samples, and clusters of inputs.

A batch is drawn at random, is a window that moves on, or all samples come in turn. Clusters are
refined by cutting one of them in two at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray

BatchKind = Literal["random", "contiguous", "all"]
SplitKind = Literal["kmeans", "labels"]

# A cut is learnt from at most this many inputs of a cluster, so that its cost is bounded.
_MOST_INPUTS = 1000
_RIDGE = 1e-3
_ROUNDINGS = 8
_MOST_COPIES = 100


class Sampler:
    """Draws batches of some size from a problem whose equal samples are merged.

    With integer weights every sample is drawn on its own, so that a batch may hold a part of the
    samples of an input; otherwise an input and class is drawn with its whole weight.
    """

    def __init__(self, problem: Problem[OutputLoss], size: int) -> None:
        self.problem = problem
        self.rows, self.labels = np.nonzero(problem.loss.label_weight)
        self.weight = problem.loss.label_weight[self.rows, self.labels]
        # Integer weights that are far larger than counts of samples are weights all the same.
        few = self.weight.sum() <= _MOST_COPIES * len(self.weight)
        self.is_counted = problem.loss.is_integral and bool(few)
        counts = self.weight.astype(np.int64) if self.is_counted else np.ones_like(self.rows)
        self._last = np.cumsum(counts)
        self.n_samples = int(self._last[-1]) if len(self._last) else 0
        self.size = min(size, self.n_samples)

    def draw(
        self, kind: BatchKind, epoch: int, rng: np.random.Generator
    ) -> Iterator[tuple[IndexArray, Problem[OutputLoss]]]:
        """Yield the batches of an epoch: the inputs' numbers, and their problem."""
        if kind == "random":
            yield self._batch(rng.choice(self.n_samples, self.size, replace=False, shuffle=False))
        elif kind == "contiguous":
            yield self._batch((epoch * self.size + np.arange(self.size)) % self.n_samples)
        else:
            order = rng.permutation(self.n_samples)
            for first in range(0, self.n_samples, self.size):
                yield self._batch(order[first : first + self.size])

    def _batch(self, samples: IndexArray) -> tuple[IndexArray, Problem[OutputLoss]]:
        pairs = np.searchsorted(self._last, samples, side="right")
        # What constraints speak of is part of every batch, without weight where it was not drawn.
        rows = np.union1d(self.rows[pairs], self.problem.needed_lines)
        place = np.searchsorted(rows, self.rows[pairs])
        weight = 1.0 if self.is_counted else self.weight[pairs]
        label_weight = np.zeros((len(rows), self.problem.loss.label_weight.shape[1]))
        np.add.at(label_weight, (place, self.labels[pairs]), weight)
        return rows, self.problem.with_loss(OutputLoss.of_weights(label_weight), rows)


class Partition:
    """A partition of a problem's inputs: the number of the cluster of every input."""

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
    X, label_weight = problem.inputs[chosen], problem.loss.label_weight[chosen]
    directions = _class_directions(X, label_weight, problem.architecture.weights[0], rng)
    line, place, cost = _best_cut(X @ directions.T, label_weight)
    if not cost < float(majority_loss(label_weight.sum(axis=0))):
        return None
    return np.asarray(problem.inputs[rows] @ directions[line] > place)


def _class_directions(
    X: FloatArray, label_weight: FloatArray, weights: WeightSet, rng: np.random.Generator
) -> FloatArray:
    """Directions in a weight set along which the leading class is told from the others."""
    leading = int(label_weight.sum(axis=0).argmax())
    total = label_weight.sum(axis=1)
    wanted = 2.0 * label_weight[:, leading] / total - 1.0
    centred = X - np.average(X, axis=0, weights=total)
    weighted = centred * total[:, None]
    gram = weighted.T @ centred
    gram[np.diag_indices_from(gram)] += _RIDGE * max(float(np.trace(gram)), 1e-300)
    plane = np.linalg.solve(gram, weighted.T @ wanted)
    # The small entries of an integer direction become zeros at a random limit: try several.
    trials = _ROUNDINGS if weights.integer else 1
    return fit_to_set(np.vstack([np.tile(plane, (trials, 1)), np.eye(X.shape[1])]), weights, rng)


def _best_cut(projections: FloatArray, label_weight: FloatArray) -> tuple[int, float, float]:
    """Which of some lines to cut and where, for the least majority loss of both parts."""
    order = np.argsort(projections, axis=0, kind="stable")
    levels = np.take_along_axis(projections, order, axis=0)
    left = np.cumsum(label_weight[order], axis=0)
    cost = (majority_loss(left) + majority_loss(left[-1:] - left))[:-1]
    cost = np.where(levels[1:] > levels[:-1] + 1e-9, cost, np.inf)
    place, line = np.unravel_index(int(cost.argmin()), cost.shape)
    middle = 0.5 * (levels[place, line] + levels[place + 1, line])
    return int(line), float(middle), float(cost[place, line])


def fit_to_set(W: FloatArray, weights: WeightSet, rng: np.random.Generator) -> FloatArray:
    """Turn directions into weights of a set, the small entries of an integer set into zeros."""
    largest = np.abs(W).max(axis=1, keepdims=True, initial=0.0)
    W = W / np.where(largest > 0, largest, 1.0)
    if not weights.integer:
        return W
    if not weights.zero:
        return np.asarray(
            np.where(W > 0, 1.0, np.where(W < 0, -1.0, rng.choice([-1.0, 1.0], size=W.shape)))
        )
    if weights.limit == 1:
        cutoff = rng.uniform(0.1, 0.7, size=(len(W), 1))
        return np.asarray(np.where(np.abs(W) > cutoff, np.sign(W), 0.0))
    return np.asarray(np.rint(W * weights.limit))


def joint_loss(loss: OutputLoss, groups: IndexArray) -> OutputLoss:
    """The loss of inputs whose groups, numbered from 0, get one answer each."""
    counts = loss.counts
    together = np.zeros((int(groups.max(initial=-1)) + 1, counts.shape[1]), dtype=counts.dtype)
    np.add.at(together, groups, counts)
    return replace(loss, counts=together)


def numbered(groups: IndexArray | BoolArray) -> IndexArray:
    """Number the groups of equal lines from 0 without gaps."""
    return np.unique(groups, axis=0, return_inverse=True)[1].reshape(-1)


def majority_loss(label_weight: FloatArray) -> FloatArray:
    """Least loss of inputs that must get the same outputs; weights of classes on the last axis."""
    others = label_weight.sum(axis=-1, keepdims=True) - label_weight
    return np.asarray(np.minimum(label_weight, others).sum(axis=-1))


def _some(rows: IndexArray, rng: np.random.Generator) -> IndexArray:
    return rows if len(rows) <= _MOST_INPUTS else rng.choice(rows, _MOST_INPUTS, replace=False)
