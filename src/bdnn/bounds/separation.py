"""Which inputs one unit can tell apart, with proofs in integer arithmetic where it cannot.

A unit is on iff ``w.x >= t``. It can be on for a finite set A of inputs and off for a finite set B
iff the convex hulls of A and B are disjoint (Minkowski; finite hulls are compact, so they can then
be told apart strictly). Where the hulls meet there are weights

    sum_a p_a x_a = sum_b q_b x_b,   sum p = sum q = 1,   p, q > 0,

and the vertices of the polytope of all such (p, q) are exactly the minimal conflicts: no input can
be left out (Gleeson and Ryan, 1990). A vertex has at most n + 2 positive entries, so a linear
program in floating point proposes a support, and a small integer system decides whether the
conflict is real: inputs are binary fractions, hence integers after shifting the point of each
feature. No tolerance is involved in a conflict that was accepted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.program import Program
from bdnn.solvers.highs import GrowingProgram, Highs

Indices = NDArray[np.intp]
HalfSpace = tuple[FloatArray, float]

# Entries of a vertex below this are zero; HiGHS takes no smaller tolerance.
_SUPPORT = 1e-10
_FEASIBLE = 1e-9
# Weight on an input to be avoided costs this many times as much as on any other.
_DEAR = 1000.0


class Conflict(NamedTuple):
    """Inputs that no unit separates: not all of ``on`` on and all of ``off`` off."""

    on: tuple[int, ...]
    off: tuple[int, ...]


class Separator:
    """Separability of sets of given inputs."""

    def __init__(self, inputs: FloatArray) -> None:
        self.inputs = inputs
        low, high = inputs.min(axis=0), inputs.max(axis=0)
        # Halves first: the sum or difference of two large numbers may overflow.
        spread = high / 2 - low / 2
        self._spread = np.where(spread > 0, spread, 1.0)
        # Only the linear program sees these rounded numbers; the proof uses exact ones.
        self._scaled = (inputs - (low / 2 + high / 2)) / self._spread

    def hulls(self, on: Indices, off: Indices) -> MeetingHulls | None:
        """What the hulls of two sets share, None if they seem disjoint."""
        if not (len(on) and len(off)):
            return None
        hulls = MeetingHulls(self._scaled, on, off)
        return None if hulls.is_empty else hulls

    def certify(self, conflict: Conflict) -> bool:
        """Tell whether the hulls of a proposed minimal conflict really meet, without rounding."""
        if not (conflict.on and conflict.off):
            return False
        points, n_on = exact_grid(self.inputs[list(conflict.on + conflict.off)]), len(conflict.on)
        columns = [[1, *point] for point in points[:n_on]]
        columns += [[-1, *(-value for value in point)] for point in points[n_on:]]
        weights = null_vector(columns)
        if weights is None or not (min(weights) > 0 or max(weights) < 0):
            return False
        # The proof itself, so that nothing rests on the elimination above.
        return all(
            sum(w * value for w, value in zip(weights, row, strict=True)) == 0
            for row in zip(*columns, strict=True)
        )

    def half_space(self, on: Indices, off: Indices) -> HalfSpace | None:
        """Weights in [-1, 1] and a threshold in the middle of the gap, None if there is no gap."""
        n_features = self.inputs.shape[1]
        if not (len(on) and len(off)):
            return np.zeros(n_features), (-1.0 if len(on) else 1.0)
        side = np.repeat([1.0, -1.0], [len(on), len(off)])
        rows = self._scaled[np.concatenate([on, off])] * side[:, None]
        program = Program()
        w = program.add_variables("w", (n_features,), lower=-1.0)
        t, gap = program.add_variables("t", (2,), lower=-np.inf, upper=np.inf)
        columns = np.broadcast_to(np.append(w, [t, gap]), (len(rows), n_features + 2))
        program.add_rows(
            "gap", columns, np.column_stack([rows, -side, -np.ones(len(rows))]), lower=0.0
        )
        program.minimise(gap[None], -1.0)
        found = Highs(tolerance=_SUPPORT).solve(program).solution
        if found is None:
            return None
        weights = found[w] / self._spread
        largest = np.abs(weights).max()
        if not 0.0 < largest < math.inf:
            return None
        weights = np.clip(weights / largest, -1.0, 1.0)
        sums = self.inputs @ weights
        low, high = sums[off].max(), sums[on].min()
        return (weights, float((low + high) / 2)) if low < high else None


def hulls_meet(inputs: FloatArray, is_on: BoolArray) -> bool:
    """Prove that the hulls of two sets of inputs share a point; False means "not proven"."""
    separator = Separator(inputs)
    hulls = separator.hulls(np.flatnonzero(is_on), np.flatnonzero(~is_on))
    if hulls is None:
        return False
    costs, rng = np.zeros(len(inputs)), np.random.default_rng(0)
    return separator.certify(hulls.conflict(costs, costs > 0, rng))


def exact_grid(inputs: FloatArray) -> list[list[int]]:
    """Turn floating-point inputs into integers, each feature by a power of two of its own.

    The factor of a feature leaves convex hulls and their intersections as they are.
    """
    columns = []
    for column in inputs.T.tolist():
        ratios = [value.as_integer_ratio() for value in column]
        shared = max(denominator for _, denominator in ratios)
        columns.append([top * (shared // bottom) for top, bottom in ratios])
    return [list(row) for row in zip(*columns, strict=True)]


def null_vector(columns: Sequence[Sequence[int]]) -> list[int] | None:
    """Integers, not all zero, that combine integer columns to zero; None unless they are unique.

    Fraction-free elimination (Bareiss): every division is exact, so there is no rounding. Unique
    means up to a common factor.
    """
    rows = [list(row) for row in zip(*columns, strict=True)]
    pivots: list[int] = []
    free: int | None = None
    previous = 1
    for column in range(len(columns)):
        rank = len(pivots)
        best = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if best is None:
            if free is not None:
                return None
            free = column
            continue
        rows[rank], rows[best] = rows[best], rows[rank]
        head = rows[rank]
        pivot = head[column]
        for number in range(rank + 1, len(rows)):
            row = rows[number]
            factor = row[column]
            row[column:] = [
                (pivot * a - factor * b) // previous
                for a, b in zip(row[column:], head[column:], strict=True)
            ]
        previous = pivot
        pivots.append(column)
    if free is None:
        return None
    answer = [0] * len(columns)
    # With the determinant of the pivots for the free column all others are integers (Cramer).
    answer[free] = previous
    for row, column in zip(rows[len(pivots) - 1 :: -1], reversed(pivots), strict=True):
        rest = zip(row[column + 1 :], answer[column + 1 :], strict=True)
        answer[column] = -sum(a * b for a, b in rest) // row[column]
    return answer


class MeetingHulls:
    """What the hulls of two sets share, as a linear program over (p, q) whose costs change.

    Every change continues from the vertex at hand, so that a further conflict takes a few steps of
    the simplex method.
    """

    def __init__(self, points: FloatArray, on: Indices, off: Indices) -> None:
        self._members = np.concatenate([on, off])
        self._n_on = len(on)
        is_on = np.repeat([1.0, 0.0], [len(on), len(off)])
        rows = np.vstack([(2 * is_on - 1) * points[self._members].T, is_on, 1 - is_on])
        level = np.repeat([0.0, 1.0], [points.shape[1], 2])
        size = len(self._members)
        self._program = GrowingProgram(primal=True, tolerance=_SUPPORT)
        self._program.add_variables(np.zeros(size), np.full(size, np.inf), np.zeros((0, size)))
        self._program.add_rows(rows, level, lower=level)
        self._vertex = self._program.solve()

    @property
    def is_empty(self) -> bool:
        """Whether the hulls seem to be disjoint."""
        return not self._vertex.is_optimal

    def conflict(self, costs: FloatArray, spare: BoolArray, rng: np.random.Generator) -> Conflict:
        """Propose a conflict of small cost.

        Of the inputs marked as ``spare``, which are tried in random order, none can be left out,
        whatever takes its place among the others.
        """
        self._minimise(costs)
        used = self._used()
        tried = used[spare[used]]
        avoided = spare.astype(float)
        avoided[tried] = 0.0
        for member in rng.permutation(tried):
            avoided[member] = 1.0
            if member in used:
                if self._minimise(avoided) <= _FEASIBLE:
                    used = self._used()
                else:
                    avoided[member] = 0.0
        if len(tried):
            self._minimise(costs + _DEAR * (1.0 + costs.max()) * avoided)
        used = np.flatnonzero(self._vertex.variables > _SUPPORT)
        return Conflict(
            tuple(self._members[used[used < self._n_on]].tolist()),
            tuple(self._members[used[used >= self._n_on]].tolist()),
        )

    def _used(self) -> Indices:
        """Give the inputs with positive weight at the present vertex."""
        return self._members[self._vertex.variables > _SUPPORT]

    def _minimise(self, costs: FloatArray) -> float:
        """Go to a vertex of least ``sum(costs * weights)`` and return that sum."""
        self._program.change_costs(costs[self._members])
        vertex = self._program.solve()
        if not vertex.is_optimal:
            return math.inf  # numerical trouble: the last vertex is still good
        self._vertex = vertex
        return vertex.value
