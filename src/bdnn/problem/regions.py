"""What samples may become: a box of inputs around each, and for some norms a ball as well."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.intervals import Bounds, IntervalPass, sum_bounds
from bdnn.network.network import Network
from bdnn.network.norms import SLACK, Norm, dual_length
from bdnn.program import IndexArray


@dataclass(frozen=True, eq=False)
class Regions:
    """Sets of inputs, one per line.

    Parameters
    ----------
    low, high : arrays of shape (n_lines, n_features)
        A box around each, wide enough for all that rounding can do.
    centre : array of the same shape
        Inputs before rounding to the grid.
    radius : array of shape (n_lines,)
        Of balls around the centres.
    norm : {"linf", "l1", "l2"}
        With linf boxes are all there is.
    unit : array of shape (n_features,)
        How far an input moves when it is moved by a radius of 1.
    step : float
        Of the grid of inputs, 0 if there is none.
    """

    low: FloatArray
    high: FloatArray
    centre: FloatArray
    radius: FloatArray
    norm: Norm
    unit: FloatArray
    step: float

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
        return replace(self, **parts)
