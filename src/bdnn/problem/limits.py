"""What the weights of one search may be: bounds of every weight, and how many may differ from 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture

UNLIMITED = np.iinfo(np.int64).max // 4


@dataclass(eq=False)
class WeightLimits:
    """Bounds and numbers of weights, which terms narrow one after the other."""

    architecture: Architecture
    # (units, inputs): one per layer.
    low: list[FloatArray]
    high: list[FloatArray]
    # Lists of int: most weights of a unit, and of all units, of every layer.
    per_unit: list[int]
    per_layer: list[int]
    total: int  # most weights of the whole network

    @classmethod
    def of(cls, architecture: Architecture) -> WeightLimits:
        """What the weight sets allow."""
        sizes = list(zip(architecture.widths[1:], architecture.widths, strict=False))
        high = [
            np.full(size, float(kind.limit))
            for size, kind in zip(sizes, architecture.weights, strict=True)
        ]
        n_layers = architecture.n_layers
        return cls(
            architecture,
            [-part for part in high],
            high,
            [UNLIMITED] * n_layers,
            [UNLIMITED] * n_layers,
            UNLIMITED,
        )

    def clipped(self, layer: int, W: FloatArray) -> FloatArray:
        """The nearest weights of a layer that the bounds allow."""
        return np.clip(W, self.low[layer], self.high[layer])

    def narrow(self, layer: int, places: Any, low: float, high: float) -> None:
        """Keep some weights of a layer between two numbers."""
        self.low[layer][places] = np.maximum(self.low[layer][places], low)
        self.high[layer][places] = np.minimum(self.high[layer][places], high)
