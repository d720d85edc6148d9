"""What samples may become: a box of inputs around each, bins of columns, and for some norms a ball.

Inputs that the bin of a raw column decides move together, see :mod:`bdnn.problem.reach`; the box
holds their least and largest values.

Where the balls of two samples of different classes have a point in common, no classifier gives both
classes to it, so that at least one of the two is not certified. Samples are the corners of a graph
and such pairs its edges; what is given up covers all edges. Half a largest matching of the graph's
double cover (every corner twice, every edge in both directions) is the value of the fractional
cover, which for two classes is the true one. The edges are sorted out by a matching of scipy's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from bdnn.blocks.input_sets import InputSets
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.intervals import Bounds, IntervalPass, rounding, sum_bounds
from bdnn.network.network import Network
from bdnn.network.norms import SLACK, Norm, dual_length
from bdnn.problem.reach import BinReach, budget_sums, reach_sums
from bdnn.problem.samples import IntegerArray, equal_rows
from bdnn.program import IndexArray

# Samples that are compared with each other at most; a bound for some holds for all.
_LARGEST = 4000
_METRICS = {"linf": "chebyshev", "l1": "cityblock", "l2": "euclidean"}
# Balls have to meet by more than what rounding can be.
_SLACK = 2.0**-40


@dataclass(frozen=True, eq=False)
class Regions:
    """Sets of inputs, one per line."""

    # (n_lines, n_features): a box around each, wide enough for all that rounding can do.
    low: FloatArray
    high: FloatArray
    centre: FloatArray  # array of the same shape: inputs before rounding to the grid
    radius: FloatArray  # (n_lines,): of balls around the centres
    norm: Norm  # with linf boxes are all there is
    # (n_features,): how far an input moves when it is moved by a radius of 1.
    unit: FloatArray
    step: float  # of the grid of inputs, 0 if there is none
    # (n_lines, n_columns): what the regions surround, in the unit of the radius; if it is not
    # the centres.
    points: FloatArray | None = None
    # Columns whose bins decide inputs; the other inputs are numbers of their own.
    bins: tuple[BinReach, ...] = ()
    # Whether numbers move along with their columns alone, as balls need it, and do not jump.
    is_ball: bool = True

    @property
    def rounding(self) -> float:
        """The most by which rounding to the grid moves an input."""
        return 0.5 * self.step

    @property
    def is_widened(self) -> bool:
        """Whether the sets of a program hold more: every column moves by the radius at once."""
        return bool(self.bins) and self.norm != "linf"

    @property
    def input_sets(self) -> list[InputSets]:
        """Boxes, and for some norms balls as well, for a program."""
        boxes = InputSets((self.low + self.high) / 2, (self.high - self.low) / 2, bins=self.bins)
        if self.norm == "linf" or self.bins:  # boxes of bins hold what their balls hold
            return [boxes]
        rounded = np.full(self.centre.shape, self.rounding)
        return [boxes, InputSets(self.centre, rounded, self.radius, self.norm)]

    def sums(self, W: FloatArray) -> Bounds:
        """Bounds of ``w.x`` over all regions, one column per line of the weights."""
        numbers = self.numbers
        W_numbers, lines = W[:, numbers], len(self.low)
        box = sum_bounds(W_numbers, self.low[:, numbers], self.high[:, numbers])
        free = reach_sums(self.bins, W, lines)
        if self.norm == "linf":
            return box[0] + free[0], box[1] + free[1]
        limited = budget_sums(self.bins, W, self.radius, self.norm) if self.bins else free
        lower, upper = box[0] + limited[0], box[1] + limited[1]
        if not self.is_ball or not W_numbers.shape[1]:
            return lower, upper
        dual = dual_length(self.norm, W_numbers * self.unit[numbers])
        with np.errstate(invalid="ignore"):
            reach = np.where(dual > 0, self.radius[:, None] * dual, 0.0)
        centre = self.centre[:, numbers]
        size = np.abs(centre) @ np.abs(W_numbers).T
        rounded = self.rounding * np.abs(W_numbers).sum(axis=1)
        middle, spread = centre @ W_numbers.T, (reach + rounded) * (1 + SLACK) + SLACK * size
        ball = middle - spread + free[0], middle + spread + free[1]
        return np.maximum(lower, ball[0]), np.minimum(upper, ball[1])

    def computed_sums(self, W: FloatArray) -> Bounds:
        """The same for sums as a forward pass computes them, rounding included."""
        lower, upper = self.sums(W)
        error = rounding(W, self.low, self.high, self.step)
        return lower - error, np.where(np.isnan(upper), np.inf, upper + error)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """Places of the inputs that no bin decides."""
        decided = np.concatenate([np.empty(0, np.intp), *(bins.inputs for bins in self.bins)])
        return np.setdiff1d(np.arange(self.low.shape[1]), decided)

    def is_certain(self, network: Network, classes: NDArray[np.intp]) -> BoolArray:
        """Tell in which regions a network certainly predicts the given class."""
        return IntervalPass(network, self.step).is_certain(self.low, self.high, classes, self.sums)

    def free_units(self, network: Network) -> BoolArray:
        """Tell which first-layer units can take several values in regions."""
        W = network.weights[0]
        return IntervalPass(network, self.step).free_units(self.low, self.high, self.sums(W))

    def distinct(self, line: IndexArray) -> IndexArray:
        """Numbers of regions that differ from those before, or are of another line."""
        parts = [line, self.radius, self.low, self.high, self.centre]
        for column in self.bins:
            parts += [column.set_of] if self.norm == "linf" else [column.set_of, column.costs]
        return np.sort(equal_rows(np.column_stack(parts).astype(float))[0])

    def subset(self, lines: IndexArray) -> Regions:
        """Some of the regions."""
        parts = {name: getattr(self, name)[lines] for name in ("low", "high", "centre", "radius")}
        points = None if self.points is None else self.points[lines]
        bins = tuple(column.subset(lines) for column in self.bins)
        return replace(self, **parts, points=points, bins=bins)


def overlap_bound(
    points: FloatArray,  # (n_samples, n_features): in the units that radii are measured in
    labels: NDArray[np.intp],  # (n_samples,)
    radius: FloatArray,  # (n_samples,)
    weight: IntegerArray,  # (n_samples,)
    norm: str,
) -> int:
    """Weight of the samples that no classifier keeps in their whole balls."""
    if len(points) > _LARGEST:
        # The same part every time, so that the bound is reproducible.
        part = np.random.default_rng(0).choice(len(points), _LARGEST, replace=False)
        points, labels, radius, weight = points[part], labels[part], radius[part], weight[part]
    if len(points) == 0:
        return 0
    meet = _meeting(points, labels, radius, norm)
    if (weight == weight[0]).all():
        graph = csr_array(meet)
        matched = maximum_bipartite_matching(graph, perm_type="column")
        return int(weight[0]) * math.ceil(0.5 * np.count_nonzero(matched >= 0))
    return _packed(meet, weight)


def _meeting(
    points: FloatArray, labels: NDArray[np.intp], radius: FloatArray, norm: str
) -> BoolArray:
    """Tell which balls of different classes have a point in common."""
    distance = cdist(points, points, metric=_METRICS[norm])
    size = np.abs(points).max(axis=1)
    distance += _SLACK * (size[:, None] + size + distance)
    return np.asarray((distance <= radius[:, None] + radius) & (labels[:, None] != labels))


def _packed(meet: BoolArray, weight: IntegerArray) -> int:
    """Go through the pairs and charge each with what is left of its lighter sample."""
    left = weight.copy()
    total = 0
    for i, j in np.argwhere(np.triu(meet)):
        charge = min(left[i], left[j])
        left[i] -= charge
        left[j] -= charge
        total += int(charge)
    return total
