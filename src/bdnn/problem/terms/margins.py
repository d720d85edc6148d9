"""Prices on margins that are too small.

    lack:     h >= g - s  (own class),  h >= g + s  (others)    price of the saturated margin
    worst:    H >= g - s,  H >= g + s                           price of the largest lack

with s = W u - t' the score of an output and t' the network's threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm
from bdnn.problem.terms.builder import Builder, LeastValues


@dataclass(frozen=True, eq=False)
class Margins(AbstractTerm):
    """What outputs lack to a wanted margin on the right side of their threshold."""

    saturated: float  # times the sum of what all outputs lack
    maximal: float  # times the largest lack
    wanted: float  # the margin g, in units of weights

    is_price: ClassVar[bool] = True
    sees_samples: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """Outputs pay on both sides, and a pair pays twice."""
        return frozenset({"one_output", "one_sided"})

    def refusal(self, architecture: Architecture) -> str | None:
        """Only classes have a right side."""
        if architecture.output != "step":
            return (
                "the margin terms of Regularizer are about classes, which a regressor has none "
                "of: leave them out."
            )
        return None

    @property
    def scale_dependent(self) -> bool:
        return True

    def price(self, network: Network, problem: Problem[Any]) -> float:
        """What outputs lack, from the forward pass."""
        scores, loss = network.values(problem.inputs), problem.loss
        own = np.maximum(0.0, self.wanted - scores)
        other = np.maximum(0.0, self.wanted + scores)
        lack = float((loss.label_weight * own + loss.cost_on * other).sum())
        worst = max(
            float(own[loss.label_weight > 0].max(initial=0.0)),
            float(other[loss.cost_on > 0].max(initial=0.0)),
        )
        return self.saturated * lack + self.maximal * worst

    def rescaled(self, factor: float) -> Margins:
        """In another unit; sums over samples have it already."""
        return replace(self, maximal=self.maximal * factor)

    def block(self, builder: Builder) -> LeastValues:
        program, loss, ties = builder.program, builder.problem.loss, LeastValues([])
        columns, weights, constant, scale, exact, reach = builder.scores()
        wanted = self.wanted / scale
        most = float(np.ceil(wanted + reach))
        whole = exact and wanted == np.rint(wanted)
        worst = np.zeros(0, dtype=np.int64)
        if self.maximal:
            worst = program.add_variables("worst", (1,), upper=most, integer=whole)
            program.minimise(worst, self.maximal * scale)
        sides = (("own", -1.0, loss.label_weight), ("other", 1.0, loss.cost_on))
        for name, sign, weight in sides:
            pairs = np.nonzero(weight)
            row = columns[pairs], sign * weights[pairs]
            least: FloatArray = np.full(len(pairs[0]), wanted + sign * constant)
            if self.maximal:
                every = np.broadcast_to(worst, (len(least),))
                ties.add(program, f"worst_{name}", every, *row, least)
            if self.saturated:
                h = program.add_variables(f"lack_{name}", (len(least),), upper=most, integer=whole)
                ties.add(program, f"lack_{name}", h, *row, least)
                program.minimise(h, self.saturated * weight[pairs] * scale)
        return ties

    def claim(self) -> dict[str, Any]:
        return {
            "saturated": self.saturated,
            "maximal": self.maximal,
            "wanted": self.wanted,
        }
