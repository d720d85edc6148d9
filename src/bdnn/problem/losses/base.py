"""What training, program and report ask of a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.limits import WeightLimits
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray


class AbstractLoss(ABC):
    """What the answers of a network cost, summed over samples.

    Values are in units of :attr:`~bdnn.problem.samples.Samples.unit`. Arrays of a loss are in the
    order of the samples' lines, of which it speaks without holding them.
    """

    kind: ClassVar[str]
    #: What it is about, which methods have phases for: ``classes``, ``numbers``, ``guarantees``.
    family: ClassVar[str] = "classes"

    def products(self, architecture: Architecture) -> int:
        """Products of a weight with an input that a program has for every line."""
        return architecture.n_products

    @property
    def tolerance(self) -> Fraction:
        """Difference of two values that nobody tells apart: 0 where sums are exact."""
        return Fraction(0)

    @property
    def is_integral(self) -> bool:
        """Whether every value is a whole number."""
        return False

    @property
    def step(self) -> Fraction:
        """Values differ from what is irreducible by multiples of this; 0 if nothing is known."""
        return Fraction(0)

    @property
    def input_regions(self) -> Regions | None:
        """Sets of inputs that answers must hold in; None where they are about points."""
        return None

    @abstractmethod
    def value(self, network: Network, samples: Samples) -> Fraction:
        """Loss of a network, from its forward pass."""

    @abstractmethod
    def error(self, network: Network, samples: Samples) -> float:
        """How wrong a network's answers are, in a measure that users know."""

    @abstractmethod
    def irreducible(self, samples: Samples) -> Bound:
        """What no function of the inputs avoids."""

    @property
    @abstractmethod
    def leading(self) -> NDArray[np.intp]:
        """Leading class of every line, 0 where there are no classes."""

    @property
    @abstractmethod
    def total(self) -> float:
        """Weight of all samples."""

    @abstractmethod
    def constants(
        self, architecture: Architecture, samples: Samples, limits: WeightLimits | None = None
    ) -> Iterator[Network]:
        """Make networks that say the same for every input, the best such answer first.

        Their weights are as near to 0 as limits allow.
        """

    @abstractmethod
    def subset(self, lines: IndexArray) -> Self:
        """The loss of some of the lines."""

    @abstractmethod
    def refusal(self, architecture: Architecture) -> str | None:
        """Say why networks of an architecture have no such loss; None where they do."""
