"""What training, program, search and checker ask of a term, and what a term may ask of them.

A term is a constraint that networks keep or break, or a price that is added to the loss. It speaks
of a network alone (its weights), or of a network on the samples. Everything has a neutral default,
so that a term writes what differs. Terms narrow what the weights of a search may be one after the
other: bounds of every weight, and how many may differ from 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.program import IndexArray

if TYPE_CHECKING:
    from bdnn.problem.problem import Problem
    from bdnn.problem.terms.builder import Block, Builder


class OutputRows(NamedTuple):
    """``lower <= A z <= upper`` for the outputs of all lines, in one long line."""

    A: csr_array
    lower: FloatArray
    upper: FloatArray


class Draw(NamedTuple):
    """What a search hands to a term that leaves a choice: chance, and weights to go by."""

    rng: np.random.Generator
    guide: Network


@dataclass(frozen=True, eq=False)
class AbstractTerm(ABC):
    """One demand on networks."""

    name: str  # as the user wrote it, for messages

    is_price: ClassVar[bool] = False
    # Whether it speaks of what a network says of single samples.
    sees_samples: ClassVar[bool] = False
    # Whether the network of the fewest weights keeps the term, if one does.
    wants_few_weights: ClassVar[bool] = False

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """Reductions of the program that do not keep the optimum under this term."""
        del architecture
        return frozenset()

    def refusal(self, architecture: Architecture) -> str | None:
        """Say why the term means nothing for networks of an architecture; None where it does."""
        del architecture
        return None

    @property
    def scale_dependent(self) -> bool:
        """Whether multiplying a unit's weights and threshold by a number changes anything."""
        return False

    @property
    def names_units(self) -> bool:
        """Whether it matters which hidden unit is which."""
        return False

    @property
    def leaves_units(self) -> bool:
        """Whether hidden units may be left without use, so that they can be removed."""
        return False

    @property
    def prices_weights(self) -> bool:
        """Whether a weight that is not 0 costs something."""
        return False

    def is_feasible(self, network: Network, problem: Problem[Any]) -> bool:
        """Tell from weights and forward pass whether a network keeps the term."""
        del network, problem
        return True

    def price(self, network: Network, problem: Problem[Any]) -> float:
        """What is added to the loss, never negative."""
        del network, problem
        return 0.0

    def weight_price(self, size: FloatArray) -> FloatArray:
        """What weights of these sizes, none of them 0, cost each."""
        return np.zeros_like(size)

    def rescaled(self, factor: float) -> Self:
        """The same where losses are measured in a unit that is so many times smaller."""
        del factor
        return self

    def restrict(self, lines: IndexArray, problem: Problem[Any]) -> AbstractTerm:
        """The term for some of a problem's lines; one about weights stays as it is."""
        del lines, problem
        return self

    def needed_lines(self, problem: Problem[Any]) -> IndexArray:
        """Lines without which a part of the problem does not show the term."""
        del problem
        return np.zeros(0, dtype=np.int64)

    def bound_weights(self, limits: WeightLimits) -> None:
        """Narrow single weights to what this term allows in every search."""
        del limits

    @classmethod
    def narrow(cls, terms: Sequence[Self], limits: WeightLimits, draw: Draw) -> None:
        """Narrow the weights of one search to what all terms of this class allow together.

        Where terms leave a choice it is drawn, another one for the next search.
        """
        del terms, limits, draw

    def output_rows(self, problem: Problem[Any]) -> OutputRows | None:
        """Rows over outputs, for a search that charges for broken ones."""
        del problem
        return None

    def block(self, builder: Builder) -> Block | None:
        """Add columns and rows to a program."""
        del builder
        return None

    @abstractmethod
    def claim(self) -> dict[str, Any]:
        """What a model file says of this term, as plain data."""


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
