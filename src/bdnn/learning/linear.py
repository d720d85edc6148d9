"""Linear scores: logistic regression with integer weights, and the nearest mean."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from bdnn.clock import Slot
from bdnn.learning.stack import Lesson, Reads, Stack
from bdnn.learning.votes import rounded_votes


@dataclass(frozen=True)
class Prior:
    """The class with the most weight, whatever the inputs."""

    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Count."""
        del seed, slot
        share = np.bincount(lesson.labels, lesson.weight, lesson.n_classes) + 1e-3
        n_inputs = lesson.table.first_inputs(self.reads).shape[1]
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
        inputs, n_classes = lesson.table.first_inputs(self.reads), lesson.n_classes
        model = LogisticRegression(C=self.strength, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(inputs, lesson.labels, sample_weight=lesson.weight)
        slopes = np.zeros((n_classes, inputs.shape[1]))
        base = np.full(n_classes, 0.0 if n_classes == 2 else -1e3)
        known = model.classes_[-1:] if len(model.classes_) == 2 else model.classes_
        base[model.classes_] = 0.0
        slopes[known], base[known] = model.coef_, model.intercept_
        rounded, thresholds, factor = rounded_votes(slopes, base)
        return Stack(self.reads, (rounded,), (thresholds,), 1.0 / factor)


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
