"""Rows of raw columns with bins: what every bin costs, and how far raw rows are from each other.

A column is in one of its bins (:mod:`bdnn.encoding.bins`), which decides its bits. The cost of a
bin is the length of the shortest move into it:

    number          0 for its own bin, else the distance to the nearest double of the bin that
                    exists: a cut itself from below, the largest double under it from above
    whole, ranges   the distance to the nearest value of the bin that is admitted, infinite if none
    truth, text     the price of a change, infinite where it stays what it is
    missing         0 where a value may get lost; a gap stays a gap unless it may be any value

Coordinates are the numbers of the bins, then the raw values of columns that are scaled numbers too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.bins import Bins, make_bins
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.norms import SLACK, Norm, Units, length
from bdnn.robustness.domain import Domain
from bdnn.robustness.perturbation import PerturbationSet


@dataclass(frozen=True, eq=False)
class ColumnCosts(PerturbationSet):
    """Samples whose columns have bins, and how far away other rows are.

    ``lowest`` and ``highest`` are the ranges of raw values. Missing and unknown values of a column
    without a number count as its bin alone.
    """

    bins: tuple[Bins, ...] = ()

    @classmethod
    def _around(
        cls,
        model: Model,
        domain: Domain,
        norm: Norm,
        units: Units | tuple[float, ...],
        X: FloatArray,
        classes: NDArray[np.intp],
        labels: NDArray[np.intp] | None,
    ) -> ColumnCosts:
        # A member of a group is 0 or 1, which bins have to tell apart.
        members = {j for group in domain.groups for j in group}
        further = [(1.0,) if j in members else () for j in range(X.shape[1])]
        bins = make_bins(model.encoder, further)
        low = np.where(domain.integer, np.ceil(domain.lower), domain.lower)
        high = np.where(domain.integer, np.floor(domain.upper), domain.upper)
        given = np.where(np.isnan(X), np.clip(model.encoder.fills, low, high), X)
        places = np.stack([own.of(X[:, j]) for j, own in enumerate(bins)], axis=1)
        current = np.hstack([places, given[:, _numbered(model)]])
        still, gaps = domain.fixed, np.isnan(X)
        return cls(
            model,
            domain,
            norm,
            units,
            X,
            current,
            current,
            classes,
            np.where(still, given, np.where(gaps, low, np.minimum(low, given))),
            np.where(still, given, np.where(gaps, high, np.maximum(high, given))),
            labels,
            bins,
        )

    @cached_property
    def numbered(self) -> NDArray[np.intp]:
        """Columns of numbers that are inputs as scaled numbers too."""
        return _numbered(self.model)

    def _numbers_of(self, j: int) -> list[int]:
        """Inputs that are the scaled number of a column."""
        return [i for i, number in enumerate(self.scaler.numbers) if number.column == j]

    def number_of(self, j: int) -> int:
        """The input that is the scaled number of a column."""
        return self._numbers_of(j)[0]

    @cached_property
    def nearest(self) -> tuple[FloatArray, ...]:
        """Of every column: the raw value of every bin that is nearest, (n_samples, n_bins).

        NaN for a missing value, and where a bin holds nothing that exists.
        """
        return tuple(self._nearest(j) for j in range(len(self.bins)))

    def _nearest(self, j: int) -> FloatArray:
        bins, x = self.bins[j], self.X[:, j, None]
        own = bins.of(x[:, 0])[:, None] == np.arange(bins.n_bins)
        if bins.is_listed:
            return np.where(own, x, bins.first)
        first, last = self.ends(j)
        given = np.where(np.isnan(x), self.model.encoder.fills[j], x)
        found = np.clip(given, first, last)
        return np.where(own, x, np.where(first <= last, found, np.nan))

    def ends(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Least and largest value that exists in every bin of a column of numbers."""
        bins = self.bins[j]
        first = np.maximum(bins.first, self.lowest[:, j, None])
        last = np.minimum(bins.last, self.highest[:, j, None])
        if self.domain.integer[j]:
            return np.ceil(first), np.floor(last)
        return first, last

    @cached_property
    def costs(self) -> tuple[FloatArray, ...]:
        """Of every column: lower limits of what its bins cost, (n_samples, n_bins)."""
        return tuple(self._costs(j) for j in range(len(self.bins)))

    def _costs(self, j: int) -> FloatArray:
        bins, domain, x = self.bins[j], self.domain, self.X[:, j]
        gap, still = np.isnan(x)[:, None], bool(domain.fixed[j])
        own = bins.of(x)[:, None] == np.arange(bins.n_bins)
        known = np.full(bins.n_bins, 0.0 if domain.may_be_known[j] and not still else np.inf)
        if bins.is_listed:
            price = np.full(bins.n_bins, domain.change[j])
            if self.model.encoder.columns[j].kind == "category":
                price[0] = price[0] if self.model.encoder.unknown == "none" else np.inf
                known[0] = known[0] if self.model.encoder.unknown == "none" else np.inf
            costs = np.where(gap, known, price)
        else:
            found = self.nearest[j]
            with np.errstate(invalid="ignore"):
                moves = np.abs(found - x[:, None]) * self.weight[j] * (1 - SLACK)
            exists = ~np.isnan(found)
            costs = np.where(exists, np.where(gap, known, moves), np.inf)
        costs = np.where(still, np.inf, costs)
        lost = 0.0 if domain.may_be_missing[j] and not still else np.inf
        costs[:, -1] = lost
        return np.where(own, 0.0, costs)

    @property
    def farthest(self) -> float:
        """A length within which all is that a single sample can become."""
        moves = np.array([np.where(np.isfinite(c), c, 0.0).max() for c in self.costs])
        js = self.numbered
        ends = np.abs(np.stack([self.lowest[0, js], self.highest[0, js]]) - self.X[0, js])
        moves[js] = np.fmax(moves[js], ends.max(axis=0) * self.weight[js])
        return float(length(self.norm, moves)) * (1 + 4 * SLACK)

    def moves(self, coordinates: FloatArray) -> FloatArray:
        """Lower limits of how far every column has to move, one sample's or row by row."""
        moves = np.empty((len(coordinates), len(self.bins)))
        lines = np.arange(len(coordinates)) if len(self.X) > 1 else np.zeros(len(coordinates), int)
        for j, costs in enumerate(self.costs):
            moves[:, j] = costs[lines, coordinates[:, j].astype(np.intp)]
        for dim, j in enumerate(self.numbered, start=len(self.bins)):
            away = np.abs(coordinates[:, dim] - self.X[lines, j]) * self.weight[j] * (1 - SLACK)
            is_lost = coordinates[:, j] == self.bins[j].n_bins - 1
            moves[:, j] = np.where(
                is_lost | np.isnan(away), moves[:, j], np.maximum(moves[:, j], away)
            )
        return moves

    def measured(self, X: FloatArray) -> FloatArray:
        """Upper limits of how far raw inputs are from the samples, infinite out of reach."""
        domain, gaps, lost = self.domain, np.isnan(self.X), np.isnan(X)
        listed = np.array([bins.is_listed for bins in self.bins])
        with np.errstate(invalid="ignore"):
            moves = np.abs(X - self.X) * self.weight
        moves = np.where(listed, np.where(X == self.X, 0.0, domain.change), moves)
        moves = np.where(lost, np.where(domain.may_be_missing, 0.0, np.inf), moves)
        moves = np.where(gaps, np.where(domain.may_be_known, 0.0, np.inf), moves)
        exists = (self.lowest <= X) & (self.highest >= X) & (~domain.integer | (np.rint(X) == X))
        moves = np.where(listed | lost | exists, moves, np.inf)
        is_moved = ~((X == self.X) | (lost & gaps))
        moves = np.where(is_moved, np.where(domain.fixed, np.inf, moves), 0.0)
        return length(self.norm, moves) * (1 + SLACK)

    def admitted(self, X: FloatArray) -> FloatArray:
        """The nearest raw inputs that exist; a group that would lose its one 1 is left as it is."""
        domain, gaps, lost = self.domain, np.isnan(self.X), np.isnan(X)
        listed = np.array([bins.is_listed for bins in self.bins])
        moved = np.clip(np.where(domain.integer, np.rint(X), X), self.lowest, self.highest)
        codes = [
            np.clip(np.rint(X[:, j]), b.first[0], b.first[-2]) for j, b in enumerate(self.bins)
        ]
        moved = np.where(listed, np.stack(codes, axis=1), moved)
        stays = domain.fixed | (lost & ~gaps & ~domain.may_be_missing)
        stays = stays | (gaps & ~lost & ~domain.may_be_known)
        stays = stays | (listed & np.isinf(domain.change) & ~gaps & ~lost)
        moved = np.where(stays, self.X, moved)
        return self._with_groups(moved)

    def raw(self, coordinates: FloatArray) -> FloatArray:
        """Raw inputs with these coordinates, nearest to the samples, one's or row by row."""
        found = np.empty((len(coordinates), len(self.bins)))
        lines = np.arange(len(coordinates)) if len(self.X) > 1 else np.zeros(len(coordinates), int)
        for j, nearest in enumerate(self.nearest):
            found[:, j] = nearest[lines, coordinates[:, j].astype(np.intp)]
        for dim, j in enumerate(self.numbered, start=len(self.bins)):
            is_lost = coordinates[:, j] == self.bins[j].n_bins - 1
            found[:, j] = np.where(is_lost, np.nan, coordinates[:, dim])
        return found

    def raw_value(self, j: int, bin_: int, scaled: float) -> float:
        """The nearest raw value of a bin, for a single sample, that is scaled to a number.

        Where none is, the nearest of the bin.
        """
        place, encoder = self.number_of(j), self.scaler
        if bin_ == self.bins[j].n_bins - 1:
            return float(encoder.fills[j])
        first, last = (float(end[0, bin_]) for end in self.ends(j))
        own = min(max(float(self.current[0, self.dimension(j)]), first), last)
        seen = float(encoder.transform_feature(place, np.array([own]))[0])
        if seen == scaled:
            return own
        if not encoder.step:
            return min(max(scaled, first), last)
        if seen < scaled:  # the first value that is scaled to it
            below = scaled - encoder.step
            edge = self._last_below(place, np.array([own]), np.array([last]), np.array([below]))
            value = min(math.nextafter(float(edge[0]), math.inf), last)
            return float(math.ceil(value)) if self.domain.integer[j] else value
        edge = self._last_below(place, np.array([first]), np.array([own]), np.array([scaled]))
        return float(math.floor(edge[0]) if self.domain.integer[j] else edge[0])

    def dimension(self, j: int) -> int:
        """The coordinate of the raw value of a column."""
        return len(self.bins) + int(np.searchsorted(self.numbered, j))

    def _last_below(
        self, place: int, low: FloatArray, high: FloatArray, limit: FloatArray
    ) -> FloatArray:
        """The last raw values of ranges that are scaled to no more than a limit."""
        while True:
            tried = low + 0.5 * (high - low)
            is_open = (low < tried) & (tried < high)
            if not is_open.any():
                return low
            is_below = self.scaler.transform_feature(place, tried) <= limit
            low = np.where(is_open & is_below, tried, low)
            high = np.where(is_open & ~is_below, tried, high)


def _numbered(model: Model) -> NDArray[np.intp]:
    """Columns of numbers that are scaled inputs, in their order."""
    encoder = model.encoder
    columns = {n.column for n in encoder.numbers if encoder.columns[n.column].kind == "number"}
    return np.array(sorted(columns), dtype=np.intp)
