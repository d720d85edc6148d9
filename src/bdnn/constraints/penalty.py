"""What is added to the loss: prices of weights and of margins that are too small."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bdnn.activation import FloatArray
from bdnn.network import Network
from bdnn.problem import TrainingProblem


@dataclass(frozen=True)
class Penalty:
    """A sum of terms that are never negative, so that bounds on the loss stay bounds.

    With scores s_il (sum minus threshold of output l for sample i), class y_i and the wanted
    margin g, what output l lacks is ``h_il = max(0, g - s_il)`` for l = y_i, else
    ``max(0, g + s_il)``.

    Parameters
    ----------
    weight : float
        Price of every weight that is not zero.
    l1, l2 : float
        Times the sum of absolute values, or of squares, of the weights.
    biases : bool
        Whether thresholds count in ``l1`` and ``l2``.
    saturated : float
        Times the sum of all h_il.
    maximal : float
        Times the largest h_il.
    wanted : float
        The margin g.
    """

    weight: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    biases: bool = False
    saturated: float = 0.0
    maximal: float = 0.0
    wanted: float = 1.0

    def of(self, network: Network, problem: TrainingProblem) -> float:
        """Penalty of a network, from its weights and forward pass."""
        total = 0.0
        for W in network.weights:
            total += self.weight * float(np.count_nonzero(W)) + self._sizes(W)
        if self.biases:
            per_layer = network.architecture.thresholds == "layer"
            for t in network.thresholds:
                total += self._sizes(t[:1] if per_layer else t)
        if self.saturated or self.maximal:
            scores = network.values(problem.inputs)
            own = np.maximum(0.0, self.wanted - scores)
            other = np.maximum(0.0, self.wanted + scores)
            total += self.saturated * float((problem.mass * own + problem.cost_on * other).sum())
            worst = max(
                float(own[problem.mass > 0].max(initial=0.0)),
                float(other[problem.cost_on > 0].max(initial=0.0)),
            )
            total += self.maximal * worst
        return total

    @property
    def is_zero(self) -> bool:
        """Whether nothing has a price."""
        return not (self.weight or self.sees_scale)

    @property
    def sees_scale(self) -> bool:
        """Whether multiplying a unit's weights and threshold by a number changes the penalty."""
        return bool(self.l1 or self.l2 or self.saturated or self.maximal)

    def in_units(self, unit: float) -> Penalty:
        """Prices where the loss is measured in another unit; sums over samples have it already."""
        return replace(
            self,
            weight=self.weight / unit,
            l1=self.l1 / unit,
            l2=self.l2 / unit,
            maximal=self.maximal / unit,
        )

    def _sizes(self, values: FloatArray) -> float:
        return self.l1 * float(np.abs(values).sum()) + self.l2 * float((values**2).sum())
