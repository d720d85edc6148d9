"""Forward pass of sets of inputs: which class is certain whatever the input in a box.

Every layer maps bounds of its inputs to bounds of its sums, and these to the least and the largest
value of its units. Against each other class the last layer's weights are subtracted first: units
that are not certain then count once, for the worse of their two values, which for one hidden layer
is the exact worst case over units that change independently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network

Bounds = tuple[FloatArray, FloatArray]
# Bounds of the first layer's sums for given weights; a box is one way to have them.
SumBounds = Callable[[FloatArray], Bounds]

_ROUNDOFF = 2.0**-53
_FINEST = 40


@dataclass(frozen=True, eq=False)
class IntervalPass:
    """A network that is applied to boxes."""

    network: Network
    step: float  # grid of the inputs, 0 if they lie on none: sums on a grid are free of rounding

    def is_certain(
        self,
        low: FloatArray,  # (n_boxes, n_features)
        high: FloatArray,
        classes: NDArray[np.intp],  # (n_boxes,)
        # Bounds of ``w.x`` of these boxes, one column per line of the weights it is given.
        sums: SumBounds,
    ) -> BoolArray:
        """Tell for which boxes of inputs the network certainly predicts the given class."""
        network = self.network
        step = self.step
        first = True
        for k, W in enumerate(network.weights[:-1]):
            lower, upper = sums(W) if first else sum_bounds(W, low, high)
            low, high = self._values(k, lower, upper, rounding(W, low, high, step))
            step, first = 1.0, False
        bounds = sums if first else _of_box(low, high)
        if network.architecture.ties == "first":
            return self._first_is_certain(low, high, classes, bounds, step)
        certain = np.zeros(len(classes), dtype=bool)
        for label in np.unique(classes):
            rows = classes == label
            certain[rows] = self._beats_others(int(label), low, high, bounds, step)[rows]
        return certain

    def free_units(self, low: FloatArray, high: FloatArray, sums: Bounds) -> BoolArray:
        """Tell which first-layer units can take several values, given bounds of their sums."""
        error = rounding(self.network.weights[0], low, high, self.step)
        least, most = self._values(0, *sums, error)
        return least < most

    def _values(self, k: int, lower: FloatArray, upper: FloatArray, error: FloatArray) -> Bounds:
        """Least and largest values of units whose sums lie within bounds; sums may be off."""
        rule, t = self.network.architecture.activation_of(k), self.network.thresholds[k]
        # An upper bound that is no number bounds nothing.
        most = np.where(np.isnan(upper), np.inf, upper + error)
        return rule(lower - error, t).astype(float), rule(most, t).astype(float)

    def _beats_others(
        self, label: int, low: FloatArray, high: FloatArray, bounds: SumBounds, step: float
    ) -> BoolArray:
        """Whether the score of a class is above all others, or level with a later one."""
        W, t = self.network.weights[-1], self.network.output_thresholds
        others = np.arange(len(W)) != label
        lead, _ = bounds(W[label] - W[others])
        lead = lead - (t[label] - t[others])
        error = rounding(W, low, high, step, subtracted=t)
        error = error[:, [label]] + error[:, others]
        later = np.flatnonzero(others) > label
        # With an error no lead is known to be level.
        return np.asarray(np.where(later & (error == 0), lead >= 0, lead > error).all(axis=1))

    def _first_is_certain(
        self,
        low: FloatArray,
        high: FloatArray,
        classes: NDArray[np.intp],
        bounds: SumBounds,
        step: float,
    ) -> BoolArray:
        """Whether a class is the first output that is on, or the first of all if none is."""
        W, t = self.network.weights[-1], self.network.output_thresholds
        lower, upper = bounds(W)
        error = rounding(W, low, high, step)
        on, off = lower - error >= t, upper + error < t
        number = np.arange(len(W))
        earlier_off = (off | (number >= classes[:, None])).all(axis=1)
        own_on = on[np.arange(len(classes)), classes]
        none_on = (classes == 0) & off[:, 1:].all(axis=1)
        return np.asarray((own_on & earlier_off) | none_on)


def sum_bounds(W: FloatArray, low: FloatArray, high: FloatArray) -> Bounds:
    """Smallest and largest ``w.x`` over boxes; infinite sides count where a weight sees them."""
    positive, negative = np.maximum(W, 0.0).T, np.minimum(W, 0.0).T
    if np.isfinite(low).all() and np.isfinite(high).all():
        return low @ positive + high @ negative, high @ positive + low @ negative
    open_low, open_high = np.isinf(low), np.isinf(high)
    low, high = np.where(open_low, 0.0, low), np.where(open_high, 0.0, high)
    lower, upper = sum_bounds(W, low, high)
    lower[(open_low @ positive > 0) | (open_high @ -negative > 0)] = -np.inf
    upper[(open_high @ positive > 0) | (open_low @ -negative > 0)] = np.inf
    return lower, upper


def rounding(
    W: FloatArray,
    low: FloatArray,
    high: FloatArray,
    step: float,
    *,
    subtracted: FloatArray | None = None,
) -> FloatArray:
    """Most by which computed sums over boxes can be off, those of the forward pass and ours.

    Zero where all partial sums are multiples of one power of two and below 2**53 times that.
    Thresholds that are ``subtracted`` are part of the sum.
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    largest = np.where(np.isfinite(largest), largest, 0.0)  # such sums are infinite anyway
    size = largest @ np.abs(W).T
    grid = _grid_of(W.tobytes()) * step
    if subtracted is not None:
        size = size + np.abs(subtracted)
        grid = min(grid, _grid_of(subtracted.tobytes()))
    exact = size < grid * 2.0**52
    return np.where(exact, 0.0, (4 * W.shape[1] + 16) * _ROUNDOFF * size)


def _of_box(low: FloatArray, high: FloatArray) -> SumBounds:
    return lambda W: sum_bounds(W, low, high)


@lru_cache(maxsize=256)
def _grid_of(content: bytes) -> float:
    """A power of two of which all values are multiples, 0 if there is none that is not tiny."""
    values = np.frombuffer(content)
    for exponent in range(_FINEST + 1):
        multiples = values * 2.0**exponent
        if (multiples == np.rint(multiples)).all():
            return 2.0**-exponent
    return 0.0
