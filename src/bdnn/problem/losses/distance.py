"""What the losses of regression share: targets, weights, and prices of errors.

In a program outputs are sums less thresholds, and every loss adds what it charges for errors:

    value:  v_il = sum_j s_ilj - t_l,   s_ilj = a_lj u_ij   (products with all four rows)
    error:  e_il = v_il - y_il
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bdnn.blocks.bounds import LayerBounds
from bdnn.blocks.layers import Sums
from bdnn.blocks.weights import LayerWeights
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.losses.base import AbstractLoss, LossBlock, OutputLayer, idle_layers
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.pattern import Pattern
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.problem.terms.base import WeightLimits
from bdnn.program import IndexArray, Program

# Classes in place of numbers.
_CLASSES = 4

#: The losses of numbers by name.
DISTANCES: dict[str, type[DistanceLoss]] = {}


@dataclass(frozen=True, eq=False)
class Errors:
    """Values of the outputs in a program, and what errors of them may be."""

    loss: DistanceLoss
    program: Program
    layer: LayerWeights  # of the outputs
    values: Sums  # (lines, outputs, summands)
    largest: FloatArray  # (rows, outputs): sizes of errors, of which no worse are looked for

    @property
    def rows(self) -> Sums:
        """Values for every row of the targets."""
        group = self.loss.group
        return Sums(self.values.columns[group], self.values.coefficients[group])

    @property
    def costs(self) -> FloatArray:
        """What the size of an error is multiplied by."""
        return np.asarray(self.loss.weight[:, None] * self.loss.price)

    def at(self, x: FloatArray) -> FloatArray:
        """Errors of a solution."""
        values = (x[self.values.columns] * self.values.coefficients).sum(axis=-1)
        return np.asarray(values[self.loss.group] - self.loss.targets)


@dataclass(frozen=True, eq=False)
class DistanceBlock(LossBlock):
    """Errors as an objective."""

    errors: Errors

    def lift(self, x: FloatArray, W: FloatArray, t: FloatArray) -> bool:
        """Fill in what errors cost; False if a bias is out of its range."""
        low, high = self.errors.layer.bounds.threshold
        if (t < low).any() or (t > high).any():
            return False
        self.fill(x)
        return True

    @abstractmethod
    def fill(self, x: FloatArray) -> None:
        """Fill in own columns from the values that a start has."""


@dataclass(frozen=True, eq=False)
class DistanceLoss(AbstractLoss):
    """Distance of a network's values from weighted targets.

    With ``e_il`` the error of output ``l`` on row ``i`` and ``p_l`` the price of an error,

        loss = offset + sum_i w_i sum_l p_l size(e_il) + what output weights cost

    Prices measure errors in standard deviations of the targets. These are real numbers: their
    tolerance is part of whatever is claimed of them.
    """

    targets: FloatArray  # (n_rows, n_outputs): in units of the outputs' values
    weight: FloatArray  # (n_rows,)
    group: IndexArray  # (n_rows,): line of every row
    price: FloatArray  # (n_outputs,)
    # Difference of loss and bound, as a share of the loss of a network that knows only the mean,
    # that counts as none.
    relative_tolerance: float = 1e-6
    offset: float = 0.0  # what the samples cost beyond this table of targets
    ridge: float = 0.0  # price of squared output weights
    pattern: Pattern | None = None

    has_targets: ClassVar[bool] = True
    largest_program: ClassVar[int] = 3_000

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        DISTANCES[cls.kind] = cls

    @classmethod
    @abstractmethod
    def of(
        cls,
        samples: Samples,
        targets: FloatArray,
        *,
        unit: FloatArray | None = None,
        ridge: float = 0.0,
        tolerance: float = 1e-6,
    ) -> Self:
        """Take targets of all rows; ``unit`` is the standard deviations that a value of 1 is."""

    @abstractmethod
    def size(self, errors: FloatArray) -> FloatArray:
        """What errors cost before weights and prices."""

    @abstractmethod
    def best_constant(self, values: FloatArray, weight: FloatArray) -> float:
        """The number nearest to weighted values."""

    @abstractmethod
    def interval_costs(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """Size of the errors of values ``first..last`` around their best constant.

        Values ascend; the cost of an interval is at ``[first, last]``, infinite for ``last <
        first``.
        """

    @abstractmethod
    def add(self, errors: Errors, outputs: OutputLayer) -> DistanceBlock:
        """Make what errors cost the objective of a program."""

    @property
    @abstractmethod
    def deviation_price(self) -> FloatArray:
        """Price of a squared error in variances of the targets."""

    @cached_property
    def tolerance(self) -> Fraction:
        """Difference of loss and bound that counts as none."""
        return Fraction(self.relative_tolerance * self.total * len(self.price))

    def of_values(self, values: FloatArray) -> float:
        """Loss of given values, one line per input, without what weights cost."""
        errors = self.size(values[self.group] - self.targets)
        return float(self.offset + self.weight @ (errors @ self.price))

    def penalty(self, network: Network) -> float:
        """The ridge's part of a network's loss."""
        return float(self.ridge * (self.price @ (network.weights[-1] ** 2).sum(axis=1)))

    def value(self, network: Network, samples: Samples) -> Fraction:
        return Fraction(self.of_values(network.values(samples.inputs)) + self.penalty(network))

    def error(self, network: Network, samples: Samples) -> float:
        """Mean squared error in variances of the targets: 1 minus the coefficient R2."""
        errors = network.values(samples.inputs)[self.group] - self.targets
        total = self.offset + float(self.weight @ (errors**2 @ self.deviation_price))
        return total / (self.total * len(self.price))

    def irreducible(self, samples: Samples) -> Bound:
        """What samples with equal inputs and different targets cost."""
        value = Fraction(self.conflicts(samples.n_lines))
        origin = "data conflicts" if value else "zero"
        return Bound(value, origin, Condition(tolerance=self.tolerance) if value else Condition())

    @abstractmethod
    def conflicts(self, n_lines: int) -> float:
        """Loss of the best values that lines can have."""

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    def constants(
        self, architecture: Architecture, samples: Samples, limits: WeightLimits | None = None
    ) -> Iterator[Network]:
        """Make a network whose units take their last value where they can, at the best constant."""
        weights, thresholds, fed = idle_layers(architecture, samples.inputs, limits)
        if architecture.thresholds != "zero":
            sums = np.broadcast_to(fed @ weights[-1].T, (samples.n_lines, len(weights[-1])))
            thresholds[-1] = -self.best_shift(architecture, sums)[:, None]
        yield Network(architecture, tuple(weights), tuple(thresholds))

    def best_shift(self, architecture: Architecture, sums: FloatArray) -> FloatArray:
        """Bias of every output that fits best beside sums of shape (n_lines, n_outputs)."""
        left = self.targets - sums[self.group]
        if architecture.thresholds == "layer":
            weight = self.weight[:, None] * self.price
            return np.full(left.shape[1], self.best_constant(left.ravel(), weight.ravel()))
        return np.array([self.best_constant(column, self.weight) for column in left.T])

    def moved(self, places: IndexArray, n_lines: int) -> Self:
        """The loss of the same lines in other places."""
        pattern = self.pattern and self.pattern.moved(places, n_lines)
        return replace(self, group=places[self.group], pattern=pattern)

    def subset(self, lines: IndexArray) -> Self:
        """The loss of some of the lines; of the offset they bear their share of the weight."""
        place = np.full(int(self.group.max(initial=-1)) + 1, -1)
        place[lines] = np.arange(len(lines))
        kept = place[self.group] >= 0
        weight = self.weight[kept]
        share = float(weight.sum() / self.weight.sum()) if kept.any() else 0.0
        return replace(
            self,
            targets=self.targets[kept],
            weight=weight,
            group=place[self.group[kept]],
            offset=share * self.offset,
            pattern=self.pattern and self.pattern.subset(lines),
        )

    def as_classes(self, architecture: Architecture) -> tuple[Architecture, OutputLoss]:
        """Cut the targets, all outputs together, into parts of about equal weight."""
        size = self.targets @ np.sqrt(self.deviation_price)
        order = np.argsort(size, kind="stable")
        reached = np.cumsum(self.weight[order]) / self.total
        places = np.searchsorted(reached, np.arange(1, _CLASSES) / _CLASSES)
        labels = np.searchsorted(np.unique(size[order[places]]), size)
        counted = np.zeros((int(self.group.max(initial=-1)) + 1, _CLASSES))
        np.add.at(counted, (self.group, labels), self.weight)
        shape = replace(architecture, output="step", n_outputs=_CLASSES)
        return shape, replace(OutputLoss.of_weights(counted), pattern=self.pattern)

    def output_bounds(self, problem: Problem[Any], eps: float) -> LayerBounds:
        """Range of the biases: the best leaves no output entirely above or below its targets."""
        shape, inputs = problem.architecture, problem.inputs
        if shape.hidden:
            inputs = np.array(shape.activation_of(len(shape.hidden) - 1).values)
        reach = shape.weights[-1].limit * shape.widths[-2] * float(np.abs(inputs).max(initial=0.0))
        limits = (-float(self.targets.max()) - reach, reach - float(self.targets.min()))
        limits = (0.0, 0.0) if shape.thresholds == "zero" else limits
        return LayerBounds(1.0, np.zeros(0), np.zeros(0), limits, 0.0, exact=False)

    def block(self, outputs: OutputLayer) -> DistanceBlock:
        """Outputs are numbers, of which errors are charged for."""
        problem, layer, sums = outputs.problem, outputs.layer, outputs.sums()[0]
        shape = (problem.samples.n_lines, len(layer.W), sums.columns.shape[-1])
        columns = np.broadcast_to(sums.columns, shape)
        factors = np.broadcast_to(sums.coefficients, shape)
        if layer.t is not None:
            bias = np.broadcast_to(layer.t, (*shape[:2], 1))
            columns = np.concatenate([columns, bias], axis=-1)
            factors = np.concatenate([factors, -np.ones(bias.shape)], axis=-1)
        # No network worth finding has a larger loss, hence larger errors, than a constant one that
        # keeps all terms; without one, errors are what thresholds and weights allow.
        constant = problem.constant_network()
        ceiling = float(problem.objective(constant)) - self.offset
        largest = (1.0 + 1e-6) * ceiling / (self.weight[:, None] * self.price) + 1e-9
        if not problem.is_feasible(constant):
            low, high = layer.bounds.threshold
            widest = self.size(np.array(high - low + float(np.ptp(self.targets))))
            largest = np.full(self.targets.shape, float(widest))
        outputs.program.offset += self.offset
        errors = Errors(self, outputs.program, layer, Sums(columns, factors), largest)
        return self.add(errors, outputs)

    def refusal(self, architecture: Architecture) -> str | None:
        return None if architecture.output == "identity" else "numbers need identity outputs"


def distance_loss(kind: object) -> type[DistanceLoss]:
    """The loss of numbers with a name."""
    if not isinstance(kind, str) or kind not in DISTANCES:
        known = " or ".join(map(repr, sorted(DISTANCES, reverse=True)))
        raise ModelError(f"loss must be {known}, got {kind!r}: choose one of these.")
    return DISTANCES[kind]
