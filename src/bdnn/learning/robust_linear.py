"""Linear scores for the worst case: weights of numbers, or votes of cuts.

The least lead of a class over another one in a region is a sum over columns, of the worst end of a
number or the worst bin in reach. It is a minimum of linear functions of the weights and so concave:
the logistic loss of least leads is convex. What is exact for single sums is exact for the network,
which has no hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.compiled import compiled
from bdnn.learning.around import Around, Bins, IntArray
from bdnn.learning.linear import Prior
from bdnn.learning.robust_moves import improved
from bdnn.learning.stack import Lesson, Reads, Stack, rounded_votes
from bdnn.network.activation import BoolArray, FloatArray

_STEPS = 150
_RATE = 0.05
_SLOPE = 0.2  # of improved votes, of which a few decide

#: Slopes of the loss by weights, the first of which is a constant, of shape (n_classes, n_inputs).
Slopes = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class RobustVotes:
    """Votes of bits.

    Parameters
    ----------
    cuts : int
        Of a column at most.
    wider : float
        Times the radius that is asked for.
    is_improved : bool
        Whether votes are small integers that exact moves improve, see
        :mod:`bdnn.learning.robust_moves`.
    """

    cuts: int
    wider: float = 1.0
    is_improved: bool = False
    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Descend, and round."""
        around = lesson.around[self.wider]
        used = _few(around, self.cuts)
        if not used.any():
            return Prior().fit(lesson, seed=seed, slot=slot)
        few = around.told_apart(used)
        share = _shares(lesson)

        def slopes(values: FloatArray) -> FloatArray:
            votes = np.ascontiguousarray((few.bits @ values[:, 1:].T).T)
            slope = np.zeros_like(votes), np.zeros(len(votes))
            add_slopes(votes, values[:, 0].copy(), few.low, few.high, lesson.labels, share, *slope)
            return np.column_stack((slope[1], (few.bits.T @ slope[0].T).T))

        values = descended(slopes, (lesson.n_classes, 1 + int(used.sum())), slot)
        values = _differences(values)
        votes = np.zeros((lesson.n_classes, len(used)))
        if self.is_improved:
            values = improved(values, few, lesson, np.random.default_rng(seed), slot)
            votes[:, used] = values[:, 1:]
            thresholds = (-values[:, 0]).astype(np.float32)
            return Stack(self.reads, (votes.astype(np.float32),), (thresholds,), _SLOPE)
        votes[:, used] = values[:, 1:]
        return _rounded(self.reads, votes, values[:, 0])


@dataclass(frozen=True)
class RobustLinear:
    """Weights of numbers."""

    reads: Reads = "numbers"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Descend, and round."""
        del seed
        n_numbers = lesson.table.numbers.shape[1]
        regions = lesson.around[1.0].regions
        middle = lesson.table.numbers.mean(axis=0, dtype=float)
        low, high = (end[:, :n_numbers] - middle for end in (regions.low, regions.high))
        share, labels = _shares(lesson), lesson.labels
        rows_of = [np.flatnonzero(labels == label) for label in range(lesson.n_classes)]

        def slopes(values: FloatArray) -> FloatArray:
            found = np.zeros_like(values)
            for label, rows in enumerate(rows_of):
                for other in range(lesson.n_classes):
                    if other == label:
                        continue
                    base, *weights = values[label] - values[other]
                    corner = np.where(np.array(weights) > 0, low[rows], high[rows])
                    push = share[rows] / (1.0 + np.exp(np.minimum(base + corner @ weights, 50.0)))
                    slope = np.append(push.sum(), push @ corner)
                    found[label] -= slope
                    found[other] += slope
            return found

        values = _differences(descended(slopes, (lesson.n_classes, 1 + n_numbers), slot))
        return _rounded(self.reads, values[:, 1:], values[:, 0] - values[:, 1:] @ middle)


def _shares(lesson: Lesson) -> FloatArray:
    return lesson.weight.astype(float) / float(lesson.weight.sum())


def _differences(values: FloatArray) -> FloatArray:
    """Weights of which, for two classes, only the difference matters."""
    return (
        np.stack((np.zeros(values.shape[1]), values[1] - values[0])) if len(values) == 2 else values
    )


def _rounded(reads: Reads, weights: FloatArray, base: FloatArray) -> Stack:
    """The network of real weights."""
    rounded, thresholds, factor = rounded_votes(weights, base)
    return Stack(reads, (rounded,), (thresholds,), 1.0 / factor)


def _few(around: Around, cuts: int) -> BoolArray:
    """Bits that are no cuts, and so many cuts of every column, evenly among its own."""
    used = around.scale < 0
    for column in np.unique(around.scale[~used]):
        own = np.flatnonzero(around.scale == column)
        own = own[np.argsort(around.rank[own])]
        places = (np.arange(cuts) + 0.5) / cuts * len(own)
        used[own if len(own) <= cuts else own[places.astype(np.intp)]] = True
    return used


def descended(slopes: Slopes, shape: tuple[int, int], slot: Slot) -> FloatArray:
    """Weights after steps of Adam from zero, each smaller than the last."""
    values, mean, square = np.zeros((3, *shape))
    for step in range(1, _STEPS + 1):
        slope = slopes(values)
        mean += 0.1 * (slope - mean)
        square += 0.001 * (np.square(slope) - square)
        rate = _RATE * 0.5 * (1.0 + np.cos(np.pi * step / _STEPS)) / (1.0 - 0.9**step)
        values -= rate * mean / (np.sqrt(square / (1.0 - 0.999**step)) + 1e-9)
        if slot.is_over():
            break
    return values


@compiled
def add_slopes(
    votes: FloatArray,
    base: FloatArray,
    low: Bins,
    high: Bins,
    labels: IntArray,
    share: FloatArray,
    by_vote: FloatArray,
    by_base: FloatArray,
) -> None:
    """Add the slopes of the logistic loss of all rows' least leads over all other classes."""
    n_rows, n_columns = low.shape
    worst = np.zeros(n_columns, np.int64)
    for i in range(n_rows):
        own = labels[i]
        for other in range(len(votes)):
            if other == own:
                continue
            lead = base[own] - base[other]
            for j in range(n_columns):
                first = low[i, j]
                least, place = votes[own, first] - votes[other, first], first
                for b in range(first + 1, high[i, j] + 1):
                    value = votes[own, b] - votes[other, b]
                    if value < least:
                        least, place = value, b
                lead += least
                worst[j] = place
            push = share[i] / (1.0 + np.exp(min(lead, 50.0)))
            by_base[own] -= push
            by_base[other] += push
            for j in range(n_columns):
                by_vote[own, worst[j]] -= push
                by_vote[other, worst[j]] += push
