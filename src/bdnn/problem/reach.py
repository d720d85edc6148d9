"""Which bins of a raw column samples can reach, and what that makes of weighted sums.

A column is in exactly one bin, whose pattern of inputs adds ``t(b) = w . pattern(b)`` to a sum.

linf     every column is free to take any bin in reach, so that the least sum is the sum of the
         columns' least parts: no bound, but the true minimum of a unit
l1, l2   bins have costs, and one bin per column is chosen within a budget: a multiple-choice
         knapsack. Its dual ``sum_j min_b (t_j(b) + z c_j(b)) - z budget`` is below the least sum
         for every price z; the best one, which gives the linear relaxation, is found by secants

Samples of the same bins in reach share one set, so that a table over sets and units is all there is
to compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.intervals import Bounds
from bdnn.network.norms import SLACK, Norm

_SECANTS = 8
# Of a price, so that nothing overflows; any price will do.
_HIGHEST = 1e60


@dataclass(frozen=True, eq=False)
class BinReach:
    """What samples can make of one column; bins of no sample are left out.

    Attributes
    ----------
    inputs : array of int
        Places of the inputs that the bin decides.
    patterns : array of shape (n_bins, n_inputs)
        Values of these inputs in every bin.
    sets : 0/1 array of shape (n_sets, n_bins)
        Different sets of bins in reach.
    set_of : array of shape (n_lines,)
        Number of the set of every sample.
    costs : array of shape (n_lines, n_bins)
        Lower limits of how far away bins are, infinite beyond reach.
    """

    inputs: NDArray[np.intp]
    patterns: FloatArray
    sets: BoolArray
    set_of: NDArray[np.intp]
    costs: FloatArray

    @classmethod
    def create(
        cls, inputs: NDArray[np.intp], patterns: FloatArray, costs: FloatArray, radius: FloatArray
    ) -> BinReach:
        """Keep the bins that lie within one radius per sample."""
        reach = (costs <= radius[:, None]) & np.isfinite(costs)
        used = reach.any(axis=0)
        sets, set_of = _distinct(reach[:, used])
        near = np.where(reach, costs, np.inf)[:, used]
        return cls(inputs, patterns[used], sets, set_of, near)

    def table(self, W: FloatArray) -> Bounds:
        """Least and largest part of sums, of shape (n_sets, n_units)."""
        parts, starts = self.told_apart(W)
        held = np.logical_or.reduceat(self.sets, starts, axis=1)
        lower = np.full((len(self.sets), len(W)), np.inf)
        upper = np.full((len(self.sets), len(W)), -np.inf)
        for part, members in zip(parts, held.T, strict=True):
            lower[members] = np.minimum(lower[members], part)
            upper[members] = np.maximum(upper[members], part)
        return lower, upper

    def told_apart(self, W: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
        """Parts of sums without those of bins that add what the bin before adds; their places."""
        parts = self.parts(W)
        is_new = np.ones(len(parts), dtype=bool)
        is_new[1:] = (parts[1:] != parts[:-1]).any(axis=1)
        return parts[is_new], np.flatnonzero(is_new)

    def parts(self, W: FloatArray) -> FloatArray:
        """What every bin adds to sums, of shape (n_bins, n_units)."""
        return np.asarray(self.patterns @ W[:, self.inputs].T)

    @cached_property
    def ends(self) -> Bounds:
        """Least and largest inputs of every sample, of shape (n_lines, n_inputs)."""
        if ((self.patterns == 0) | (self.patterns == 1)).all():
            # Bits are counted, which takes much less than looking at every bin of every set.
            on = self.sets.astype(np.float32) @ self.patterns.astype(np.float32)
            full = self.sets.sum(axis=1, keepdims=True)
            low, high = (on == full).astype(float), (on > 0).astype(float)
        else:
            low, high = self.table_of(self.patterns)
        return low[self.set_of], high[self.set_of]

    def table_of(self, values: FloatArray) -> Bounds:
        """Least and largest of values of bins in every set."""
        member = self.sets[:, :, None]
        low = np.where(member, values, np.inf).min(axis=1, initial=np.inf)
        return low, np.where(member, values, -np.inf).max(axis=1, initial=-np.inf)

    def subset(self, lines: NDArray[np.intp]) -> BinReach:
        """The column for some of the samples."""
        return replace(self, set_of=self.set_of[lines], costs=self.costs[lines])


def reach_sums(columns: Sequence[BinReach], W: FloatArray, n_lines: int) -> Bounds:
    """Bounds of sums where every column takes any bin in reach, exact for each sum."""
    lower, upper = np.zeros((n_lines, len(W))), np.zeros((n_lines, len(W)))
    for column in columns:
        if not W[:, column.inputs].any():
            continue
        least, most = column.table(W)
        lower += least[column.set_of]
        upper += most[column.set_of]
    return lower, upper


def budget_sums(
    columns: Sequence[BinReach], W: FloatArray, radius: FloatArray, norm: Norm
) -> Bounds:
    """Bounds of sums where the moves of all columns together stay within a radius."""
    lower, upper = reach_sums(columns, W, len(radius))
    power = 2.0 if norm == "l2" else 1.0
    budget = radius**power * (1 + SLACK)
    seen = [column for column in columns if W[:, column.inputs].any()]
    limited = [column for column in seen if (column.costs > 0).any() and len(column.patterns)]
    # An infinite budget limits nothing.
    lines = np.flatnonzero(np.isfinite(budget))
    if not limited or not lines.size:
        return lower, upper
    rest = [column.subset(lines) for column in seen]
    told = [column.told_apart(W) for column in rest]
    costs = [
        np.minimum.reduceat(column.costs, starts, axis=1) ** power
        for column, (_, starts) in zip(rest, told, strict=True)
    ]
    for sign, known in ((1.0, lower), (-1.0, upper)):
        parts = [sign * part for part, _ in told]
        found = _dual(parts, costs, budget[lines])
        if all((part == np.rint(part)).all() for part in parts):
            found = np.ceil(found)  # sums of integers are integers
        tighter = np.maximum(sign * known[lines], found)
        known[lines] = sign * tighter
    return lower, upper


def _dual(
    parts: Sequence[FloatArray], costs: Sequence[FloatArray], budget: FloatArray
) -> FloatArray:
    """Lower limits of least sums within budgets, by the best prices of a move that are found."""
    size = sum(np.abs(part).max(axis=0) for part in parts)

    def at(price: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The dual value at prices, and how much is spent beyond the budget there."""
        value, spent = np.zeros_like(price), np.zeros_like(price)
        for part, cost in zip(parts, costs, strict=True):
            best = np.full_like(price, np.inf)
            bill = np.zeros_like(price)
            for b, own in enumerate(part):
                has = np.isfinite(cost[:, b])
                one = cost[has, b][:, None]
                tried = own + price[has] * one
                better = tried < best[has]
                best[has] = np.where(better, tried, best[has])
                bill[has] = np.where(better, one, bill[has])
            value += best
            spent += bill
        charge = price * budget[:, None]
        room = SLACK * (size + price * spent + charge)
        return value - charge - room, spent - budget[:, None]

    shape = (len(budget), parts[0].shape[1])
    low = np.zeros(shape)
    value_low, slope_low = at(low)
    # From this price on nothing that costs something pays.
    positive = [cost[(cost > 0) & np.isfinite(cost)] for cost in costs]
    cheapest = max(1e-60, min(part.min(initial=np.inf) for part in positive))
    highest = np.minimum(2.0 * size / cheapest + 1.0, _HIGHEST)
    high = np.broadcast_to(highest, shape).copy()
    value_high, slope_high = at(high)
    best = np.maximum(value_low, value_high)
    for _ in range(_SECANTS):
        # Both lines are above the concave dual: it is largest below their crossing.
        gap = slope_low - slope_high
        with np.errstate(divide="ignore", invalid="ignore"):
            price = (value_high - value_low + slope_low * low - slope_high * high) / gap
        is_open = (slope_low > 0) & (slope_high < 0) & (gap > 0) & (price > low) & (price < high)
        if not is_open.any():
            break
        price = np.where(is_open, price, low)
        value, slope = at(price)
        best = np.maximum(best, value)
        rises, falls = is_open & (slope > 0), is_open & (slope <= 0)
        low, high = np.where(rises, price, low), np.where(falls, price, high)
        value_low = np.where(rises, value, value_low)
        value_high = np.where(falls, value, value_high)
        slope_low = np.where(rises, slope, slope_low)
        slope_high = np.where(falls, slope, slope_high)
    return best


def _distinct(rows: BoolArray) -> tuple[BoolArray, NDArray[np.intp]]:
    """Different lines of a 0/1 array, and which of them every line is."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), dtype=np.intp)
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, places, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return rows[places], numbers.reshape(-1)
