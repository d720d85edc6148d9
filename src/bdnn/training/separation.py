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
from scipy.optimize import linprog

from bdnn.activation import BoolArray, FloatArray
from bdnn.search.kernels.backend import compiled

Indices = NDArray[np.intp]
HalfSpace = tuple[FloatArray, float]

_SUPPORT = 1e-10
_FEASIBLE = 1e-9
_ZERO = 1e-12
_MOST_PIVOTS = 500
_FORBIDDING = 100.0
_REFRESH = 50


class Conflict(NamedTuple):
    """Inputs that no unit separates: not all of ``on`` on and all of ``off`` off."""

    on: tuple[int, ...]
    off: tuple[int, ...]


class Separator:
    """Separability of sets of given inputs.

    Parameters
    ----------
    inputs : array of shape (n_inputs, n_features)
    """

    def __init__(self, inputs: FloatArray) -> None:
        self.inputs = inputs
        self._grid = exact_grid(inputs)
        low, high = inputs.min(axis=0), inputs.max(axis=0)
        self._centre = (low + high) / 2
        self._spread = np.where(high > low, high - low, 1.0) / 2
        # Only the linear program sees these rounded numbers; the proof uses the grid.
        self._scaled = (inputs - self._centre) / self._spread

    def walker(self, on: Indices, off: Indices) -> Walker | None:
        """Conflicts within two sets, None if they seem separable."""
        if not (len(on) and len(off)):
            return None
        walker = Walker(self._scaled, on, off)
        return walker if walker.is_feasible else None

    def certify(self, conflict: Conflict) -> bool:
        """Tell whether the hulls of a proposed minimal conflict really meet, without rounding."""
        columns = [[1, *self._grid[i]] for i in conflict.on]
        columns += [[-1, *(-value for value in self._grid[i])] for i in conflict.off]
        if not (conflict.on and conflict.off):
            return False
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
        side = np.concatenate([np.ones(len(on)), -np.ones(len(off))])
        rows = self._scaled[np.concatenate([on, off])] * side[:, None]
        answer = linprog(
            np.append(np.zeros(n_features + 1), -1.0),
            A_ub=np.column_stack([-rows, side, np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            bounds=[(-1, 1)] * n_features + [(None, None), (None, None)],
            method="highs-ds",
            options={"primal_feasibility_tolerance": _SUPPORT},
        )
        if answer.status != 0:
            return None
        weights = answer.x[:n_features] / self._spread
        largest = np.abs(weights).max()
        if not 0.0 < largest < math.inf:
            return None
        weights = np.clip(weights / largest, -1.0, 1.0)
        sums = self.inputs @ weights
        low, high = sums[off].max(), sums[on].min()
        return (weights, float((low + high) / 2)) if low < high else None


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
    size = len(columns)
    rows = [list(row) for row in zip(*columns, strict=True)]
    previous = 1
    pivots: list[int] = []
    free: int | None = None
    rank = 0
    for column in range(size):
        best = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if best is None:
            if free is not None:
                return None
            free = column
            continue
        rows[rank], rows[best] = rows[best], rows[rank]
        head = rows[rank]
        pivot = head[column]
        for number, row in enumerate(rows):
            if number != rank:
                factor = row[column]
                # Gauss-Jordan form of Bareiss: rows above the pivot stay divisible as well.
                rows[number] = [
                    (pivot * a - factor * b) // previous for a, b in zip(row, head, strict=True)
                ]
        previous = pivot
        pivots.append(column)
        rank += 1
    if free is None:
        return None
    answer = [0] * size
    answer[free] = previous
    for number, column in enumerate(pivots):
        answer[column] = -rows[number][free]
    return answer


class Walker:
    """Primal simplex method over the conflicts within two sets, from vertex to vertex.

    Every change of costs continues from the vertex at hand, so that a further conflict takes a few
    pivots where a solver would start afresh.

    Parameters
    ----------
    points : array of shape (n_inputs, n_features)
    on, off : arrays of input numbers
    """

    def __init__(self, points: FloatArray, on: Indices, off: Indices) -> None:
        n_rows = points.shape[1] + 2
        self._members = np.concatenate([on, off])
        self._n_on = len(on)
        self._n_real = len(self._members)
        # One line per column of the linear program; the last ones, artificial, are the start.
        self._columns = np.zeros((self._n_real + n_rows, n_rows))
        self._columns[: len(on), :-2] = points[on]
        self._columns[: len(on), -2] = 1.0
        self._columns[len(on) : self._n_real, :-2] = -points[off]
        self._columns[len(on) : self._n_real, -1] = 1.0
        self._columns[self._n_real :] = np.eye(n_rows)
        self._basis = np.arange(self._n_real, self._n_real + n_rows)
        self._inverse = np.eye(n_rows)
        self._level = np.zeros(n_rows)
        self._level[-2:] = 1.0
        self._pivots = 0
        costs = np.zeros(len(self._columns))
        costs[self._n_real :] = 1.0
        self.is_feasible = self._descend(costs) <= _FEASIBLE

    def minimise(self, costs: FloatArray) -> float:
        """Go to a vertex of least ``sum(costs * weights)`` and return that sum."""
        full = np.zeros(len(self._columns))
        full[: self._n_real] = costs[self._members]
        return self._descend(full)

    def conflict(self) -> Conflict:
        """Give the inputs with positive weight at the present vertex."""
        used = np.sort(self._basis[(self._level > _SUPPORT) & (self._basis < self._n_real)])
        return Conflict(
            tuple(self._members[used[used < self._n_on]].tolist()),
            tuple(self._members[used[used >= self._n_on]].tolist()),
        )

    def sparse(
        self, costs: FloatArray, groups: Sequence[BoolArray], rng: np.random.Generator
    ) -> Conflict:
        """Find a conflict of small cost and with few inputs of given groups.

        Parameters
        ----------
        costs : array of shape (n_inputs,)
        groups : arrays of bool, one per input
            No input of the first group can be left out; then, as far as the first group is as it
            is, none of the second, and so on.
        rng : numpy.random.Generator
            Decides in which order inputs are tried.
        """
        self.minimise(costs)
        avoided = np.zeros(len(costs))
        for group in groups:
            conflict = self.conflict()
            members = np.array(conflict.on + conflict.off, dtype=np.intp)
            members = members[group[members]]
            avoided[group] = 1.0
            avoided[members] = 0.0
            for member in rng.permutation(members):
                avoided[member] = 1.0
                if self.minimise(avoided) > _FEASIBLE:
                    avoided[member] = 0.0
            self.minimise(costs + _FORBIDDING * avoided)
        return self.conflict()

    def _descend(self, costs: FloatArray) -> float:
        if self._pivots >= _REFRESH:
            # Updating the inverse pivot by pivot adds up rounding errors.
            self._inverse = np.ascontiguousarray(np.linalg.inv(self._columns[self._basis].T))
            self._level = self._inverse[:, -2:].sum(axis=1)
            self._pivots = 0
        self._pivots += _pivot_down(
            self._columns, self._n_real, costs, self._basis, self._inverse, self._level
        )
        return float(costs[self._basis] @ self._level)


@compiled
def _pivot_down(
    columns: FloatArray,
    n_real: int,
    costs: FloatArray,
    basis: Indices,
    inverse: FloatArray,
    level: FloatArray,
) -> int:
    """Pivot to a vertex of least cost; basis, inverse and level are changed in place."""
    # Plain loops: expressions of arrays take numba five times as long to compile.
    size = len(basis)
    duals, change = np.empty(size), np.empty(size)
    for pivots in range(_MOST_PIVOTS):
        for k in range(size):
            duals[k] = 0.0
            for r in range(size):
                duals[k] += costs[basis[r]] * inverse[r, k]
        enter, least = -1, -_FEASIBLE
        for column in range(n_real):
            reduced = costs[column]
            for k in range(size):
                reduced -= duals[k] * columns[column, k]
            if reduced < least:
                enter, least = column, reduced
        if enter < 0:
            return pivots
        for r in range(size):
            change[r] = 0.0
            for k in range(size):
                change[r] += inverse[r, k] * columns[enter, k]
        leave, step = -1, np.inf
        for r in range(size):
            # An artificial column at zero must not rise again, whichever way it would move.
            pinned = basis[r] >= n_real and level[r] <= _ZERO and abs(change[r]) > _FEASIBLE
            if not (pinned or change[r] > _FEASIBLE):
                continue
            ratio = 0.0 if pinned else max(level[r], 0.0) / change[r]
            # Among equal steps the largest pivot is the most accurate.
            if ratio < step - _ZERO or (
                ratio <= step + _ZERO and leave >= 0 and abs(change[r]) > abs(change[leave])
            ):
                leave, step = r, ratio
        if leave < 0:
            return pivots
        for r in range(size):
            level[r] -= step * change[r]
        level[leave] = step
        basis[leave] = enter
        pivot = change[leave]
        change[leave] = 0.0
        for k in range(size):
            inverse[leave, k] /= pivot
            for r in range(size):
                inverse[r, k] -= change[r] * inverse[leave, k]
    return _MOST_PIVOTS
