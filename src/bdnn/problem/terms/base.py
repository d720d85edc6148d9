"""What training, program, search and checker ask of a term, and what a term may ask of them.

A term is a constraint that networks keep or break, or a price that is added to the loss. It speaks
of a network alone (its weights), or of a network on the samples. Everything has a neutral default,
so that a term writes what differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from scipy.sparse import csr_array

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture, ThresholdKind, WeightSet
from bdnn.network.network import Network
from bdnn.problem.limits import WeightLimits
from bdnn.program import IndexArray, Program

if TYPE_CHECKING:
    from bdnn.problem.problem import Problem


class OutputRows(NamedTuple):
    """``lower <= A z <= upper`` for the outputs of all lines, in one long line."""

    A: csr_array
    lower: FloatArray
    upper: FloatArray


class Draw(NamedTuple):
    """What a search hands to a term that leaves a choice: chance, and weights to go by."""

    rng: np.random.Generator
    guide: Network


class SumBounds(Protocol):
    """How a layer's sums and thresholds are measured in the program."""

    @property
    def unit(self) -> float:
        """What 1 in the program is worth."""

    @property
    def margin(self) -> float:
        """Distance that inactive units keep."""

    @property
    def exact(self) -> bool:
        """Whether sums are whole numbers of units."""

    @property
    def threshold(self) -> tuple[float, float]:
        """Range of thresholds."""

    @property
    def lowest(self) -> FloatArray:
        """Least sums."""

    @property
    def highest(self) -> FloatArray:
        """Largest sums."""


class LayerColumns(Protocol):
    """Columns of the program that are a layer's weights and thresholds."""

    @property
    def number(self) -> int:
        """Of the layer, from 1."""

    @property
    def weights(self) -> WeightSet:
        """The set they are from."""

    @property
    def W(self) -> IndexArray:  # noqa: N802
        """Columns of the weights, (units, inputs)."""

    @property
    def t(self) -> IndexArray | None:
        """Columns of the thresholds, if there are some."""

    @property
    def kind(self) -> ThresholdKind:
        """Of the thresholds."""

    @property
    def bounds(self) -> SumBounds:
        """Measures."""

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest weight."""


class Builder(Protocol):
    """A program under construction, as a term sees it."""

    @property
    def program(self) -> Program:
        """What rows and columns are added to."""

    @property
    def problem(self) -> Problem[Any]:
        """What the program is of."""

    @property
    def number(self) -> int:
        """Of the term that is being added, to tell names apart."""

    @property
    def layers(self) -> Sequence[LayerColumns]:
        """Weights and thresholds."""

    def support(self, k: int) -> IndexArray:
        """Columns that are 1 where a weight of a layer is not 0, (units, inputs)."""

    def activations(self, k: int) -> IndexArray:
        """Columns of a layer's switches, (lines, units)."""

    def scores(self) -> tuple[IndexArray, FloatArray]:
        """Columns and coefficients of the outputs' sums, each (lines, outputs, inputs)."""


class Block(Protocol):
    """What a term has added to a program."""

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Put weights exactly where the term wants them, which solvers do up to a tolerance."""

    def lift(self, x: FloatArray) -> bool:
        """Fill in own columns of a start; tell whether the start keeps the term."""


@dataclass(frozen=True, eq=False)
class AbstractTerm(ABC):
    """One demand on networks.

    Parameters
    ----------
    name : str
        As the user wrote it, for messages.
    """

    name: str

    is_price: ClassVar[bool] = False
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
