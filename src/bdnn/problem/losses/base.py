"""What training, program and report ask of a loss, what a loss asks of a program, and constants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bdnn.blocks.bounds import LayerBounds, Reductions
from bdnn.blocks.input_sets import InputSets
from bdnn.blocks.layers import Needs, Steps, Sums
from bdnn.blocks.weights import Given, LayerWeights
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.pattern import Pattern
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.problem.terms.base import WeightLimits
from bdnn.program import IndexArray, Program

if TYPE_CHECKING:
    from bdnn.problem.losses.output import OutputLoss
    from bdnn.problem.problem import Problem


class LossBlock:
    """What a loss has added to a program; by default nothing but an objective."""

    @property
    def margin(self) -> float:
        """What it asks of outputs beyond the loss, and the data do not give."""
        return 0.0

    @property
    def is_relaxed(self) -> bool:
        """Whether the objective lies below the loss, and cuts bring it nearer."""
        return False

    @property
    def step(self) -> float:
        """Smallest amount by which two objectives can differ, 0 if that is not known."""
        return 0.0

    def round_up(self, bound: float) -> float:
        """Raise a lower bound to the next value the objective can take."""
        return bound

    def lift(self, x: FloatArray, W: FloatArray, t: FloatArray) -> bool:
        """Fill in own columns of a start from the outputs' weights; False where none will do."""
        del x, W, t
        return True

    def cut(self, x: FloatArray | None = None) -> None:
        """Tighten a relaxation at a point, or at a few to begin with."""

    def true_value(self, x: FloatArray) -> float | None:
        """Objective of a point without the relaxation, None where there is none."""
        del x
        return None


class OutputLayer(ABC):
    """A program whose hidden layers are there, for the loss of its problem.

    What a loss asks for is added when it asks: outputs as steps, or as sums.
    """

    program: Program
    problem: Problem[Any]
    groups: IndexArray  # (n_inputs,): line of every input
    reductions: Reductions
    given: Given
    eps: float
    takes_squares: bool  # whether the solver minimises squares
    earlier: Any  # the block of a model of fewer lines, which this one continues

    @property
    @abstractmethod
    def layer(self) -> LayerWeights:
        """Weights and thresholds of the outputs."""

    @property
    @abstractmethod
    def below(self) -> Steps:
        """Switches of the last hidden layer."""

    @abstractmethod
    def sums(self) -> tuple[Sums, Sums]:
        """Add products; return the least and the largest sums of the outputs."""

    @abstractmethod
    def switches(self, needs: Needs | None = None, had: Needs | None = None) -> Steps:
        """Add outputs as steps, with the rows that they need and did not have; by default all."""


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
    #: Balls around lines in which no first-layer activation may change.
    pattern: Pattern | None = None
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

    @property
    def has_bounds(self) -> bool:
        """Whether what a solver proves of the program is true of the loss."""
        return self.pattern is None or not self.pattern.is_widened

    def input_sets(self, samples: Samples) -> list[InputSets]:
        """What first-layer sums of a program are of."""
        if self.pattern is not None:
            return self.pattern.input_sets(samples.inputs)
        return [InputSets(samples.inputs)]

    @abstractmethod
    def value(self, network: Network, samples: Samples) -> Fraction:
        """Loss of a network, from its forward pass."""

    def error(self, network: Network, samples: Samples) -> float:
        """How wrong a network's answers are, in a measure that users know."""
        return self.as_classes(network.architecture)[1].error(network, samples)

    @abstractmethod
    def irreducible(self, samples: Samples) -> Bound:
        """What no function of the inputs avoids."""

    @property
    @abstractmethod
    def total(self) -> float:
        """Weight of all samples."""

    def constants(
        self, architecture: Architecture, samples: Samples, limits: WeightLimits | None = None
    ) -> Iterator[Network]:
        """Make networks that say the same for every input, the best such answer first.

        Their weights are as near to 0 as limits allow.
        """
        return self.as_classes(architecture)[1].constants(architecture, samples, limits)

    @abstractmethod
    def subset(self, lines: IndexArray) -> Self:
        """The loss of some of the lines."""

    @abstractmethod
    def as_classes(self, architecture: Architecture) -> tuple[Architecture, OutputLoss]:
        """Name classes that are near to what is asked, and networks with an output for each."""

    def output_bounds(self, problem: Problem[Any], eps: float) -> LayerBounds | None:
        """Range of the outputs' thresholds in a program; None where outputs are steps."""
        del problem, eps
        return None

    def block(self, outputs: OutputLayer) -> LossBlock:
        """Make the loss the objective of a program."""
        del outputs
        raise ModelError(f"loss '{self.kind}' has no program: use method 'descent'.")

    def has_program(self, architecture: Architecture) -> bool:
        """Tell whether a solver can be asked about such networks."""
        del architecture
        return type(self).block is not AbstractLoss.block

    def claim(self) -> dict[str, Any]:
        """What a model file says of this loss beside what the user asked for, as plain data."""
        return {}

    def refusal(self, architecture: Architecture) -> str | None:
        """Say why networks of an architecture have no such loss; None where they do."""
        return self.as_classes(architecture)[1].refusal(architecture)


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
    inputs: FloatArray,  # of which the largest matters
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
