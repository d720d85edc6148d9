"""Box bounds of pre-activations, and from them big-M values, threshold ranges and margins.

Symbols: ``L, U`` bounds of a weight; ``lo_i <= W x_i <= hi_i`` for every W in the box; the paper's
``M_1 = nr + 1`` and ``M_k = d_{k-1} + 1`` are valid for all samples at once, these are per sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.activation import FloatArray
from bdnn.scaling import grid_step

# A binary variable may be off by the solver's tolerance; times big-M that must not hide a margin.
INTEGRALITY_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LayerBounds:
    """Numbers that a layer's rows need, in units of ``unit``.

    Parameters
    ----------
    unit : float
        Inputs and thresholds of the layer are divided by this in the program: the grid step where
        pre-activations are integers, else the largest input, so that all numbers are near 1.
    lowest, highest : arrays of shape (n_inputs,)
        Box bounds of the pre-activation of every input.
    threshold : tuple of float
        Range of the thresholds.
    margin : float
        Distance an inactive unit keeps from its threshold: 1 for integer pre-activations.
    exact : bool
        Whether pre-activations are integers in these units.
    """

    unit: float
    lowest: FloatArray
    highest: FloatArray
    threshold: tuple[float, float]
    margin: float
    exact: bool

    @property
    def big_m_active(self) -> FloatArray:
        """M with ``W x - t >= -M`` for all weights and thresholds, per input."""
        return self.threshold[1] - self.lowest

    @property
    def big_m_inactive(self) -> FloatArray:
        """M with ``W x - t <= M - margin`` for all weights and thresholds, per input."""
        return self.highest - self.threshold[0] + self.margin


def box_bounds(inputs: FloatArray, weight_range: tuple[float, float]) -> tuple[FloatArray, ...]:
    """Lowest and highest ``w.x`` over weights in a box, per line of inputs."""
    low, high = weight_range
    positive = np.maximum(inputs, 0.0).sum(axis=1)
    negative = np.minimum(inputs, 0.0).sum(axis=1)
    return low * positive + high * negative, high * positive + low * negative


def input_unit(inputs: FloatArray, *, integer: bool) -> tuple[float, bool]:
    """Unit of a first layer's inputs, and whether its sums are integers in this unit."""
    step = grid_step(inputs) if integer else None
    return step or float(np.abs(inputs).max(initial=0.0)) or 1.0, step is not None


def layer_bounds(
    lowest: FloatArray,
    highest: FloatArray,
    *,
    unit: float,
    exact: bool,
    thresholds: str,
    eps: float,
    normalised: bool,
) -> LayerBounds:
    """Choose margin and threshold range from box bounds given in units of ``unit``.

    Continuous weights can be scaled together with a shared threshold, so that its range is [-1, 1]
    as in the paper's lemma (``normalised``); integer weights cannot, so theirs is the whole range.
    """
    reach = max(float(np.abs(lowest).max(initial=0.0)), float(np.abs(highest).max(initial=0.0)))
    margin = 1.0 if exact else max(eps, 4 * INTEGRALITY_TOLERANCE * (2 * reach + 1))
    if thresholds == "zero":
        limits = (0.0, 0.0)
    elif thresholds == "layer" and normalised:
        limits = (-1.0, 1.0)
    else:
        # One margin beyond the box keeps "always off" available, and the range symmetric under
        # turning a unit round (t -> margin - t).
        limits = (float(lowest.min(initial=0.0)), float(highest.max(initial=0.0)) + margin)
    return LayerBounds(unit, lowest, highest, limits, margin, exact)
