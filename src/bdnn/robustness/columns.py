"""What rows of raw columns can become within a radius: boxes of coordinates, and what networks see.

Coordinates are those of :mod:`bdnn.robustness.column_costs`: bins, and raw values of scaled
numbers. The latter are only told apart where the bin is known, so that both always fit together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.norms import SLACK
from bdnn.problem.reach import BinReach
from bdnn.problem.regions import Regions
from bdnn.robustness.column_costs import ColumnCosts


@dataclass(frozen=True, eq=False)
class ColumnSet(ColumnCosts):
    """Samples whose columns have bins, and what they may become."""

    @property
    def whole(self) -> BoolArray:
        """Which coordinates are whole numbers: those of bins, and of columns of whole numbers."""
        return np.append(np.ones(len(self.bins), dtype=bool), self.domain.integer[self.numbered])

    @property
    def levels(self) -> FloatArray | None:
        if self.norm != "linf" or len(self.numbered):
            return None
        return np.sort(np.concatenate(self.costs, axis=1), axis=1)

    def _raw_ends(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest raw value of every column with a number within radii."""
        js = self.numbered
        x, gaps = self.current[:, len(self.bins) :], np.isnan(self.X[:, js])
        reach = radius[:, None] / self.weight[js] * (1 + SLACK)
        wide = reach + SLACK * (np.abs(x) + reach)
        low, high = x - wide, x + wide
        whole = self.domain.integer[js]
        low = np.where(whole, np.ceil(x - reach), low)
        high = np.where(whole, np.floor(x + reach), high)
        is_free = gaps & self.domain.may_be_known[js] & ~self.domain.fixed[js]
        low = np.where(gaps, np.where(is_free, -np.inf, x), low)
        high = np.where(gaps, np.where(is_free, np.inf, x), high)
        low, high = np.maximum(low, self.lowest[:, js]), np.minimum(high, self.highest[:, js])
        return np.minimum(low, x), np.maximum(high, x)

    def box(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest coordinates within one radius per sample."""
        low, high = self.current.copy(), self.current.copy()
        for j, costs in enumerate(self.costs):
            reach = (costs <= radius[:, None]) & np.isfinite(costs)
            low[:, j] = reach.argmax(axis=1)
            high[:, j] = reach.shape[1] - 1 - reach[:, ::-1].argmax(axis=1)
        n = len(self.bins)
        low[:, n:], high[:, n:] = self._raw_ends(radius)
        return low, high

    def _reached(self, j: int, low: FloatArray, high: FloatArray, radius: float) -> BoolArray:
        """Tell which bins of a column boxes around a single sample hold."""
        place = np.arange(self.bins[j].n_bins)
        inside = (place >= low[:, j, None]) & (place <= high[:, j, None])
        return np.asarray(inside & (self.costs[j] <= radius) & np.isfinite(self.costs[j]))

    def tightened(
        self, low: FloatArray, high: FloatArray, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Boxes around a single sample as far as they lie within a radius, upside down if not."""
        low, high, n = low.copy(), high.copy(), len(self.bins)
        for j in range(n):
            reach = self._reached(j, low, high, radius)
            last = reach.shape[1] - 1
            low[:, j] = np.where(reach.any(axis=1), reach.argmax(axis=1), last + 1)
            high[:, j] = np.where(reach.any(axis=1), last - reach[:, ::-1].argmax(axis=1), -1)
        least, most = self._raw_ends(np.array([radius]))
        low[:, n:], high[:, n:] = np.maximum(low[:, n:], least), np.minimum(high[:, n:], most)
        for dim, j in enumerate(self.numbered, start=n):
            # The bins say what raw values there are; where it is missing these mean nothing.
            last = self.bins[j].n_bins - 1
            first, final = (end[0] for end in self.ends(j))
            bottom = np.clip(low[:, j], 0, last - 1).astype(np.intp)
            top = np.clip(high[:, j], 0, last - 1).astype(np.intp)
            is_lost = low[:, j] == last
            low[:, dim] = np.where(is_lost, 0.0, np.maximum(low[:, dim], first[bottom]))
            high[:, dim] = np.where(is_lost, 0.0, np.minimum(high[:, dim], final[top]))
            # Only what may be missing is left of a column whose values are out of reach.
            is_lost = (high[:, j] == last) & (low[:, dim] > high[:, dim])
            low[:, j] = np.where(is_lost, last, low[:, j])
            low[:, dim] = np.where(is_lost, 0.0, low[:, dim])
            high[:, dim] = np.where(is_lost, 0.0, high[:, dim])
        return low, high

    def nearest_points(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The point of every box that is nearest to a single sample."""
        found, n = np.clip(self.current, low, high), len(self.bins)
        for j, costs in enumerate(self.costs):
            inside = self._reached(j, low, high, np.inf)
            found[:, j] = np.where(inside, costs, np.inf).argmin(axis=1)
        for dim, j in enumerate(self.numbered, start=n):
            first, last = (end[0] for end in self.ends(j))
            own = np.minimum(found[:, j], len(first) - 2).astype(np.intp)
            least, most = np.maximum(low[:, dim], first[own]), np.minimum(high[:, dim], last[own])
            found[:, dim] = np.clip(self.current[0, dim], least, np.maximum(least, most))
        return found

    def is_point(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """Tell which boxes are a single point to the network."""
        n = len(self.bins)
        same = (low[:, :n] == high[:, :n]).all(axis=1)
        return np.asarray(same & (self._widths(low, high) == 0).all(axis=1))

    def _widths(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """How wide the scaled numbers of boxes are, as far as their bins are known."""
        n = len(self.bins)
        widths = np.zeros((len(low), len(self.numbered)))
        for k, j in enumerate(self.numbered):
            is_known = (low[:, j] == high[:, j]) & (low[:, j] < self.bins[j].n_bins - 1)
            for place in self._numbers_of(j):
                ends = (self.scaler.transform_feature(place, x[:, n + k]) for x in (low, high))
                widths[:, k] = np.where(is_known, np.abs(np.subtract(*ends)), 0.0)
        return widths

    def halves(
        self, number: NDArray[np.intp], low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Where to halve ranges of coordinates: the last value of one half, the first of the other.

        Raw values on a grid are halved at the edge between two grid points.
        """
        cut, after = super().halves(number, low, high)
        for dim, j in enumerate(self.numbered, start=len(self.bins)):
            own = (number == dim) & ~self.domain.integer[j]
            if own.any():
                cut[own] = self._edge(self._numbers_of(j)[0], low[own], high[own])
                after[own] = np.nextafter(cut[own], np.inf)
        return cut, after

    def _edge(self, place: int, low: FloatArray, high: FloatArray) -> FloatArray:
        """The last raw value that is scaled to no more than the middle of a range."""
        encoder = self.scaler
        if not encoder.step:
            return low + 0.5 * (high - low)
        ends = [encoder.transform_feature(place, x) / encoder.step for x in (low, high)]
        return self._last_below(
            place, low, high, np.floor(0.5 * (ends[0] + ends[1])) * encoder.step
        )

    def by_coordinate(self, values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """What inputs count for, as what coordinates of boxes do; -1 for one without width."""
        found, n, column_of = np.zeros_like(low), len(self.bins), self.scaler.column_of
        np.add.at(found.T, column_of, values.T)
        for k, j in enumerate(self.numbered):
            for place in self._numbers_of(j):
                found[:, n + k] += values[:, place]
        wide = np.hstack([high[:, :n] > low[:, :n], self._widths(low, high) > 0])
        return np.where(wide, found + 1e-300, -1.0)

    def inputs(self, coordinates: FloatArray) -> FloatArray:
        """What the network sees at coordinates."""
        n, encoder = len(self.bins), self.scaler
        found = np.empty((len(coordinates), encoder.n_inputs))
        for j, bins in enumerate(self.bins):
            found[:, bins.inputs] = bins.patterns[coordinates[:, j].astype(np.intp)]
        for dim, j in enumerate(self.numbered, start=n):
            is_lost = coordinates[:, j] == self.bins[j].n_bins - 1
            values = np.where(is_lost, encoder.fills[j], coordinates[:, dim])
            for place in self._numbers_of(j):
                found[:, place] = encoder.transform_feature(place, values)
        return found

    def regions(self, radius: FloatArray) -> Regions:
        """What the network may see within one radius per sample."""
        low, high = self.box(radius)
        bins = tuple(
            BinReach.create(own.inputs, own.patterns, costs, radius)
            for own, costs in zip(self.bins, self.costs, strict=True)
            if own.inputs.size
        )
        return self._regions(low, high, radius, bins, self._points(radius))

    def parts(self, low: FloatArray, high: FloatArray, radius: float) -> Regions:
        """What the network may see in boxes of coordinates around a single sample."""
        reach, bins = np.full(len(low), radius), []
        for j, own in enumerate(self.bins):
            if own.inputs.size:
                costs = np.where(self._reached(j, low, high, radius), self.costs[j], np.inf)
                bins.append(BinReach.create(own.inputs, own.patterns, costs, reach))
        return self._regions(low, high, reach, tuple(bins), None)

    def _regions(
        self,
        low: FloatArray,
        high: FloatArray,
        radius: FloatArray,
        bins: tuple[BinReach, ...],
        points: FloatArray | None,
    ) -> Regions:
        """Put bins and ranges of numbers together; coordinates are those of samples or boxes."""
        encoder, n = self.scaler, len(self.bins)
        least = np.zeros((len(low), encoder.n_inputs))
        most = np.zeros_like(least)
        centre = np.zeros_like(least)
        for column in bins:
            least[:, column.inputs], most[:, column.inputs] = column.ends
        for dim, j in enumerate(self.numbered, start=n):
            last = self.bins[j].n_bins - 1
            is_lost, may_be_lost = low[:, j] == last, high[:, j] == last
            a, b = low[:, dim], high[:, dim]
            fill = encoder.fills[j]
            a = np.where(is_lost, fill, np.where(may_be_lost, np.fmin(a, fill), a))
            b = np.where(is_lost, fill, np.where(may_be_lost, np.fmax(b, fill), b))
            for place in self._numbers_of(j):
                ends = [encoder.transform_feature(place, end) for end in (a, b)]
                least[:, place], most[:, place] = np.minimum(*ends), np.maximum(*ends)
                number, x = encoder.numbers[place], self.current[:, dim]
                with np.errstate(over="ignore"):
                    scaled = (x - number.shift) * number.factor
                centre[:, place] = np.clip(scaled, -LARGEST_SCALED, LARGEST_SCALED)
        step = encoder.step if encoder.numbers else 1.0
        unit = self.unit[encoder.column_of]
        jumps = (self.domain.may_be_missing | self.domain.may_be_known)[self.numbered]
        return Regions(
            least, most, centre, radius, self.norm, unit, step, points, bins, not jumps.any()
        )

    def _points(self, radius: FloatArray) -> FloatArray:
        """Raw values in the unit of radii; texts and missing values are too far apart to meet."""
        far = 4.0 * (1.0 + np.max(radius, initial=0.0, where=np.isfinite(radius)))
        listed = np.array([bins.is_listed for bins in self.bins])
        values = np.where(self.domain.fixed | listed, self.X * far, self.X * self.weight)
        return np.where(
            np.isnan(self.X), -far * (2.0 + np.nanmax(np.abs(values), initial=0.0)), values
        )

    def is_possible(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """Tell which boxes of coordinates hold a point with exactly one 1 in every group."""
        possible = np.ones(len(low), dtype=bool)
        for group in self.domain.groups:
            # A bin from 1 on holds the value 1, those below it the value 0.
            ones = [[self.bins[j].first[:-1] >= 1.0] for j in group]
            ends = [
                [
                    held[0][np.minimum(side[:, j], len(held[0]) - 1).astype(np.intp)]
                    for side in (low, high)
                ]
                for j, held in zip(group, ones, strict=True)
            ]
            least, most = (sum(pair[side].astype(int) for pair in ends) for side in (0, 1))
            possible &= (least <= 1) & (most >= 1)
        return possible

    def rows(self, chosen: Any) -> ColumnSet:
        """Some of the samples with what surrounds them."""
        found = super().rows(chosen)
        assert isinstance(found, ColumnSet)
        return found
