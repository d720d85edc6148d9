"""What the losses of regression share: targets, weights, and prices of errors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.limits import WeightLimits
from bdnn.problem.losses.base import AbstractLoss, idle_layers
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray

# Classes in place of numbers.
_CLASSES = 4


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

    has_targets: ClassVar[bool] = True
    largest_program: ClassVar[int] = 3_000

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
    def leading(self) -> NDArray[np.intp]:
        return np.zeros(int(self.group.max(initial=-1)) + 1, dtype=np.intp)

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
        del n_lines
        return replace(self, group=places[self.group])

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
        return shape, OutputLoss.of_weights(counted)

    def refusal(self, architecture: Architecture) -> str | None:
        return None if architecture.output == "identity" else "numbers need identity outputs"
