"""Planes cut a line into few pieces, and the outputs are constant on each.

``d`` units of ``L`` thresholds in the first layer are ``d L`` planes; without a hidden layer every
output is one plane of its own. Inputs that agree in all features but one lie on a line, and lines
of the same direction share no input, so that what their cuts cost adds up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.lattice import Integers, gains_of
from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.kernels.arrays import IntArray

# Looking for lines sorts all inputs once per feature; beyond this many numbers nobody waits for it.
_LARGEST_TABLE = 2_000_000
# More than any sum of gains, and twice as much still fits.
_IMPOSSIBLE = 2**62


@dataclass(frozen=True)
class Lines:
    """The direction whose lines cost most."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether there are classes, and a table that is small enough."""
        return isinstance(problem.loss, OutputLoss) and 0 < problem.inputs.size <= _LARGEST_TABLE

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield the cost of every direction that has a larger one than those before."""
        shape, gains = problem.architecture, gains_of(problem.loss)
        n_planes = shape.hidden[0] * shape.activation_of(0).n_thresholds if shape.hidden else 1
        best = 0
        for j in features_with_lines(problem.inputs, n_planes + 2):
            if slot.is_over():
                return
            total = _direction(problem.inputs, gains.values, j, n_planes)
            if total > best:
                best = total
                yield Bound(problem.irreducible.value + gains.step * best, "lines")


def _direction(inputs: FloatArray, gains: Integers, feature: int, n_planes: int) -> int:
    """Sum of what cuts cost over the lines along one feature."""
    others = np.delete(inputs, feature, axis=1)
    order = np.lexsort((inputs[:, feature], *others.T))
    starts = np.zeros(len(order), dtype=bool)
    starts[0] = True
    starts[1:] = (others[order[1:]] != others[order[:-1]]).any(axis=1)
    first = np.flatnonzero(starts)
    length = np.diff(np.append(first, len(order)))
    return sum(
        cut_cost(gains[order[first[line] : first[line] + length[line]], o], n_planes)
        for line in np.flatnonzero(length > n_planes + 1)
        for o in range(gains.shape[1])
    )


def features_with_lines(X: FloatArray, length: int) -> IntArray:
    """Features in which so many inputs may differ that are equal in all others.

    Fingerprints of the other features can only agree too often, which costs time and nothing else.
    """
    if len(X) < length:
        return np.zeros(0, dtype=np.intp)
    words = (np.ascontiguousarray(X) + 0.0).view(np.uint64)
    marks = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        parts = (words ^ (words >> np.uint64(31))) * (marks | np.uint64(1))
        parts ^= parts >> np.uint64(29)
        others = np.sort(parts.sum(axis=1, keepdims=True) - parts, axis=0)
    return np.flatnonzero((others[length - 1 :] == others[: len(X) - length + 1]).any(axis=0))


def cut_cost(gains: Integers, n_cuts: int) -> int:
    """Least cost of mistakes of a 0/1 sequence with at most ``n_cuts`` changes.

    Being on at position ``i`` is worth ``gains[i]``; dynamic programming over (changes, value).
    """
    runs = np.count_nonzero(np.diff(np.sign(gains[gains != 0])))
    if runs <= n_cuts:
        return 0
    price_on, price_off = np.maximum(0, -gains), np.maximum(0, gains)
    on = np.zeros(n_cuts + 1, dtype=np.int64)
    off = np.zeros(n_cuts + 1, dtype=np.int64)
    for i in range(len(gains)):
        switched_on = np.concatenate(([_IMPOSSIBLE], off[:-1]))
        switched_off = np.concatenate(([_IMPOSSIBLE], on[:-1]))
        on, off = (
            np.minimum(on, switched_on) + price_on[i],
            np.minimum(off, switched_off) + price_off[i],
        )
    return int(min(on.min(), off.min()))
