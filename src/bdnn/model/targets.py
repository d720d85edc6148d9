"""What the numbers of identity outputs stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.encoding.scaling import learn_scale
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet


@dataclass(frozen=True, eq=False)
class TargetScaler:
    """What identity outputs stand for: ``shift + factor * value``, one of each per output.

    Targets are standardised first. A weight of 1 in the last layer then stands for ``unit``
    standard deviations, so that the weight set reaches over the whole range of the targets: one
    continuous weight does by itself, integer weights by half of the units together.

    Parameters
    ----------
    shift, factor : arrays of shape (n_outputs,)
    unit : array of shape (n_outputs,)
        Factor in standard deviations of the targets.
    """

    shift: FloatArray
    factor: FloatArray
    unit: FloatArray

    @classmethod
    def fit(
        cls,
        targets: FloatArray,
        *,
        weights: WeightSet,
        width: int,
        sample_weight: FloatArray | None = None,
    ) -> TargetScaler:
        """Learn from targets of shape (n_samples, n_outputs); ``width`` units feed the outputs."""
        standard = learn_scale(targets, "standard", weights=weights, sample_weight=sample_weight)
        used = targets if sample_weight is None else targets[sample_weight > 0]
        scaled = (used - standard.shift) * standard.factor
        reach = np.maximum(np.ptp(scaled, axis=0), 1.0)
        unit = reach / max(1, weights.limit * width // 2) if weights.integer else reach
        return cls(standard.shift, unit / standard.factor, unit)

    def transform(self, targets: FloatArray) -> FloatArray:
        """Turn targets into values of the outputs."""
        return np.asarray((targets - self.shift) / self.factor)

    def inverse(self, values: FloatArray) -> FloatArray:
        """Turn values of the outputs into predictions."""
        return np.asarray(self.shift + self.factor * values)
