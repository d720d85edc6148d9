"""The training problem: distinct inputs, how much of each class falls on them, and the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import Architecture
from bdnn.network import Network


class Problem(Protocol):
    """What the record of a run asks of a training problem."""

    @property
    def architecture(self) -> Architecture:
        """Shape of the networks."""

    @property
    def conflict_bound(self) -> float:
        """Loss that no function of the inputs can avoid."""

    @property
    def conflict_origin(self) -> str:
        """What proves that bound."""

    @property
    def weight_unit(self) -> float:
        """Power of two near the mean weight of a sample."""

    def loss(self, network: Network) -> float:
        """Loss of a network, from its forward pass."""

    def error(self, network: Network) -> float:
        """How wrong a network's answers are, in a measure that users know."""

    @property
    def has_penalty(self) -> bool:
        """Whether more than the loss is minimised."""

    def objective(self, network: Network) -> float:
        """What is minimised."""

    def allows(self, network: Network) -> bool:
        """Tell whether a network keeps what is asked of networks besides a small loss."""

    def is_met(self, loss: float, bound: float) -> bool:
        """Tell whether a loss equals a bound."""

    def weighed_in(self, unit: float) -> Self:
        """Measure the samples' weights in another unit."""

    def constant_network(self) -> Network:
        """Make a network that says the same for every input."""


AnyProblem = TypeVar("AnyProblem", bound=Problem)


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """Minimise the output loss of a network over weighted samples.

    Samples with equal inputs get equal outputs from any network, so they are merged. With
    ``mass[i, l]`` the weight of class ``l`` on input ``i``, an output that is on costs the mass of
    all other classes and an output that is off costs the mass of its own:

        loss = sum_i sum_l  z_il * (mass_i - mass_il) + (1 - z_il) * mass_il

    which is the paper's sum of ``|z - onehot(y)|``. What the cheaper of the two costs whatever the
    network does is the conflict bound: samples with equal inputs and different classes.

    Parameters
    ----------
    architecture : Architecture
    inputs : array of shape (n_inputs, n_features)
        Distinct rows.
    mass : array of shape (n_inputs, n_outputs)
    """

    architecture: Architecture
    inputs: FloatArray
    mass: FloatArray

    conflict_origin: ClassVar[str] = "data conflicts"

    @classmethod
    def from_samples(
        cls,
        architecture: Architecture,
        X: FloatArray,
        labels: NDArray[np.integer],
        sample_weight: FloatArray | None = None,
        *,
        merge: bool = True,
    ) -> TrainingProblem:
        """Merge equal rows of samples with class indices 0, 1, ...; weightless ones are dropped."""
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        keep = weight > 0
        X, labels, weight = X[keep] + 0.0, labels[keep], weight[keep]
        if merge:
            first, group = equal_rows(X)
        else:
            first, group = np.arange(len(X)), np.arange(len(X))
        mass = np.zeros((len(first), architecture.n_outputs))
        np.add.at(mass, (group, labels), weight)
        return cls(architecture, np.ascontiguousarray(X[first]), mass)

    def unmerged(self) -> TrainingProblem:
        """One line per sample again; what has a fractional weight stays one line per class."""
        lines, labels = np.nonzero(self.mass)
        weight = self.mass[lines, labels]
        copies = weight.astype(np.intp) if self.is_integral else np.ones(len(lines), np.intp)
        mass = np.zeros((len(lines), self.mass.shape[1]))
        mass[np.arange(len(lines)), labels] = weight / copies
        rows = np.repeat(np.arange(len(lines)), copies)
        return TrainingProblem(self.architecture, self.inputs[lines[rows]], mass[rows])

    def led_by(self, before: TrainingProblem) -> TrainingProblem:
        """Put the inputs of an earlier problem first, in its order, and the further ones after."""
        inputs = np.concatenate([before.inputs, self.inputs])
        first, group = equal_rows(inputs)
        order = np.argsort(first)  # the earlier inputs are distinct and come first
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        mass = np.zeros((len(order), self.mass.shape[1]))
        mass[place[group[len(before.inputs) :]]] = self.mass
        return replace(self, inputs=inputs[first[order]], mass=mass)

    def lines_of(self, inputs: FloatArray) -> NDArray[np.intp]:
        """Find samples with these inputs among the lines; -1 for what is not there."""
        number = {line.tobytes(): i for i, line in enumerate(self.inputs)}
        return np.array([number.get(line.tobytes(), -1) for line in inputs + 0.0], dtype=np.intp)

    def of_lines(self, lines: NDArray[np.integer], mass: FloatArray | None = None) -> Self:
        """The problem of some of the inputs, with other masses if these are given."""
        return replace(
            self, inputs=self.inputs[lines], mass=self.mass[lines] if mass is None else mass
        )

    @property
    def needed_lines(self) -> NDArray[np.intp]:
        """Inputs without which a part of the problem means something else: none."""
        return np.zeros(0, dtype=np.intp)

    @cached_property
    def cost_on(self) -> FloatArray:
        """Loss of every output that is on."""
        return np.asarray(self.mass.sum(axis=1, keepdims=True) - self.mass)

    @property
    def cost_off(self) -> FloatArray:
        """Loss of every output that is off."""
        return self.mass

    @cached_property
    def conflict_bound(self) -> float:
        """Loss that no function of the inputs can avoid."""
        return float(np.minimum(self.cost_on, self.cost_off).sum())

    @cached_property
    def is_integral(self) -> bool:
        """Whether every loss is an integer, so that bounds may be rounded up."""
        return bool((self.mass == np.rint(self.mass)).all())

    def loss_of_outputs(self, outputs: BoolArray) -> float:
        """Loss of given 0/1 outputs, one line per input."""
        return float(np.where(outputs, self.cost_on, self.cost_off).sum())

    def loss(self, network: Network) -> float:
        """Loss of a network, from its forward pass."""
        return self.loss_of_outputs(network.outputs(self.inputs))

    @property
    def has_penalty(self) -> bool:
        """Whether more than the loss is minimised."""
        return False

    def objective(self, network: Network) -> float:
        """What is minimised: the loss, and penalties in problems that have some."""
        return self.loss(network)

    def allows(self, network: Network) -> bool:
        """Tell whether a network keeps what is asked of networks besides a small loss."""
        del network
        return True

    def finished(self, network: Network) -> Network:
        """Make the network that is returned of the best one."""
        return network

    def mistakes(self, network: Network) -> FloatArray:
        """Weight of every input that the network puts into a wrong class."""
        # An output that is on costs what is not of its class; so 0 mistakes give exactly 0.
        return np.asarray(self.cost_on[np.arange(len(self.mass)), network.predict(self.inputs)])

    def error(self, network: Network) -> float:
        """Share of the samples' weight that the network puts into a wrong class."""
        return float(self.mistakes(network).sum() / self.mass.sum())

    def round_bound(self, bound: float) -> float:
        """Raise a lower bound to the next value the loss can take."""
        if not (self.is_integral and np.isfinite(bound)):
            return bound
        return float(np.ceil(bound - 1e-6 * max(1.0, abs(bound) * 1e-3)))

    def is_met(self, loss: float, bound: float) -> bool:
        """Tell whether a loss equals a bound, up to rounding of the samples' weights."""
        return loss <= bound + (0.0 if self.is_integral else 1e-7 * float(self.mass.sum()))

    @cached_property
    def weight_unit(self) -> float:
        """Power of two near the mean weight of a sample, 1 for integer weights.

        Solvers have absolute tolerances, so weights should be of size 1; a power of two takes them
        there and back without rounding.
        """
        positive = self.mass[self.mass > 0]
        if self.is_integral or not positive.size:
            return 1.0
        return float(2.0 ** np.round(np.log2(positive.mean())))

    def weighed_in(self, unit: float) -> Self:
        """Measure the samples' weights in another unit."""
        return self if unit == 1.0 else replace(self, mass=self.mass / unit)

    def constant_network(self) -> Network:
        """Make a network that says the same for every input, the cheapest such answer.

        Thresholds of zero leave no choice: single layers are all on, and with binary weights, which
        cannot ignore an input, no network is constant and this is just one.
        """
        shape = self.architecture
        if shape.activations:
            return self._constant_levels()
        on, off = self.cost_on.sum(axis=0), self.cost_off.sum(axis=0)
        weights = [
            np.full((units, inputs), 0.0 if kind.zero else 1.0)
            for inputs, units, kind in zip(
                shape.widths, shape.widths[1:], shape.weights, strict=False
            )
        ]
        thresholds = [np.zeros(units) for units in shape.widths[1:]]
        reach = np.abs(weights[-1]).sum(axis=1)
        if not shape.hidden:
            reach *= np.abs(self.inputs).max(initial=1.0)
        if shape.thresholds == "neuron":
            thresholds[-1] = np.where(on < off, -1.0, 1.0) * (reach + 0.5)
        elif shape.hidden:
            # Every hidden unit is on, a constant to weigh: at threshold 0 without weights, and
            # with weights at a shared threshold below all sums.
            if shape.thresholds == "layer":
                lowest = np.abs(weights[0]).sum(axis=1) * np.abs(self.inputs).max(initial=1.0)
                thresholds[0] = -lowest
            sign = np.where(on < off, 1.0, -1.0)
            weights[-1] = np.where(weights[-1] == 0.0, 0.0, sign[:, None])
            weights[-1][:, 0] = sign
        elif shape.thresholds == "layer":
            thresholds[-1] = (reach + 0.5) * (-1.0 if on.sum() < off.sum() else 1.0)
        return Network(shape, tuple(weights), tuple(thresholds))

    def _constant_levels(self) -> Network:
        """The same where hidden units have other values than 0 and 1."""
        shape = self.architecture
        weights = [
            np.full((units, inputs), 0.0 if kind.zero else 1.0)
            for inputs, units, kind in zip(
                shape.widths, shape.widths[1:], shape.weights, strict=False
            )
        ]
        thresholds, reach = [], float(np.abs(self.inputs).max(initial=1.0))
        for k in range(len(shape.hidden)):
            rule = shape.activation_of(k)
            lowest = 0.0
            if shape.thresholds != "zero":
                # All thresholds below all sums: every unit takes its largest value.
                lowest = -float(np.abs(weights[k]).sum(axis=1).max()) * reach - rule.offsets[-1]
            t = np.tile(rule.offsets + lowest, (len(weights[k]), 1))
            thresholds.append(t[:, 0] if rule.n_thresholds == 1 else t)
            reach = float(np.abs(rule.values).max())
        # What the outputs get to weigh, the same for all inputs where hidden weights are 0.
        rule = shape.activation_of(len(shape.hidden) - 1)
        reached = rule.n_thresholds
        if shape.thresholds == "zero":
            reached = int((rule.offsets <= 0.0).sum())
        value = rule.values[reached]
        on = self.cost_on.sum(axis=0) < self.cost_off.sum(axis=0)
        limits = np.zeros(shape.n_outputs)
        if shape.thresholds == "neuron":
            span = np.abs(weights[-1]).sum(axis=1) * reach
            limits = np.where(on, -1.0, 1.0) * (span + 0.5)
        elif value:
            sign = np.where(on == (value > 0), 1.0, -1.0)[:, None]
            weights[-1] = np.where(weights[-1] == 0.0, 0.0, sign)
            weights[-1][:, :1] = sign
        return Network(shape, tuple(weights), (*thresholds, limits))


def equal_rows(X: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the first of every set of equal rows, and the set of every row.

    Sorting 64-bit fingerprints is many times faster than sorting rows, and gives an order that
    does not depend on the order of the samples; an accidental clash falls back to the rows.
    """
    words = np.ascontiguousarray(X).view(np.uint64)
    fingerprint = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1]):
        fingerprint ^= words[:, j]
        fingerprint *= np.uint64(0x9E3779B97F4A7C15)
        fingerprint ^= fingerprint >> np.uint64(29)
    _, first, group = np.unique(fingerprint, return_index=True, return_inverse=True)
    if not (X[first[group]] == X).all():
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
