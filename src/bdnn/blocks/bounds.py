"""Box bounds of pre-activations, and from them big-M values, threshold ranges and margins.

Symbols: ``L, U`` bounds of a weight; ``lo_i <= W x_i <= hi_i`` for every W in the box; the paper's
``M_1 = nr + 1`` and ``M_k = d_{k-1} + 1`` are valid for all samples at once, these are per sample.

Exact reductions of a model:

========== ============================================================ ==========================
name       what it does                                                 valid where
========== ============================================================ ==========================
merge      equal inputs share their variables and rows                  always
one_output one output instead of a complementary pair                   two classes and thresholds
                                                                        per neuron: the other
                                                                        output is its complement,
                                                                        and the better of the two
                                                                        outputs counts twice
one_sided  an output needs only the row against the answer that would   always, as long as nothing
           lower the loss                                               but the loss uses outputs
signed     output weights are not negative                              one output and thresholds
                                                                        per neuron: a unit with a
                                                                        negative weight is turned
                                                                        round (w, t -> -w, -t), and
                                                                        so is its set of values
========== ============================================================ ==========================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bdnn.encoding.scaling import grid_step
from bdnn.network.activation import STEP, Activation, FloatArray
from bdnn.network.architecture import Architecture, ThresholdKind


@dataclass(frozen=True)
class Reductions:
    """Which exact reductions may be used; those that are not valid are left out by themselves."""

    merge: bool = True
    one_output: bool = True
    one_sided: bool = True
    signed: bool = True

    @classmethod
    def none(cls) -> Reductions:
        """The model as the paper states it."""
        return cls(merge=False, one_output=False, one_sided=False, signed=False)

    def without(self, names: Iterable[str]) -> Reductions:
        """Switch some off."""
        return replace(self, **dict.fromkeys(names, False))

    def valid_for(self, architecture: Architecture, *, counts_outputs: bool = True) -> Reductions:
        """Switch off what does not keep the optimum for this architecture.

        ``counts_outputs`` tells whether the loss is about outputs that are on or off.
        """
        is_free, n_outputs = architecture.thresholds == "neuron", architecture.n_outputs
        is_class = counts_outputs and architecture.output == "step"
        one_output = self.one_output and is_class and is_free and n_outputs == 2
        is_number = architecture.output == "identity" and is_free and n_outputs == 1
        signed = self.signed and (one_output or is_number) and bool(architecture.hidden)
        signed = signed and architecture.activation_of(len(architecture.hidden) - 1).is_reversible
        return replace(self, one_output=one_output, signed=signed)


# A binary variable may be off by the solver's tolerance; times big-M that must not hide a margin.
INTEGRALITY_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LayerBounds:
    """Numbers that a layer's rows need, in units of ``unit``."""

    # Inputs and thresholds of the layer are divided by this in the program: the grid step where
    # pre-activations are integers, else the largest input, so that all numbers are near 1.
    unit: float
    # (n_inputs,): box bounds of the pre-activation of every input.
    lowest: FloatArray
    highest: FloatArray
    threshold: tuple[float, float]  # range of the thresholds
    # Distance an inactive unit keeps from its threshold: 1 for integer pre-activations.
    margin: float
    exact: bool  # whether pre-activations are integers in these units

    @property
    def big_m_active(self) -> FloatArray:
        """M with ``W x - t >= -M`` for all weights and thresholds, per input."""
        return self.threshold[1] - self.lowest

    @property
    def big_m_inactive(self) -> FloatArray:
        """M with ``W x - t <= -margin + M`` for all weights and thresholds, per input."""
        return self.highest - self.threshold[0] + self.margin

    def offsets(self, rule: Activation) -> FloatArray:
        """Thresholds of a rule that are fixed, so that sums of the grid reach them or do not."""
        return _offsets(rule, self.unit, exact=self.exact)

    def leaves(self, other: LayerBounds) -> bool:
        """Whether rows that were written with other bounds stay right."""
        mine = (self.unit, self.threshold, self.margin, self.exact)
        return mine == (other.unit, other.threshold, other.margin, other.exact)


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


def margin_of(reach: float, eps: float, *, exact: bool) -> float:
    """Distance that inactive units keep, for sums of at most this size: the rule of strictness."""
    return 1.0 if exact else max(eps, 4 * INTEGRALITY_TOLERANCE * (2 * reach + 1))


def layer_bounds(
    lowest: FloatArray,
    highest: FloatArray,
    *,
    unit: float,
    exact: bool,
    thresholds: ThresholdKind,
    eps: float,
    normalised: bool,
    rule: Activation = STEP,
) -> LayerBounds:
    """Choose margin and threshold range from box bounds given in units of ``unit``.

    Continuous weights can be scaled together with a shared threshold, so that its range is [-1, 1]
    as in the paper's lemma (``normalised``); integer weights cannot, nor weights below thresholds
    at fixed distances, so theirs is the whole range.
    """
    whole = unit
    if exact and thresholds != "zero" and rule.thresholds is not None:
        # Fixed distances of thresholds must be integers too.
        finer = grid_step(np.append(rule.offsets - rule.offsets[0], unit))
        unit, exact = (unit, False) if finer is None else (finer, True)
    lowest, highest = lowest * (whole / unit), highest * (whole / unit)
    reach = max(float(np.abs(lowest).max(initial=0.0)), float(np.abs(highest).max(initial=0.0)))
    margin = margin_of(reach, eps, exact=exact)
    if thresholds == "zero":
        fixed = _offsets(rule, unit, exact=exact)
        limits = (float(fixed.min()), float(fixed.max()))
    elif thresholds == "layer" and normalised and rule.thresholds is None:
        limits = (-1.0, 1.0)
    else:
        # One margin beyond the box keeps "always off" available, and the range symmetric under
        # turning a unit round (t -> margin - t).
        limits = (float(lowest.min(initial=0.0)), float(highest.max(initial=0.0)) + margin)
        if rule.thresholds is not None:
            # The first may have to lie above all sums, and the last below.
            span = float(rule.offsets[-1] - rule.offsets[0]) / unit
            limits = (limits[0] - span, limits[1] + span)
    return LayerBounds(unit, lowest, highest, limits, margin, exact)


def value_range(weight_range: tuple[float, float], values: tuple[int, ...]) -> tuple[float, float]:
    """Smallest and largest product of a weight in a box and one of the values."""
    products = np.outer(weight_range, (values[0], values[-1]))
    return float(products.min()), float(products.max())


def _offsets(rule: Activation, unit: float, *, exact: bool) -> FloatArray:
    offsets = rule.offsets / unit
    return np.ceil(offsets) if exact else offsets
