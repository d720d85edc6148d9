"""Exact moves of integer votes: one vote after the other, to where most rows are certainly right.

A move changes the votes of one bit, or moves them from a cut to the next one, so that one bin alone
changes. What it makes of the least leads of all rows is computed, and it is kept if the weight of
rows that are right whatever they become grows.
"""

from __future__ import annotations

import numpy as np

from bdnn.clock import Slot
from bdnn.compiled import compiled, part
from bdnn.learning.around import Bins, FewBins, IntArray
from bdnn.learning.stack import Lesson
from bdnn.network.activation import FloatArray

_LARGEST_START, _LARGEST = 12, 127  # of a bin's votes, and of a bit's
_FARTHEST = 4  # of a move
_SWEEPS = 5
_AT_ONCE = 16  # bits between two looks at the clock


def improved(
    values: FloatArray, few: FewBins, lesson: Lesson, rng: np.random.Generator, slot: Slot
) -> FloatArray:
    """Round real votes, the first of which is a constant, and improve them."""
    largest = float(np.abs(few.bits @ values[:, 1:].T).max(initial=0.0))
    factor = _LARGEST_START / max(largest, 1e-12)
    values = np.rint(values * factor)
    values[1:, 0] += 0.5  # no two classes are level
    weights, base = values[:, 1:].copy(), values[:, 0].copy()
    votes = np.ascontiguousarray((few.bits @ weights.T).T)
    columns = few.bits.tocsc()
    first = np.array([columns.indices[a] for a in columns.indptr[:-1]], dtype=np.int64)
    last = np.array([columns.indices[b - 1] for b in columns.indptr[1:]], dtype=np.int64)
    # A text that also stands in for gaps is on in bins that are no neighbours: it keeps its votes.
    is_one = last - first + 1 == np.diff(columns.indptr)
    moved = np.append(-1, np.flatnonzero(is_one))
    at = {(int(a), int(b)): bit for bit, (a, b) in enumerate(zip(first, last, strict=True))}
    follow = np.array([at.get((int(a) + 1, int(b)), -1) for a, b in zip(first, last, strict=True)])
    leads = np.zeros((len(lesson), lesson.n_classes))
    add_leads(votes, base, few.low, few.high, lesson.labels, leads)
    for _ in range(_SWEEPS):
        before = weights.copy(), base.copy()
        order = rng.permutation(moved)
        for place in range(0, len(order), _AT_ONCE):
            if slot.is_over():
                break
            try_moves(
                order[place : place + _AT_ONCE],
                (weights, votes, base, leads),
                (first, last, follow, few.column_of),
                (few.low, few.high),
                lesson.labels,
                lesson.weight.astype(float),
            )
        if np.array_equal(before[0], weights) and np.array_equal(before[1], base):
            break
    return np.column_stack((base, weights))


@part
def least_part(votes: FloatArray, own: int, other: int, low: int, high: int) -> float:
    """Least lead of a class over another one among neighbouring bins."""
    least: float = votes[own, low] - votes[other, low]
    for b in range(low + 1, high + 1):
        least = min(least, votes[own, b] - votes[other, b])
    return least


@compiled
def add_leads(
    votes: FloatArray, base: FloatArray, low: Bins, high: Bins, labels: IntArray, leads: FloatArray
) -> None:
    """Add the least leads of all rows' labels over the other classes."""
    for i in range(len(labels)):
        own = labels[i]
        for other in range(len(votes)):
            if other != own:
                leads[i, other] += base[own] - base[other]
                for j in range(low.shape[1]):
                    leads[i, other] += least_part(votes, own, other, low[i, j], high[i, j])


@compiled
def count_right(leads: FloatArray, labels: IntArray, weight: FloatArray) -> float:
    """Weight of rows whose label leads all other classes."""
    total = 0.0
    for i in range(len(labels)):
        is_right = True
        for other in range(leads.shape[1]):
            is_right = is_right and (other == labels[i] or leads[i, other] > 0.0)
        total += weight[i] if is_right else 0.0
    return total


@compiled
def try_moves(
    order: IntArray,
    found: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    bits: tuple[Bins, Bins, IntArray, IntArray],
    reach: tuple[Bins, Bins],
    labels: IntArray,
    weight: FloatArray,
) -> None:
    """Try all moves of some bits, and of the constants for number -1, and keep what is better."""
    weights, votes, base, leads = found
    first, last, follow, column_of = bits
    low, high = reach
    n_rows, n_classes = leads.shape
    now = count_right(leads, labels, weight)
    tried = np.empty_like(leads)
    for bit in order:
        for k in range(1 if n_classes == 2 else 0, n_classes):
            for alone in range(2):
                if alone == 1 and (bit < 0 or follow[bit] < 0):
                    continue
                for move in range(-_FARTHEST, _FARTHEST + 1):
                    if move == 0 or (bit >= 0 and abs(weights[k, bit] + move) > _LARGEST):
                        continue
                    tried[:] = leads
                    if bit < 0:
                        for i in range(n_rows):
                            for other in range(n_classes):
                                if labels[i] == k:
                                    tried[i, other] += move
                                elif other == k:
                                    tried[i, other] -= move
                    else:
                        j, start = column_of[bit], first[bit]
                        stop = start if alone == 1 else last[bit]
                        _shift(votes, k, start, stop, move, low[:, j], high[:, j], labels, tried)
                    total = count_right(tried, labels, weight)
                    if total > now * (1.0 + 1e-9):
                        now = total
                        leads[:] = tried
                        if bit < 0:
                            base[k] += move
                        else:
                            weights[k, bit] += move
                            if alone == 1:
                                weights[k, follow[bit]] -= move
                    elif bit >= 0:
                        for b in range(start, stop + 1):
                            votes[k, b] -= move


@part
def _shift(
    votes: FloatArray,
    k: int,
    start: int,
    stop: int,
    move: int,
    low: Bins,
    high: Bins,
    labels: IntArray,
    leads: FloatArray,
) -> None:
    """Change votes of a class for some neighbouring bins, and the leads of rows in reach."""
    for sign in range(2):
        if sign == 1:
            for b in range(start, stop + 1):
                votes[k, b] += move
        for i in range(len(labels)):
            if low[i] > stop or high[i] < start:
                continue
            own = labels[i]
            for other in range(leads.shape[1]):
                if other != own and (own == k or other == k):
                    part = least_part(votes, own, other, low[i], high[i])
                    leads[i, other] += part if sign == 1 else -part
