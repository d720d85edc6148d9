"""The input of a fixed network as variables: grid points, real numbers, levels and groups.

    k_j   a multiple of the grid, or a real number; a raw feature of whole numbers has levels
          k_j = first level + sum_l (difference of levels) b_jl,   b_j1 >= b_j2 >= ...
    d_j   >= |k_j step - s_j| - step / 2, how far the feature has moved: rounding is for free, and
          the radius is the unit of length
    f_j   >= d_j^2 for l2, by tangents that are added where they are needed

For linf the box of the radius says it all, unless the length is to be minimised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from bdnn.network.activation import Activation, BoolArray, FloatArray
from bdnn.network.intervals import Bounds, sum_bounds
from bdnn.program import IndexArray, Program
from bdnn.robustness.perturbation import PerturbationSet

# A finer grid is as good as a continuum, and easier.
COARSE = 2.0**-12
# Beyond this, integer solvers could run out of 64 bits.
LARGEST_POINT = 2.0**31
# Tangents of a square to begin with, and the error at which there are enough: a solver's tolerance.
_TANGENTS = 16
_CLOSE = 2e-6
# Distances are left a little free, for what rounding can be.
FREE = 1e-11
ONE = 1.0 + FREE


@dataclass(frozen=True)
class Signals:
    """What enters a layer: variables where ``free``, else the constant ``low``.

    ``whole`` tells whether all of them are integers, in units of ``unit``. Those of a ``rule`` are
    the thresholds that units reach, and a 1 at last; inputs have none.
    """

    columns: IndexArray
    free: BoolArray
    low: FloatArray
    high: FloatArray
    unit: float
    whole: bool
    rule: Activation | None = None
    # (n_inputs, n_signals): inputs as sums of signals, where they are not the signals themselves.
    patterns: FloatArray | None = None
    # (n_signals,): number of the choice that a signal belongs to, of which one is 1; -1 for none.
    choice: IndexArray | None = None

    def spread(self, W: FloatArray) -> FloatArray:
        """Weights of units as weights of the signals that make their values."""
        if self.rule is None:
            return W if self.patterns is None else W @ self.patterns
        steps = (W[:, :, None] * self.rule.jumps).reshape(len(W), -1)
        return np.column_stack([steps, self.rule.values[0] * W.sum(axis=1)])

    def bounds(self, W: FloatArray) -> Bounds:
        """Least and largest sums of signals with weights."""
        if self.choice is None:
            lower, upper = sum_bounds(W, self.low[None], self.high[None])
            return lower[0], upper[0]
        alone = self.choice < 0
        lower, upper = sum_bounds(W[:, alone], self.low[None, alone], self.high[None, alone])
        starts = np.flatnonzero(np.diff(self.choice[~alone], prepend=-1))
        parts = W[:, ~alone]
        least = np.minimum.reduceat(parts, starts, axis=1).sum(axis=1)
        most = np.maximum.reduceat(parts, starts, axis=1).sum(axis=1)
        return lower[0] + least, upper[0] + most


@dataclass(frozen=True)
class Levels:
    """The values of one feature: ``b[l - 1]`` is 1 iff its coordinate is at least ``first + l``."""

    b: IndexArray
    first: float
    costs: FloatArray


@dataclass
class FreeInput:
    """Variables of the input of a single sample within a radius.

    It ``is_whole`` if the variables are integers, and ``is_exact`` if sums of integer weights with
    them are integers too. Features in ``plain`` can move and have no levels.
    """

    around: PerturbationSet
    radius: float
    program: Program
    levels: dict[int, Levels] = field(default_factory=dict)

    def __post_init__(self) -> None:
        around = self.around
        low, high = (side[0] for side in around.box(np.array([self.radius])))
        step, with_levels = around.scaler.step, around.domain.integer
        moving = low < high
        self.low, self.high = low, high
        self.plain = np.flatnonzero(moving & ~with_levels)
        self.is_whole = not self.plain.size or step >= COARSE
        self.unit = step if step and self.is_whole else 1.0
        ends = np.sort([around.inputs(side[None])[0] / self.unit for side in (low, high)], axis=0)
        self.is_whole = self.is_whole and bool((ends == np.rint(ends)).all())
        # Only a power of two divides thresholds without rounding.
        self.is_exact = self.is_whole and math.frexp(self.unit)[0] == 0.5
        self.is_exact = self.is_exact and float(np.abs(ends).max(initial=0.0)) < LARGEST_POINT
        self.k = self.program.add_variables(
            "k", low.shape, lower=ends[0], upper=ends[1], integer=self.is_whole
        )
        self.signals = Signals(self.k, moving, ends[0], ends[1], self.unit, self.is_exact)
        for j in np.flatnonzero(moving & with_levels).tolist():
            self._add_levels(j)
        for group in around.domain.groups:
            self._add_group(group)

    def coordinates(self, x: FloatArray) -> FloatArray:
        """Coordinates of a solution, one line."""
        found = self.around.current.copy()
        for j, levels in self.levels.items():
            found[0, j] = levels.first + np.rint(x[levels.b].sum())
        values, step = x[self.k[self.plain]] * self.unit, self.around.scaler.step
        found[0, self.plain] = np.rint(values / step) if step else values
        return found

    def add_length(self, *, minimise: bool) -> None:
        """Keep the length within the radius with real numbers, and make it the objective."""
        self._add_distances()
        total = self.d
        if self.around.norm == "linf":
            total = self.program.add_variables("R", (1,), upper=ONE)
            pairs = np.stack([np.repeat(total, len(self.d)), self.d], axis=1)
            self.program.add_rows("longest", pairs, [1.0, -1.0], lower=0.0)
        elif self.around.norm == "l2":
            total = self.f = self.program.add_variables("f", self.d.shape, upper=ONE)
            for point in np.linspace(0.0, 1.0, _TANGENTS)[1:]:
                self._add_tangents(np.full(len(self.d), point))
        self.program.add_rows("length", total[None], 1.0, upper=ONE)
        if minimise:
            self.program.minimise(total, 1.0)

    def length_of(self, objective: float) -> float:
        """The length that an objective value, or a bound of it, stands for."""
        value = max(0.0, objective) if math.isfinite(objective) else 0.0
        return self.radius * (math.sqrt(value) if self.around.norm == "l2" else value)

    def refine(self, x: FloatArray) -> bool:
        """Add tangents where squares were taken for too small; tell whether there were any."""
        if self.around.norm != "l2" or float((x[self.d] ** 2 - x[self.f]).sum()) <= _CLOSE:
            return False
        self._add_tangents(x[self.d])
        return True

    def _add_distances(self) -> None:
        around = self.around
        shape = (len(self.plain) + len(self.levels),)
        self.d = self.program.add_variables("d", shape, upper=ONE)
        d = self.d[: len(self.plain)]
        reach, centre = self.radius * around.unit[self.plain], around.centre[0, self.plain]
        free = around.half_step + FREE * (1.0 + np.abs(centre))
        pairs = np.stack([self.k[self.plain], d], axis=1)
        for side in (-1.0, 1.0):
            values = np.stack([np.full(len(d), side * self.unit), reach], axis=1)
            self.program.add_rows("distance", pairs, values, lower=side * centre - free)
        for own, levels in zip(
            self.d[len(self.plain) :].tolist(), self.levels.values(), strict=True
        ):
            costs = levels.costs / self.radius
            columns, values = np.append(levels.b, own), np.append(-np.diff(costs), 1.0)
            self.program.add_rows("distance", columns[None], values, lower=costs[0] - FREE)

    def _add_tangents(self, points: FloatArray) -> None:
        """Squares are above their tangents: f_j >= 2 a d_j - a^2."""
        columns = np.stack([self.f, self.d], axis=1)
        values = np.stack([np.ones(len(points)), -2.0 * points], axis=1)
        self.program.add_rows("tangent", columns, values, lower=-(points**2))

    def _add_levels(self, j: int) -> None:
        points = self._points(j)
        values = self.around.inputs(points)[:, j] / self.unit
        b = self.program.add_variables(f"b{j}", (len(values) - 1,), integer=True)
        self.program.add_rows(
            f"order{j}", np.stack([b[:-1], b[1:]], axis=1), [1.0, -1.0], lower=0.0
        )
        self.program.add_rows(
            f"level{j}",
            np.append(b, self.k[j])[None],
            np.append(-np.diff(values), 1.0),
            lower=values[0],
            upper=values[0],
        )
        self.levels[j] = Levels(b, self.low[j], self.around.moves(points)[:, j])

    def _add_group(self, group: tuple[int, ...]) -> None:
        """Exactly one feature of a one-hot group is 1."""
        columns = [int(self.levels[j].b[0]) for j in group if j in self.levels]
        still = sum(self.around.current[0, j] for j in group if j not in self.levels)
        if columns:
            left = 1.0 - float(still)
            self.program.add_rows("group", np.array([columns]), 1.0, lower=left, upper=left)

    def _points(self, j: int) -> FloatArray:
        """The sample with one feature at each of its coordinates."""
        coordinates = np.arange(self.low[j], self.high[j] + 1)
        points = np.repeat(self.around.current, len(coordinates), axis=0)
        points[:, j] = coordinates
        return points
