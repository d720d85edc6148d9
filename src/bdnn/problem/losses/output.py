"""The paper's loss: every output of every sample that is not what the sample's class asks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bdnn.blocks.layers import Needs
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.packed import PackedRows
from bdnn.problem.bound import Bound
from bdnn.problem.losses.base import AbstractLoss, LossBlock, OutputLayer, constant_classifier
from bdnn.problem.pattern import Pattern
from bdnn.problem.problem import Problem
from bdnn.problem.samples import IntegerArray, Samples, to_floats, whole_multiples
from bdnn.problem.terms.base import WeightLimits
from bdnn.program import IndexArray, Program


@dataclass(frozen=True, eq=False)
class OutputLoss(AbstractLoss):
    """Sum of ``|z - onehot(y)|`` over weighted samples.

    With ``counts[i, l]`` the weight of class ``l`` on line ``i``, an output that is on costs the
    weight of all other classes and an output that is off costs that of its own:

        loss = sum_i sum_l  z_il * (counts_i - counts_il) + (1 - z_il) * counts_il

    What the cheaper of the two costs whatever the network does is irreducible: samples with equal
    inputs and different classes.
    """

    counts: IntegerArray  # (n_lines, n_outputs): in multiples of ``grain``
    grain: Fraction = Fraction(1)
    pattern: Pattern | None = None

    kind: ClassVar[str] = "output"
    counts_outputs: ClassVar[bool] = True
    largest_program: ClassVar[int] = 400_000

    @classmethod
    def of(cls, samples: Samples, labels: NDArray[np.integer], n_outputs: int) -> OutputLoss:
        """Count the class indices 0, 1, ... of all rows."""
        keys = samples.line[samples.rows] * n_outputs + labels[samples.rows]
        total = samples.sum_by(keys, samples.weight, samples.n_lines * n_outputs)
        return cls(total.reshape(samples.n_lines, n_outputs), samples.grain)

    @classmethod
    def of_weights(cls, label_weight: FloatArray) -> OutputLoss:
        """Take the weight of every class on every line as floats."""
        counts, grain = whole_multiples(label_weight.ravel())
        return cls(counts.reshape(label_weight.shape), grain)

    @cached_property
    def counts_on(self) -> IntegerArray:
        """Exact loss of every output that is on."""
        return np.asarray(self.counts.sum(axis=1, keepdims=True) - self.counts)

    @cached_property
    def label_weight(self) -> FloatArray:
        """Weight of every class on every line."""
        return to_floats(self.counts, self.grain)

    @cached_property
    def cost_on(self) -> FloatArray:
        """Loss of every output that is on."""
        return to_floats(self.counts_on, self.grain)

    @property
    def cost_off(self) -> FloatArray:
        """Loss of every output that is off."""
        return self.label_weight

    @property
    def is_integral(self) -> bool:
        """Whether every loss is a whole number."""
        return self.grain == 1

    @cached_property
    def step(self) -> Fraction:
        """Losses differ from what is irreducible by multiples of this."""
        difference = np.abs(self.counts_on - self.counts).ravel()
        return math.gcd(*difference.tolist()) * self.grain if difference.size else Fraction(0)

    def value(self, network: Network, samples: Samples) -> Fraction:
        return self.of_outputs(network.outputs(samples.lines))

    def of_outputs(self, on: BoolArray) -> Fraction:
        """Loss of given 0/1 outputs, one line per input."""
        return int(np.where(on, self.counts_on, self.counts).sum()) * self.grain

    def mistakes(self, network: Network, samples: Samples) -> FloatArray:
        """Weight on every line that the network puts into a wrong class."""
        # An output that is on costs what is not of its class; so 0 mistakes give exactly 0.
        predicted = network.predict(samples.lines)
        return np.asarray(self.cost_on[np.arange(len(predicted)), predicted])

    def error(self, network: Network, samples: Samples) -> float:
        """Share of the samples' weight that the network puts into a wrong class."""
        return float(self.mistakes(network, samples).sum()) / self.total

    @cached_property
    def conflicts(self) -> Fraction:
        """Loss of the cheaper answer of every output."""
        return int(np.minimum(self.counts_on, self.counts).sum()) * self.grain

    def irreducible(self, samples: Samples) -> Bound:
        """What samples with equal inputs and different classes cost."""
        del samples
        return Bound(self.conflicts, "data conflicts" if self.conflicts else "zero")

    @property
    def leading(self) -> NDArray[np.intp]:
        """Leading class of every line."""
        return np.asarray(self.counts.argmax(axis=1))

    @cached_property
    def total(self) -> float:
        return float(self.label_weight.sum())

    def constants(
        self, architecture: Architecture, samples: Samples, limits: WeightLimits | None = None
    ) -> Iterator[Network]:
        """Make the cheapest answer first, then each class alone."""
        cost = to_floats((self.counts_on - self.counts).sum(axis=0), self.grain)
        extreme = np.full((1, 1), samples.largest)
        yield constant_classifier(architecture, extreme, cost, limits)
        for output in range(architecture.n_outputs):
            alone = np.where(np.arange(architecture.n_outputs) == output, -1.0, 1.0)
            yield constant_classifier(architecture, extreme, alone, limits)

    def merged(self, groups: IndexArray) -> OutputLoss:
        """The loss of outputs that the lines of a group have in common, one line per group."""
        shape = (int(groups.max(initial=-1)) + 1, self.counts.shape[1])
        counts = np.zeros(shape, dtype=self.counts.dtype)
        np.add.at(counts, groups, self.counts)
        return replace(self, counts=counts, pattern=None)

    def moved(self, places: IndexArray, n_lines: int) -> OutputLoss:
        """The loss of the same lines in other places; what is new costs nothing."""
        counts = np.zeros((n_lines, self.counts.shape[1]), dtype=self.counts.dtype)
        counts[places] = self.counts
        pattern = self.pattern and self.pattern.moved(places, n_lines)
        return replace(self, counts=counts, pattern=pattern)

    def subset(self, lines: IndexArray) -> OutputLoss:
        pattern = self.pattern and self.pattern.subset(lines)
        return replace(self, counts=self.counts[lines], pattern=pattern)

    def as_classes(self, architecture: Architecture) -> tuple[Architecture, OutputLoss]:
        return architecture, self

    def block(self, outputs: OutputLayer) -> OutputBlock:
        """Outputs are switches, of which a row against the answer that costs less will do."""
        costs = OutputBlock.of(self, outputs)
        needs, before = None, outputs.earlier
        if outputs.reductions.one_sided and outputs.given.outputs is None:
            needs = costs.needs
        steps = outputs.switches(needs, before and needs and before.needs)
        costs.add(outputs.program, steps.u, before)
        return costs

    def refusal(self, architecture: Architecture) -> str | None:
        return None if architecture.output == "step" else "classes need steps as outputs"


@dataclass(frozen=True)
class OutputBlock(LossBlock):
    """Objective ``sum (cost_on - cost_off) u + cost_off`` over lines and 0/1 columns."""

    # (lines, outputs): what an output costs that is on, and one that is off.
    cost_on: FloatArray
    cost_off: FloatArray
    # Whether nothing else is minimised, so that objectives differ by whole steps.
    is_all: bool = True

    @classmethod
    def of(cls, loss: OutputLoss, outputs: OutputLayer) -> OutputBlock:
        """Loss of the outputs that a program has: one of a pair counts for both."""
        given, merged = outputs.given, loss.merged(outputs.groups)
        on, off = merged.cost_on, merged.cost_off
        if given.outputs is not None:
            on, off = np.zeros((2, *given.outputs.shape))
        elif outputs.reductions.one_output:
            on, off = 2 * on[:, 1:], 2 * off[:, 1:]
        elif given.units is not None:
            on, off = on[:, given.units], off[:, given.units]
        return cls(on, off, not outputs.problem.has_price)

    @property
    def least(self) -> float:
        """Loss of the cheaper answer of every output: no outputs have less."""
        return float(np.minimum(self.cost_on, self.cost_off).sum())

    def value(self, outputs: BoolArray) -> float:
        """Loss of given outputs."""
        return float(np.where(outputs, self.cost_on, self.cost_off).sum())

    @property
    def needs(self) -> Needs:
        """Outputs that would rather be on, and those that would rather be off."""
        return self.cost_on < self.cost_off, self.cost_on > self.cost_off

    def add(self, program: Program, columns: IndexArray, before: OutputBlock | None = None) -> None:
        """Make the loss of these columns the objective, in place of an earlier one."""
        coefficients, offset = self.cost_on - self.cost_off, float(self.cost_off.sum())
        if before is not None:
            coefficients[: len(before.cost_on)] -= before.cost_on - before.cost_off
            offset = float(self.cost_off.sum() - before.cost_off.sum())
        program.minimise(columns, coefficients)
        program.offset += offset

    @property
    def step(self) -> float:
        if not self.is_all:
            return 0.0
        difference = np.abs(self.cost_on - self.cost_off)
        # Beyond 2**53 neighbouring doubles are integers anyway, so that nothing is known of them.
        if not (difference == np.rint(difference)).all() or difference.max(initial=0.0) >= 2.0**53:
            return 0.0
        return float(math.gcd(*difference.astype(np.int64).ravel().tolist()))

    def round_up(self, bound: float) -> float:
        if not (self.step and np.isfinite(bound)):
            return bound
        offset = float(self.cost_off.sum())
        steps = np.ceil((bound - offset) / self.step - 1e-6)
        return float(offset + steps * self.step)


def classification(
    architecture: Architecture,
    X: FloatArray | PackedRows,
    labels: NDArray[np.integer],
    sample_weight: FloatArray | None = None,
    *,
    merge: bool = True,
) -> Problem[OutputLoss]:
    """Minimise the paper's loss over samples with class indices 0, 1, ..."""
    samples = Samples.merge(X, sample_weight, apart=not merge)
    return Problem(architecture, samples, OutputLoss.of(samples, labels, architecture.n_outputs))
