"""Balls around inputs in which no first-layer activation may change (the paper's robust model).

Along a unit's weights the ball of every input covers an interval of sums. A threshold between these
intervals is one that no perturbation crosses, and there always is one below all of them.

Where bins of raw columns decide inputs, every row has a region of its own, though its inputs may be
those of other rows. All regions of a line hold its inputs, so that the intervals of their sums make
one interval. It is exact for l_inf, unless a column is a number and bins at once, which move on
their own; then, and for l_1 and l_2, it may be too wide and is never too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from bdnn.blocks.input_sets import InputSets
from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.intervals import Bounds
from bdnn.network.network import Network
from bdnn.network.norms import Norm, check_norm, check_radius, dual_length
from bdnn.problem.regions import Regions
from bdnn.program import IndexArray

# Gaps must be wide enough to survive rounding, relative to the sums beside them.
_SMALLEST_GAP = 1e-9


@dataclass(frozen=True, eq=False)
class Pattern:
    """Balls around the training inputs in which first-layer activations must not change.

    Parameters
    ----------
    radius : array of shape (n_inputs,)
        In the units of the network's inputs, that is of scaled ones.
    norm : {"linf", "l1", "l2"}
    regions : Regions, optional
        What rows may become where more than scaled numbers move, instead of balls.
    line : array of shape (n_regions,), optional
        The input that every region is around.
    """

    radius: FloatArray
    norm: Norm
    regions: Regions | None = None
    line: IndexArray | None = None

    @classmethod
    def create(cls, radius: ArrayLike, norm: str, n_inputs: int) -> Pattern:
        """Check one radius for all, or one per input of a problem."""
        found = check_radius(radius, n_inputs, name="radius")
        return cls(found, check_norm(norm, name="norm"))

    @classmethod
    def of_rows(cls, regions: Regions, line: IndexArray, n_inputs: int) -> Pattern:
        """Take what every row may become, and the line of its inputs."""
        radius = np.zeros(n_inputs)
        np.maximum.at(radius, line, regions.radius)
        first = regions.distinct(line)
        return cls(radius, regions.norm, regions.subset(first), line[first])

    @property
    def is_widened(self) -> bool:
        """Whether a program asks for more than holds: every column may move by the radius."""
        return self.regions is not None and self.norm != "linf"

    @property
    def needs_cones(self) -> bool:
        """Whether a program has Euclidean lengths of weights."""
        return self.regions is None and self.norm == "l2"

    def subset(self, lines: IndexArray) -> Pattern:
        """The balls around some of the inputs."""
        radius = self.radius[lines]
        if self.regions is None or self.line is None:
            return replace(self, radius=radius)
        place = np.full(len(self.radius), -1)
        place[lines] = np.arange(len(lines))
        kept = np.flatnonzero(place[self.line] >= 0)
        return Pattern(radius, self.norm, self.regions.subset(kept), place[self.line[kept]])

    def moved(self, places: IndexArray, n_lines: int) -> Pattern:
        """The balls of the same inputs in other places; what is new has none."""
        radius = np.zeros(n_lines)
        radius[places] = self.radius
        return replace(self, radius=radius, line=None if self.line is None else places[self.line])

    def input_sets(self, inputs: FloatArray) -> list[InputSets]:
        """Balls around inputs, or boxes of regions, for a program."""
        if self.regions is None:
            return [InputSets(inputs, radius=self.radius, norm=self.norm)]
        return [replace(self.regions.input_sets[0], line=self.line)]

    def sums(self, W: FloatArray, inputs: FloatArray) -> Bounds:
        """Least and largest sums around inputs, one column per line of the weights."""
        sums = weighted_sums(inputs, W)
        if self.regions is None or self.line is None:
            reach = self.radius[:, None] * dual_length(self.norm, W)
            return sums - reach, sums + reach
        lower, upper = sums.copy(), sums.copy()
        least, most = self.regions.computed_sums(W)
        np.minimum.at(lower, self.line, least)
        np.maximum.at(upper, self.line, most)
        return lower, upper

    def holds(self, network: Network, inputs: FloatArray) -> BoolArray:
        """Tell for which inputs no perturbation changes a first-layer activation."""
        lower, upper = self.sums(network.weights[0], inputs)
        t = network.thresholds[0]
        kept = (lower[:, :, None] >= t) | (upper[:, :, None] < t)
        return np.asarray(kept.all(axis=(1, 2)))

    def settled(self, network: Network, inputs: FloatArray) -> Network | None:
        """Move first-layer thresholds to the nearest ones that no perturbation of an input crosses.

        Where thresholds are zero, units that are crossed lose their weights; None where weights
        cannot be zero either.
        """
        if self.holds(network, inputs).all():
            return network
        shape = network.architecture
        W, t = network.weights[0], network.thresholds[0]
        intervals = self.sums(W, inputs)
        # Thresholds at fixed distances move together: none of them may lie in an interval.
        is_fixed = shape.activation_of(0).thresholds is not None
        span = t - t[:, :1] if is_fixed else np.zeros((len(t), 1))
        low, high = ((ends.T[:, None] - span[:, :, None]).reshape(len(t), -1) for ends in intervals)
        moving = t[:, :1] if is_fixed else t
        if shape.thresholds == "layer":
            low, high, moving = low.reshape(1, -1), high.reshape(1, -1), moving[:1]
        if shape.thresholds != "zero":
            gaps = np.stack([_nearest_gaps(low, high, level) for level in moving.T], axis=1)
            t = np.broadcast_to(np.sort(gaps, axis=1) + span, t.shape)
        elif shape.weights[0].zero:
            is_crossed = ((low < t[:, :1]) & (high >= t[:, :1])).any(axis=1, keepdims=True)
            W = np.where(is_crossed, 0.0, W)
        moved = Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))
        return moved if self.holds(moved, inputs).all() else None


def _nearest_gaps(low: FloatArray, high: FloatArray, t: FloatArray) -> FloatArray:
    """For every line of intervals the threshold itself, or the middle of the gap next to it."""
    order = np.argsort(low, axis=1, kind="stable")
    ends = np.full((len(t), 1), np.inf)
    covered = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    left = np.hstack([-ends, covered])
    right = np.hstack([np.take_along_axis(low, order, axis=1), ends])
    spread = high.max(axis=1, keepdims=True) - low.min(axis=1, keepdims=True)
    # The outer gaps have no middle.
    middle = np.where(np.isinf(left), right - spread / 2, left + spread / 2)
    inner = np.isfinite(left) & np.isfinite(right)
    middle[inner] = 0.5 * (left[inner] + right[inner])
    is_gap = ~inner
    is_gap[inner] = (right - left)[inner] > _SMALLEST_GAP * (1.0 + np.abs(left[inner]))
    level = t[:, None]
    distance = np.where(is_gap, np.maximum(left - level, level - right), np.inf)
    nearest = distance.argmin(axis=1)
    lines = np.arange(len(t))
    is_inside = (left[lines, nearest] < t) & (t <= right[lines, nearest])
    return np.asarray(np.where(is_inside, t, middle[lines, nearest]))
