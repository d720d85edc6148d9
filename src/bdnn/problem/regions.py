"""What samples may become: a box of inputs around each, and for some norms a ball as well.

Where the balls of two samples of different classes have a point in common, no classifier gives both
classes to it, so that at least one of the two is not certified. Samples are the corners of a graph
and such pairs its edges; what is given up covers all edges. Half a largest matching of the graph's
double cover (every corner twice, every edge in both directions) is the value of the fractional
cover, which for two classes is the true one. The edges are sorted out by a matching of scipy's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.intervals import Bounds, IntervalPass, sum_bounds
from bdnn.network.network import Network
from bdnn.network.norms import SLACK, Norm, dual_length
from bdnn.problem.samples import IntegerArray
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

    @property
    def rounding(self) -> float:
        """The most by which rounding to the grid moves an input."""
        return 0.5 * self.step

    def sums(self, W: FloatArray) -> Bounds:
        """Bounds of ``w.x`` over all regions, one column per line of the weights."""
        lower, upper = sum_bounds(W, self.low, self.high)
        if self.norm == "linf":
            return lower, upper
        dual = dual_length(self.norm, W * self.unit)
        with np.errstate(invalid="ignore"):
            reach = np.where(dual > 0, self.radius[:, None] * dual, 0.0)
        size = np.abs(self.centre) @ np.abs(W).T
        rounded = self.rounding * np.abs(W).sum(axis=1)
        middle, spread = self.centre @ W.T, (reach + rounded) * (1 + SLACK) + SLACK * size
        return np.maximum(lower, middle - spread), np.minimum(upper, middle + spread)

    def is_certain(self, network: Network, classes: NDArray[np.intp]) -> BoolArray:
        """Tell in which regions a network certainly predicts the given class."""
        return IntervalPass(network, self.step).is_certain(self.low, self.high, classes, self.sums)

    def subset(self, lines: IndexArray) -> Regions:
        """Some of the regions."""
        parts = {name: getattr(self, name)[lines] for name in ("low", "high", "centre", "radius")}
        points = None if self.points is None else self.points[lines]
        return replace(self, **parts, points=points)


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
