"""The terms of a problem as blocks of its program.

    support:  L b <= W <= U b      b = 1 where a weight is not zero

Weights of a set without zero are all counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import FloatArray
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import Block
from bdnn.program import IndexArray, Program


@dataclass
class TermBuilder:
    """A program whose layers are there, as the terms of its problem see it.

    Parameters
    ----------
    program : Program
    problem : Problem
    layers : sequence of LayerWeights
        Weights and thresholds.
    switches : sequence of arrays of shape (n_lines, units)
        Columns of activations.
    sums : columns and coefficients
        Of the outputs' sums, which broadcast to (n_lines, outputs, inputs).
    """

    program: Program
    problem: Problem[Any]
    layers: Sequence[LayerWeights]
    switches: Sequence[IndexArray]
    sums: tuple[IndexArray, FloatArray]
    number: int = 0
    known: dict[int, IndexArray] = field(default_factory=dict)

    def add(self) -> tuple[Block, ...]:
        """Add all terms; what they count comes first in a start."""
        blocks: list[Block | None] = []
        for number, term in enumerate(self.problem.terms):
            self.number = number
            blocks.append(term.block(self))
        counted = [Support(self.layers, self.known)] if self.known else []
        return (*counted, *(block for block in blocks if block is not None))

    def support(self, k: int) -> IndexArray:
        """Columns that are 1 where a weight of a layer is not 0, added when first asked for."""
        if k not in self.known:
            layer = self.layers[k]
            low, high = layer.range
            least = 0.0 if layer.weights.zero else 1.0
            b = self.program.add_variables(
                f"nonzero{layer.number}", layer.W.shape, lower=least, integer=True
            )
            pairs = np.stack([layer.W, b], axis=-1)
            name = f"support_{{}}{layer.number}"
            self.program.add_rows(name.format("upper"), pairs, [1.0, -high], upper=0.0)
            if low < 0.0:
                self.program.add_rows(name.format("lower"), pairs, [1.0, -low], lower=0.0)
            self.known[k] = b
        return self.known[k]

    def activations(self, k: int) -> IndexArray:
        """Columns of a layer's switches, (lines, units)."""
        return self.switches[k]

    def scores(self) -> tuple[IndexArray, FloatArray]:
        """Columns and coefficients of the outputs' sums."""
        return self.sums


@dataclass(frozen=True)
class Support:
    """Columns that say which weights are not zero."""

    layers: Sequence[LayerWeights]
    columns: dict[int, IndexArray]

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Make zeros of weights that a tolerance kept from being zero."""
        for k, b in self.columns.items():
            if not self.layers[k].weights.integer:
                weights[k] = np.where(x[b] < 0.5, 0.0, weights[k])

    def lift(self, x: FloatArray) -> bool:
        """Fill in what follows from the start's weights."""
        for k, b in self.columns.items():
            x[b] = x[self.layers[k].W] != 0.0
        return True
