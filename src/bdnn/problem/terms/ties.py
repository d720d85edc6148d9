"""Columns of a program that are at least linear functions of others, and no more in a start."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.program import IndexArray, Program


@dataclass(frozen=True, eq=False)
class Ties:
    """``x[columns] >= coefficients @ x[terms] + constant``, and 0 where nothing asks for more."""

    known: list[tuple[IndexArray, IndexArray, FloatArray, FloatArray]] = field(default_factory=list)

    def add(
        self,
        program: Program,
        name: str,
        columns: IndexArray,
        terms: IndexArray,
        coefficients: FloatArray,
        constant: FloatArray,
    ) -> None:
        """Add one row per line."""
        joint = np.concatenate([columns[:, None], terms], axis=1)
        values = np.concatenate([np.ones((len(columns), 1)), -coefficients], axis=1)
        program.add_rows(name, joint, values, lower=constant)
        self.known.append((columns, terms, coefficients, constant))

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Leave the weights as they are."""

    def lift(self, x: FloatArray) -> bool:
        """Fill in the least values."""
        for columns, *_ in self.known:
            x[columns] = 0.0
        for columns, terms, coefficients, constant in self.known:
            needed = (coefficients * x[terms]).sum(axis=1) + constant
            np.maximum.at(x, columns, needed)
        return True
