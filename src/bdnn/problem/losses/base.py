"""What training, program and report ask of a loss, and networks that say the same of any input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.limits import WeightLimits
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray

if TYPE_CHECKING:
    from bdnn.problem.losses.output import OutputLoss


class AbstractLoss(ABC):
    """What the answers of a network cost, summed over samples.

    Values are in units of :attr:`~bdnn.problem.samples.Samples.unit`. Arrays of a loss are in the
    order of the samples' lines, of which it speaks without holding them.
    """

    kind: ClassVar[str]
    #: Whether it is about outputs that are on or off, each at a price.
    counts_outputs: ClassVar[bool] = False
    #: Whether outputs are numbers that should be near to targets.
    has_targets: ClassVar[bool] = False
    #: Whether errors count by their squares.
    is_squared: ClassVar[bool] = False
    #: Products of a program up to which a solver does more than a search.
    largest_program: ClassVar[int] = 20_000

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
    def as_classes(self, architecture: Architecture) -> tuple[Architecture, OutputLoss]:
        """Name classes that are near to what is asked, and networks with an output for each."""

    def has_program(self, architecture: Architecture) -> bool:
        """Tell whether a solver can be asked about such networks."""
        del architecture
        return True

    @abstractmethod
    def refusal(self, architecture: Architecture) -> str | None:
        """Say why networks of an architecture have no such loss; None where they do."""


def idle_layers(
    architecture: Architecture, inputs: FloatArray, limits: WeightLimits | None = None
) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
    """Make hidden units that take their last value, whatever the input is.

    Weights are 0 where the sets have it and as near to that as limits allow. Thresholds lie below
    all sums; where they are all 0, units without weights take the value of a sum of 0, and with
    weights that cannot be 0 no unit is constant.

    Also returns ``weights, thresholds``, of all layers; the outputs' thresholds are 0; ``fed``,
    what the outputs get to weigh.
    """
    weights = [
        np.full((units, n), 0.0 if kind.zero else 1.0)
        for n, units, kind in zip(
            architecture.widths, architecture.widths[1:], architecture.weights, strict=False
        )
    ]
    if limits is not None:
        weights = [limits.clipped(k, W) for k, W in enumerate(weights)]
    thresholds: list[FloatArray] = []
    fed = inputs
    for W, rule in zip(weights, map(architecture.activation_of, range(len(weights))), strict=True):
        if len(thresholds) == len(weights) - 1:
            thresholds.append(np.zeros((len(W), 1)))
            break
        lowest, reached = 0.0, int((rule.offsets <= 0.0).sum())
        if architecture.thresholds != "zero":
            largest = float(np.abs(fed).max(initial=1.0))
            lowest = -float(np.abs(W).sum(axis=1).max()) * largest - rule.offsets[-1]
            reached = rule.n_thresholds
        thresholds.append(np.tile(rule.offsets + lowest, (len(W), 1)))
        fed = np.full((1, len(W)), float(rule.values[reached]))
    return weights, thresholds, fed


def constant_classifier(
    architecture: Architecture,
    inputs: FloatArray,
    cost: FloatArray,
    limits: WeightLimits | None = None,
) -> Network:
    """Make a network whose outputs are on where that costs less than nothing.

    Thresholds of zero leave no choice: single layers are all on, and with binary weights, which
    cannot ignore an input, no network is constant and this is just one.
    """
    weights, thresholds, fed = idle_layers(architecture, inputs, limits)
    W, is_on = weights[-1], cost < 0.0
    reach = np.abs(W).sum(axis=1) * float(np.abs(fed).max(initial=1.0)) + 0.5
    if architecture.thresholds == "neuron":
        thresholds[-1] = (np.where(is_on, -1.0, 1.0) * reach)[:, None]
    elif architecture.hidden:
        # What all hidden units say is a constant to weigh.
        sign = np.where(is_on == (fed[0, 0] > 0), 1.0, -1.0)[:, None]
        if fed[0, 0]:
            W[:] = np.where(W == 0.0, 0.0, sign)
            W[:, :1] = sign
            weights[-1] = W if limits is None else limits.clipped(-1, W)
    elif architecture.thresholds == "layer":
        shared = -reach.max() if cost.sum() < 0.0 else reach.max()
        thresholds[-1] = np.full((len(W), 1), shared)
    return Network(architecture, tuple(weights), tuple(thresholds))
