"""Linear scores: logistic regression with integer weights, and the nearest mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from bdnn.clock import Slot
from bdnn.learning.stack import Array, Lesson, Reads, Stack, rounded_votes
from bdnn.network.activation import FloatArray


@dataclass(frozen=True)
class Prior:
    """The class with the most weight, whatever the inputs."""

    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Count."""
        del seed, slot
        share = np.bincount(lesson.labels, lesson.weight, lesson.n_classes) + 1e-3
        n_inputs = lesson.table.n_first(self.reads)
        base = -np.log(share / share.sum()).astype(np.float32)
        return Stack(self.reads, (np.zeros((len(share), n_inputs), np.float32),), (base,))


@dataclass(frozen=True)
class Logistic:
    """Logistic regression on numbers or bits, its weights rounded to a byte each.

    Parameters
    ----------
    reads : Reads
    strength : float
        Inverse of the penalty, as in scikit-learn.
    """

    reads: Reads
    strength: float = 1.0

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Fit and round; of one class there is nothing to fit."""
        if (lesson.labels == lesson.labels[0]).all():
            return Prior(self.reads).fit(lesson, seed=seed, slot=slot)
        inputs = lesson.table.first_inputs(self.reads)
        share = np.zeros((len(lesson), lesson.n_classes), np.float32)
        share[np.arange(len(lesson)), lesson.labels] = lesson.weight
        slopes, base, _ = regression(inputs, share, self.strength, slot)
        rounded, thresholds, factor = rounded_votes(slopes, base)
        return Stack(self.reads, (rounded,), (thresholds,), 1.0 / factor)


def regression(
    inputs: Array, share: Array, strength: float, slot: Slot
) -> tuple[FloatArray, FloatArray, float]:
    """Slopes and intercepts of least penalised cross entropy, and what it is.

    By hand, because scikit-learn's regression knows no time limit, and one of many rows and classes
    takes the time of all other candidates.

    Parameters
    ----------
    inputs : array of shape (n_rows, n_inputs)
    share : array of shape (n_rows, n_classes)
        Weight of every row in every class.
    strength : float
        Inverse of the penalty.
    """
    n_classes = share.shape[1]
    # The first of two classes has no score of its own, nor has a class without rows.
    free = np.flatnonzero(share.sum(axis=0))
    free = free[1:] if n_classes == 2 else free
    weight = share.sum(axis=1)
    scores = np.full(share.shape, 0.0 if n_classes == 2 else -1e3, np.float32)
    shape = len(free), inputs.shape[1] + 1

    def surprise(flat: FloatArray) -> tuple[float, FloatArray]:
        W = flat.reshape(shape).astype(np.float32)
        scores[:, free] = inputs @ W[:, :-1].T + W[:, -1]
        apart = scores - scores.max(axis=1, keepdims=True)
        chance = np.exp(apart)
        total = chance.sum(axis=1, keepdims=True)
        loss = float(weight @ np.log(total[:, 0])) - float(np.vdot(share, apart))
        slope = weight[:, None] * (chance[:, free] / total) - share[:, free]
        by = np.empty(shape)
        by[:, :-1] = strength * (slope.T @ inputs) + W[:, :-1]
        by[:, -1] = strength * slope.sum(axis=0)
        penalty = 0.5 * float(np.square(W[:, :-1], dtype=float).sum())
        return strength * loss + penalty, by.ravel()

    def watch(intermediate_result: OptimizeResult) -> None:
        del intermediate_result
        if slot.is_over():
            raise StopIteration

    found = minimize(
        surprise,
        np.zeros(shape).ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=watch,
        options={"maxiter": 200, "gtol": 1e-3 * strength},
    )
    slopes = np.zeros((n_classes, inputs.shape[1]))
    base = np.full(n_classes, 0.0 if n_classes == 2 else -1e3)
    solution = found.x.reshape(shape)
    slopes[free], base[free] = solution[:, :-1], solution[:, -1]
    return slopes, base, float(found.fun)


@dataclass(frozen=True)
class NearestMean:
    """The class whose mean is nearest: linear, and the least that can be learnt of few rows."""

    reads: Reads = "numbers"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Average."""
        del seed, slot
        inputs = lesson.table.first_inputs(self.reads)
        share = np.zeros((lesson.n_classes, len(lesson)))
        share[lesson.labels, np.arange(len(lesson))] = lesson.weight
        total = share.sum(axis=1, keepdims=True)
        means = share @ inputs / np.maximum(total, 1e-12)
        base = np.where(total[:, 0] > 0, -0.5 * np.square(means).sum(axis=1), -1e6)
        rounded, thresholds, factor = rounded_votes(means, base)
        return Stack(self.reads, (rounded,), (thresholds,), 1.0 / factor)
