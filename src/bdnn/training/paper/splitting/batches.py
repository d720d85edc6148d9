"""Batches of samples: at random, a window that moves on, or all samples in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray

BatchKind = Literal["random", "contiguous", "all"]

_MOST_COPIES = 100


class Sampler:
    """Draws batches from a problem whose equal samples are merged.

    With integer masses every sample is drawn on its own, so that a batch may hold a part of the
    samples of an input; otherwise an input and class is drawn with its whole mass.

    Parameters
    ----------
    problem : Problem[OutputLoss]
    size : int
        Samples per batch.
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
        mass = np.zeros((len(rows), self.problem.loss.label_weight.shape[1]))
        np.add.at(mass, (place, self.labels[pairs]), weight)
        return rows, self.problem.with_loss(OutputLoss.of_weights(mass), rows)
