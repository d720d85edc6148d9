"""Balls around inputs in which no first-layer activation may change (the paper's robust model).

Along a unit's weights the ball of every input covers an interval of sums. A threshold between these
intervals is one that no perturbation crosses, and there always is one below all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bdnn.blocks.input_sets import InputSets
from bdnn.network.activation import BoolArray, FloatArray, step, weighted_sums
from bdnn.network.network import Network
from bdnn.network.norms import Norm, check_norm, check_radius, dual_length
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
    """

    radius: FloatArray
    norm: Norm

    @classmethod
    def create(cls, radius: ArrayLike, norm: str, n_inputs: int) -> Pattern:
        """Check one radius for all, or one per input of a problem."""
        found = check_radius(radius, n_inputs, name="radius")
        return cls(found, check_norm(norm, name="norm"))

    def subset(self, lines: IndexArray) -> Pattern:
        """The balls around some of the inputs."""
        return Pattern(self.radius[lines], self.norm)

    def moved(self, places: IndexArray, n_lines: int) -> Pattern:
        """The balls of the same inputs in other places; what is new has none."""
        radius = np.zeros(n_lines)
        radius[places] = self.radius
        return Pattern(radius, self.norm)

    def input_sets(self, inputs: FloatArray) -> list[InputSets]:
        """Balls around inputs, for a program."""
        return [InputSets(inputs, radius=self.radius, norm=self.norm)]

    def dual_norms(self, W: FloatArray) -> FloatArray:
        """Dual norm of the weights of every unit."""
        return dual_length(self.norm, W)

    def holds(self, network: Network, inputs: FloatArray) -> BoolArray:
        """Tell for which inputs no perturbation changes a first-layer activation."""
        W, t = network.weights[0], network.thresholds[0]
        sums = weighted_sums(inputs, W)[:, :, None]
        reach = (self.radius[:, None] * self.dual_norms(W))[:, :, None]
        kept = np.where(step(sums, t), sums - reach >= t, sums + reach < t)
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
        sums = weighted_sums(inputs, W)
        reach = self.radius[:, None] * self.dual_norms(W)
        # Thresholds at fixed distances move together: none of them may lie in an interval.
        is_fixed = shape.activation_of(0).thresholds is not None
        span = t - t[:, :1] if is_fixed else np.zeros((len(t), 1))
        low, high = (
            (ends.T[:, None] - span[:, :, None]).reshape(len(t), -1)
            for ends in (sums - reach, sums + reach)
        )
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
