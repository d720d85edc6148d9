"""The nearest counter-example of one sample by branch and bound over boxes of inputs.

A box is closed when intervals prove its class, when its point nearest to the sample is a
counter-example (there is no nearer one in it), or when it is farther away than one already known.
Otherwise it is halved along the feature that holds most units open. Boxes are taken in the order of
their distance, many at once, so that the distance of the first open one is a bound at any time.
No solver is needed, any norm will do, and the halvings are a proof that can be gone through again.
"""

from __future__ import annotations

import heapq
import time
from typing import Any

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.problem.regions import Regions
from bdnn.program import IndexArray
from bdnn.robustness.perturbation import PerturbationSet

_SMALLEST_BATCH, _LARGEST_BATCH = 16, 512
# A box of real numbers that is so narrow is given up: the class changes somewhere in it.
NARROW = 2.0**-36
LARGEST_PROOF = 1000


class Branching:
    """The search around exactly one sample.

    No counter-example is nearer than ``lower``; the nearest one found is at ``upper``.
    """

    def __init__(self, around: PerturbationSet, radius: float) -> None:
        self.around = around
        self.radius = radius
        self.lower = 0.0
        self.upper = np.inf
        self.counter_example: FloatArray | None = None
        self.n_boxes = 0
        self._reach = radius  # boxes farther away are of no interest
        self._whole = around.whole
        self._influence = influence_of(around)
        low, high = around.box(np.array([radius]))
        self._boxes = [(low[0], high[0])]
        self._open: list[tuple[float, int]] = [(0.0, 0)]
        self._given_up = np.inf
        self._splits: dict[int, tuple[int, float, int, int]] = {}

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to look at."""
        return not self._open

    def run(self, *, seconds: float = np.inf, boxes: int | None = None) -> None:
        """Search until all is known, or the time or the number of boxes is used up."""
        deadline = time.perf_counter() + seconds
        batch = _SMALLEST_BATCH
        while self._open and time.perf_counter() < deadline:
            if boxes is not None and self.n_boxes >= boxes:
                break
            self._advance(batch)
            batch = min(2 * batch, _LARGEST_BATCH)
        nearest = self._open[0][0] if self._open else self._reach
        self.lower = min(nearest, self._given_up, self._reach)

    def proof(self) -> Any:
        """The halvings as nested ``[feature, cut, left, right]`` with None for a closed box.

        It is left out, as None for the whole, where the search is not complete or the proof long.
        """
        if not self.is_complete or len(self._splits) > LARGEST_PROOF:
            return None
        return self._tree(0)

    def _tree(self, number: int) -> Any:
        if number not in self._splits:
            return None
        feature, cut, left, right = self._splits[number]
        return [feature, cut, self._tree(left), self._tree(right)]

    def _advance(self, batch: int) -> None:
        """Take the nearest boxes, close those that can be closed and halve the others."""
        taken = [heapq.heappop(self._open) for _ in range(min(batch, len(self._open)))]
        self.n_boxes += len(taken)
        costs, numbers = (np.array(part) for part in zip(*taken, strict=True))
        low, high = (np.array([self._boxes[k][side] for k in numbers]) for side in (0, 1))
        around = self.around
        reach = self._reach  # which shrinks with a counter-example; boxes are tight for this one
        low, high = around.tightened(low, high, reach)
        is_open = (low <= high).all(axis=1)
        if not is_open.all():
            costs, numbers, low, high = (part[is_open] for part in (costs, numbers, low, high))
        if not len(low):
            return
        is_open = around.is_possible(low, high)
        is_open &= ~self._look_at_nearest(costs, low, high, is_open)
        is_open &= costs < self._reach
        seen = around.parts(low, high, reach)
        is_open &= ~seen.is_certain(around.network, np.repeat(around.classes, len(low)))
        # A point is settled by the forward pass, even if rounding leaves intervals in doubt.
        is_open &= ~around.is_point(low, high)
        narrow = is_open & self._is_narrow(low, high)
        self._given_up = min(self._given_up, costs[narrow].min(initial=np.inf))
        is_open &= ~narrow
        if is_open.any():
            lines = np.flatnonzero(is_open)
            self._halve(numbers[lines], low[lines], high[lines], seen.subset(lines))
        while self._open and self._open[0][0] >= self._reach:
            self._open.clear()

    def _look_at_nearest(
        self, costs: FloatArray, low: FloatArray, high: FloatArray, is_open: BoolArray
    ) -> BoolArray:
        """Tell in which boxes the point nearest to the sample is a counter-example."""
        around = self.around
        points = around.nearest_points(low, high)
        changed = around.network.predict(around.inputs(points)) != around.classes
        changed &= is_open & around.is_possible(points, points)
        for place in np.flatnonzero(changed):  # costs ascend, so that the first is the nearest
            cost = float(costs[place])
            if cost >= self._reach and self.counter_example is not None:
                break
            found = around.raw(points[[place]])
            if around.is_changed(found)[0]:
                self.counter_example = found[0]
                self.upper = float(around.measured(found)[0])
                self._reach = cost
            else:  # no floating point number leads there, which is for nobody to rely on
                self._given_up = min(self._given_up, cost)
        return np.asarray(changed)

    def _is_narrow(self, low: FloatArray, high: FloatArray) -> BoolArray:
        limit = np.where(self._whole, 0.0, NARROW * (1.0 + np.abs(self.around.centre)))
        return np.asarray((high - low <= limit).all(axis=1))

    def _halve(self, numbers: IndexArray, low: FloatArray, high: FloatArray, seen: Regions) -> None:
        free = seen.free_units(self.around.network).astype(float)
        counts = (seen.high - seen.low) * (free @ self._influence)
        gain = self.around.by_coordinate(counts, low, high)
        feature = gain.argmax(axis=1)
        lines = np.arange(len(low))
        cut, after = self.around.halves(feature, low[lines, feature], high[lines, feature])
        left_high, right_low = high.copy(), low.copy()
        left_high[lines, feature] = cut
        right_low[lines, feature] = after
        lows, highs = np.concatenate([low, right_low]), np.concatenate([left_high, high])
        costs = self.around.lengths(self.around.nearest_points(lows, highs))
        first = len(self._boxes)
        self._boxes.extend(zip(lows, highs, strict=True))
        for place, number in enumerate(numbers.tolist()):
            left = first + place
            right = left + len(low)
            self._splits[number] = (int(feature[place]), float(cut[place]), left, right)
        for place in np.flatnonzero(costs < self._reach).tolist():
            heapq.heappush(self._open, (float(costs[place]), first + place))


def influence_of(around: PerturbationSet) -> FloatArray:
    """How much a feature matters to a first-layer unit, and the unit to what follows."""
    W = around.network.weights
    if len(W) == 1:
        return np.abs(W[0])
    return np.asarray(np.abs(W[0]) * (np.abs(W[1]).sum(axis=0) + 1e-9)[:, None])
