"""The training problem of regression: targets, weights and the loss of identity outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from bdnn.activation import FloatArray
from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.problem import equal_rows
from bdnn.program import IndexArray

LossKind = Literal["squared", "absolute"]


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Minimise the distance of a network's values from weighted targets.

    With ``e_il`` the error of output ``l`` on sample ``i``, ``p_l`` the price of an error and
    ``a_l`` the weights of output ``l``,

        loss = offset + sum_i w_i sum_l p_l e_il^2 + ridge sum_l p_l |a_l|^2

    or with ``|e_il|`` and without ridge. Prices measure errors in standard deviations of the
    targets. Samples with equal inputs get equal values from any network: squared losses put their
    mean in their place, and what that leaves is the ``offset``; absolute losses keep them apart.

    Parameters
    ----------
    architecture : Architecture
        With identity outputs.
    inputs : array of shape (n_inputs, n_features)
        Distinct rows.
    targets : array of shape (n_samples, n_outputs)
        In units of the outputs' values.
    weight : array of shape (n_samples,)
    group : array of shape (n_samples,)
        Which input every sample has.
    price : array of shape (n_outputs,)
    kind : {"squared", "absolute"}
    ridge : float
    offset : float
    tolerance : float
        Difference of loss and bound, as a share of the loss of a network that knows only the mean,
        that counts as none.
    """

    architecture: Architecture
    inputs: FloatArray
    targets: FloatArray
    weight: FloatArray
    group: IndexArray
    price: FloatArray
    kind: LossKind = "squared"
    ridge: float = 0.0
    offset: float = 0.0
    tolerance: float = 1e-6

    conflict_origin: ClassVar[str] = "data conflicts"

    @classmethod
    def from_samples(
        cls,
        architecture: Architecture,
        X: FloatArray,
        targets: FloatArray,
        sample_weight: FloatArray | None = None,
        *,
        unit: FloatArray | None = None,
        kind: str = "squared",
        ridge: float = 0.0,
        tolerance: float = 1e-6,
    ) -> RegressionProblem:
        """Merge equal rows of samples; weightless ones are dropped.

        ``unit`` is the number of standard deviations that a value of 1 stands for.
        """
        if architecture.output != "identity":
            raise ModelError("regression needs identity outputs: use output='identity'.")
        if kind not in get_args(LossKind):
            raise ModelError(
                f"loss must be 'squared' or 'absolute', got {kind!r}: choose one of these."
            )
        if kind == "absolute" and ridge:
            raise ModelError(
                f"ridge is for the squared loss, got {ridge!r} with the absolute one: leave it at "
                "0 or 'auto'."
            )
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        keep = weight > 0
        X, targets, weight = X[keep] + 0.0, targets[keep], weight[keep]
        scale = np.ones(targets.shape[1]) if unit is None else unit
        first, group = equal_rows(X)
        inputs, offset = np.ascontiguousarray(X[first]), 0.0
        price = scale.copy()
        if kind == "squared":
            price = scale**2
            total = np.bincount(group, weight).astype(float)
            mean = np.column_stack([np.bincount(group, weight * y) / total for y in targets.T])
            offset = float(weight @ ((targets - mean[group]) ** 2 @ price))
            targets, weight, group = mean, total, np.arange(len(inputs))
        return cls(
            architecture,
            inputs,
            targets,
            weight,
            group.astype(np.int64),
            price,
            kind,  # type: ignore[arg-type]
            float(ridge),
            offset,
            tolerance,
        )

    @cached_property
    def conflict_bound(self) -> float:
        """Loss that no function of the inputs can avoid."""
        if self.kind == "squared":
            return self.offset
        medians = np.empty((len(self.inputs), self.targets.shape[1]))
        for column, y in enumerate(self.targets.T):
            medians[:, column] = grouped_medians(y, self.weight, self.group)
        return self.loss_of_values(medians)

    def loss_of_values(self, values: FloatArray) -> float:
        """Loss of given values, one line per input, without the ridge."""
        errors = values[self.group] - self.targets
        sizes = errors**2 if self.kind == "squared" else np.abs(errors)
        return float(self.offset + self.weight @ (sizes @ self.price))

    @property
    def has_penalty(self) -> bool:
        """The ridge is part of the loss, and nothing else is minimised."""
        return False

    def objective(self, network: Network) -> float:
        """What is minimised: the loss."""
        return self.loss(network)

    def allows(self, network: Network) -> bool:
        """Every network of the architecture will do."""
        del network
        return True

    def finished(self, network: Network) -> Network:
        """Make the network that is returned of the best one."""
        return network

    def penalty(self, network: Network) -> float:
        """The ridge's part of a network's loss."""
        return float(self.ridge * (self.price @ (network.weights[-1] ** 2).sum(axis=1)))

    def loss(self, network: Network) -> float:
        """Loss of a network, from its forward pass."""
        return self.loss_of_values(network.values(self.inputs)) + self.penalty(network)

    def error(self, network: Network) -> float:
        """Mean squared error in variances of the targets: 1 minus the coefficient R2."""
        errors = network.values(self.inputs)[self.group] - self.targets
        price = self.price if self.kind == "squared" else self.price**2
        total = self.offset + float(self.weight @ (errors**2 @ price))
        return total / float(self.weight.sum() * len(price))

    @cached_property
    def slack(self) -> float:
        """Difference of loss and bound that counts as none."""
        return self.tolerance * float(self.weight.sum()) * len(self.price)

    def is_met(self, loss: float, bound: float) -> bool:
        """Tell whether a loss equals a bound up to the tolerance."""
        return loss <= bound + self.slack

    @cached_property
    def weight_unit(self) -> float:
        """Power of two near the mean weight of a sample."""
        return float(2.0 ** np.round(np.log2(self.weight.mean()))) if self.weight.size else 1.0

    def weighed_in(self, unit: float) -> Self:
        """Measure the samples' weights in another unit."""
        if unit == 1.0:
            return self
        return replace(
            self,
            weight=self.weight / unit,
            ridge=self.ridge / unit,
            offset=self.offset / unit,
        )

    def constant_network(self) -> Network:
        """Make a network whose units take their first value where they can, at the best constant.

        Without thresholds they cannot; then weights of 0, where the set has them, give the value 0.
        """
        shape = self.architecture
        weights, thresholds = self.constant_weights(), []
        largest = float(np.abs(self.inputs).max(initial=0.0))
        for k, W in enumerate(weights):
            rule = shape.activation_of(k)
            limits = rule.offsets
            if shape.thresholds != "zero":
                # Beyond every sum, and at the distances that the activation may ask for.
                reach = float(np.abs(W).sum(axis=1).max()) * max(1.0, largest)
                limits = limits - limits[0] + reach + 0.5
            limits = np.tile(limits, (len(W), 1))
            thresholds.append(limits[:, 0] if rule.n_thresholds == 1 else limits)
            largest = float(np.abs(rule.values).max())
        if shape.thresholds != "zero":
            thresholds[-1] = -self.best_shift(weighted_outputs(weights, self))
        return Network(shape, tuple(weights), tuple(thresholds))

    def constant_weights(self) -> list[FloatArray]:
        """Weights of the constant network: none, where the sets have 0."""
        shape = self.architecture
        return [
            np.full((shape.widths[k + 1], shape.widths[k]), 0.0 if kind.zero else 1.0)
            for k, kind in enumerate(shape.weights)
        ]

    def best_shift(self, sums: FloatArray) -> FloatArray:
        """Bias of every output that fits best beside sums of shape (n_inputs, n_outputs)."""
        left = self.targets - sums[self.group]
        if self.architecture.thresholds == "layer":
            return self._shared_shift(left)
        if self.kind == "squared":
            return np.asarray(np.average(left, axis=0, weights=self.weight))
        return np.array([weighted_median(column, self.weight) for column in left.T])

    def _shared_shift(self, left: FloatArray) -> FloatArray:
        """One bias for all outputs."""
        weight = self.weight[:, None] * self.price
        if self.kind == "squared":
            shift = float(np.average(left, weights=weight))
        else:
            shift = weighted_median(left.ravel(), weight.ravel())
        return np.full(left.shape[1], shift)


def weighted_outputs(weights: list[FloatArray], problem: RegressionProblem) -> FloatArray:
    """Sums of the outputs where every hidden unit takes its first value."""
    shape = problem.architecture
    if shape.hidden:
        lowest = shape.activation_of(len(shape.hidden) - 1).values[0]
        return np.tile(lowest * weights[-1].sum(axis=1), (len(problem.inputs), 1))
    return np.asarray(problem.inputs @ weights[-1].T)


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Smallest value with at least half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(reached, 0.5 * reached[-1])]])


def grouped_medians(values: FloatArray, weight: FloatArray, group: IndexArray) -> FloatArray:
    """Weighted median of the values of every group, all groups at once."""
    order = np.lexsort((values, group))
    group, values, reached = group[order], values[order], np.cumsum(weight[order])
    last = np.flatnonzero(np.append(np.diff(group) != 0, True))
    before = np.concatenate(([0.0], reached[last[:-1]]))
    places = np.searchsorted(reached, 0.5 * (before + reached[last]))
    return np.asarray(values[np.minimum(places, last)])
