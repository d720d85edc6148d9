"""The row of a fixed network as variables where columns have bins.

    z_jb    whether column j is in bin b, one of those in reach: sum_b z_jb = 1
    k_j     the scaled number beside the bins of a column, within what its bin allows:
            sum_b low_b z_jb <= k_j <= sum_b high_b z_jb
    d_j     >= sum_b cost_b z_jb, how far the column has moved, and >= the distance of k_j

Inputs are linear in z and k, so that sums of a layer need no further variables.
"""

from __future__ import annotations

import math

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.program import IndexArray
from bdnn.robustness.columns import ColumnSet
from bdnn.robustness.free_input import (
    COARSE,
    FREE,
    LARGEST_POINT,
    ONE,
    FreeInput,
    Signals,
)


class FreeColumns(FreeInput):
    """Variables of the columns of a single row within a radius."""

    around: ColumnSet

    def __post_init__(self) -> None:
        around, encoder = self.around, self.around.scaler
        low, high = (side[0] for side in around.box(np.array([self.radius])))
        n = len(around.bins)
        self.low, self.high = low, high
        step = encoder.step if encoder.numbers else 1.0
        self.is_whole = step >= COARSE
        self.unit = step if self.is_whole else 1.0
        self.is_exact = self.is_whole and math.frexp(self.unit)[0] == 0.5
        self.reach = [
            np.flatnonzero((costs[0] <= self.radius) & np.isfinite(costs[0]))
            for costs in around.costs
        ]
        self.z = [
            self.program.add_variables(
                f"z{j}", (len(bins),), integer=True, lower=float(len(bins) == 1)
            )
            for j, bins in enumerate(self.reach)
        ]
        for j, z in enumerate(self.z):
            self.program.add_rows(f"one{j}", z[None], np.ones(len(z)), lower=1.0, upper=1.0)
        self._add_numbers(low[n:], high[n:])
        self._add_groups()
        self.signals = self._signals()
        coefficients = self.signals.patterns
        assert coefficients is not None
        is_integral = bool((coefficients == np.rint(coefficients)).all())
        self.is_exact = self.is_exact and is_integral
        self.is_exact = self.is_exact and float(np.abs(coefficients).max(initial=0)) < LARGEST_POINT

    def _add_numbers(self, low: FloatArray, high: FloatArray) -> None:
        """Add the scaled numbers, and tie them to the bins of their columns."""
        around, program = self.around, self.program
        self.places = [around.number_of(j) for j in around.numbered]
        self.limits: list[tuple[FloatArray, FloatArray]] = []
        for k, j in enumerate(around.numbered.tolist()):
            least, most = (end[0][self.reach[j]] for end in around.ends(j))
            least, most = np.maximum(least, low[k]), np.minimum(most, high[k])
            is_lost = self.reach[j] == around.bins[j].n_bins - 1
            ends = (np.where(is_lost, around.scaler.fills[j], end) for end in (least, most))
            a, b = (
                around.scaler.transform_feature(self.places[k], end) / self.unit for end in ends
            )
            self.limits.append((np.minimum(a, b), np.maximum(a, b)))
        lower = np.array([a.min() for a, _ in self.limits])
        upper = np.array([b.max() for _, b in self.limits])
        shape = (len(self.limits),)
        self.k = program.add_variables("k", shape, lower=lower, upper=upper, integer=self.is_whole)
        self.plain = np.arange(len(self.k))
        for variable, j, (a, b) in zip(self.k, around.numbered.tolist(), self.limits, strict=True):
            columns = np.append(self.z[j], variable)[None]
            program.add_rows("from", columns, np.append(-a, 1.0), lower=0.0)
            program.add_rows("to", columns, np.append(-b, 1.0), upper=0.0)

    def _add_groups(self) -> None:
        """Exactly one feature of a one-hot group is 1."""
        for group in self.around.domain.groups:
            ones = [self.z[j][self.around.bins[j].first[self.reach[j]] >= 1.0] for j in group]
            columns = np.concatenate(ones)
            self.program.add_rows("group", columns[None], 1.0, lower=1.0, upper=1.0)

    def _signals(self) -> Signals:
        """Bins and numbers as what enters the first layer."""
        around = self.around
        n_inputs, sizes = around.scaler.n_inputs, [len(z) for z in self.z]
        patterns = np.zeros((n_inputs, sum(sizes) + len(self.k)))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        for j, (bins, reach) in enumerate(zip(around.bins, self.reach, strict=True)):
            part = slice(starts[j], starts[j + 1])
            patterns[bins.inputs, part] = bins.patterns[reach].T / self.unit
        for k, place in enumerate(self.places):
            patterns[place, sum(sizes) + k] = 1.0
        low = np.concatenate([np.repeat([float(size == 1) for size in sizes], sizes), np.empty(0)])
        lower = np.array([a.min() for a, _ in self.limits])
        upper = np.array([b.max() for _, b in self.limits])
        low, high = np.append(low, lower), np.append(np.ones(sum(sizes)), upper)
        columns: IndexArray = np.concatenate([*self.z, self.k])
        choice = np.append(np.repeat(np.arange(len(sizes)), sizes), np.full(len(self.k), -1))
        return Signals(
            columns, low < high, low, high, self.unit, self.is_exact, None, patterns, choice
        )

    def coordinates(self, x: FloatArray) -> FloatArray:
        """Coordinates of a solution, one line."""
        around = self.around
        found, n = around.current.copy(), len(around.bins)
        for j, (z, reach) in enumerate(zip(self.z, self.reach, strict=True)):
            found[0, j] = reach[int(np.argmax(x[z]))]
        for k, j in enumerate(around.numbered.tolist()):
            value = float(x[self.k[k]]) * self.unit
            found[0, n + k] = around.raw_value(j, int(found[0, j]), value)
        return found

    def add_length(self, *, minimise: bool) -> None:
        """Keep the length within the radius with real numbers, and make it the objective."""
        super().add_length(minimise=minimise)
        if self.around.norm == "l2":
            for f, j in zip(self.f, self._moving, strict=True):
                squares = (self._costs(j) / self.radius) ** 2
                columns = np.append(self.z[j], f)[None]
                values = np.append(-squares, 1.0)
                self.program.add_rows("square", columns, values, lower=-FREE)

    def _costs(self, j: int) -> FloatArray:
        return np.asarray(self.around.costs[j][0][self.reach[j]])

    def _add_distances(self) -> None:
        around = self.around
        numbered = around.numbered.tolist()
        self._moving = [j for j, z in enumerate(self.z) if len(z) > 1 or j in numbered]
        self.d = self.program.add_variables("d", (len(self._moving),), upper=ONE)
        for d, j in zip(self.d.tolist(), self._moving, strict=True):
            costs = self._costs(j) / self.radius
            columns = np.append(self.z[j], d)[None]
            self.program.add_rows("distance", columns, np.append(-costs, 1.0), lower=-FREE)
            if j not in numbered or np.isnan(around.X[0, j]):
                continue
            k = numbered.index(j)
            number = around.scaler.numbers[self.places[k]]
            s = float((around.X[0, j] - number.shift) * number.factor)
            reach = float(self.radius * around.unit[j])
            # A missing value is for free, however far what stands in for it is.
            is_lost = self.reach[j] == around.bins[j].n_bins - 1
            free = around.half_step + FREE * (1.0 + abs(s))
            span = np.abs(np.array(self.limits[k])).max() * self.unit + abs(s)
            for side in (-1.0, 1.0):
                values = np.concatenate([np.where(is_lost, span, 0.0), [side * self.unit, reach]])
                columns = np.concatenate([self.z[j], [self.k[k], d]])[None]
                self.program.add_rows("distance", columns, values, lower=side * s - free)
