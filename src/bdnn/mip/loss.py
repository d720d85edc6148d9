"""The paper's loss ``sum |z - onehot(y)|`` as a linear objective, and exact reductions of a model.

========== ============================================================ ==========================
name       what it does                                                 valid where
========== ============================================================ ==========================
merge      equal inputs share their variables and rows                  always
one_output one output instead of a complementary pair                   two classes and thresholds
                                                                        per neuron: the other
                                                                        output is its complement,
                                                                        and the better of the two
                                                                        outputs counts twice
one_sided  an output needs only the row against the answer that would   always, as long as nothing
           lower the loss                                               but the loss uses outputs
signed     output weights are not negative                              one output and thresholds
                                                                        per neuron: a unit with a
                                                                        negative weight is turned
                                                                        round (w, t -> -w, -t), and
                                                                        so is its set of values
========== ============================================================ ==========================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from math import gcd

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class Reductions:
    """Which exact reductions may be used; those that are not valid are left out by themselves."""

    merge: bool = True
    one_output: bool = True
    one_sided: bool = True
    signed: bool = True

    @classmethod
    def none(cls) -> Reductions:
        """The model as the paper states it."""
        return cls(merge=False, one_output=False, one_sided=False, signed=False)

    def without(self, names: Iterable[str]) -> Reductions:
        """Switch some off."""
        return replace(self, **dict.fromkeys(names, False))

    def valid_for(self, architecture: Architecture, *, counts_outputs: bool = True) -> Reductions:
        """Switch off what does not keep the optimum for this architecture.

        ``counts_outputs`` tells whether the loss is about outputs that are on or off.
        """
        is_free, n_outputs = architecture.thresholds == "neuron", architecture.n_outputs
        is_class = counts_outputs and architecture.output == "step"
        one_output = self.one_output and is_class and is_free and n_outputs == 2
        is_number = architecture.output == "identity" and is_free and n_outputs == 1
        signed = self.signed and (one_output or is_number) and bool(architecture.hidden)
        signed = signed and architecture.activation_of(len(architecture.hidden) - 1).is_reversible
        return replace(self, one_output=one_output, signed=signed)


@dataclass(frozen=True)
class OutputObjective:
    """Objective ``sum (cost_on - cost_off) u + cost_off`` over samples and outputs."""

    # (samples, outputs): what an output costs that is on, and one that is off.
    cost_on: FloatArray
    cost_off: FloatArray
    # Whether nothing else is minimised, so that objectives differ by whole steps.
    is_all: bool = True

    @classmethod
    def of(
        cls, problem: Problem[OutputLoss], groups: IndexArray, reductions: Reductions
    ) -> OutputObjective:
        """Loss of the outputs that a program has: one of a pair counts for both."""
        merged = problem.loss.merged(groups)
        costs, is_all = (merged.cost_on, merged.cost_off), not problem.has_price
        if reductions.one_output:
            costs = (2 * costs[0][:, 1:], 2 * costs[1][:, 1:])
        return cls(*costs, is_all)

    @property
    def least(self) -> float:
        """Loss of the cheaper answer of every output: no outputs have less."""
        return float(np.minimum(self.cost_on, self.cost_off).sum())

    def value(self, outputs: BoolArray) -> float:
        """Loss of given outputs."""
        return float(np.where(outputs, self.cost_on, self.cost_off).sum())

    @property
    def needs(self) -> tuple[BoolArray, BoolArray]:
        """Outputs that would rather be on, and those that would rather be off."""
        return self.cost_on < self.cost_off, self.cost_on > self.cost_off

    def add(
        self, program: Program, outputs: IndexArray, before: OutputObjective | None = None
    ) -> None:
        """Make the loss of these output variables the objective, in place of an earlier one."""
        coefficients, offset = self.cost_on - self.cost_off, float(self.cost_off.sum())
        if before is not None:
            coefficients[: len(before.cost_on)] -= before.cost_on - before.cost_off
            offset = float(self.cost_off.sum() - before.cost_off.sum())
        program.minimise(outputs, coefficients)
        program.offset += offset

    def lift(self, x: FloatArray, W: FloatArray, t: FloatArray) -> bool:
        """Outputs are steps like all others, and nothing is left to be filled in."""
        del x, W, t
        return True

    @property
    def step(self) -> float:
        """Smallest amount by which two objectives can differ, 0 if that is not known."""
        if not self.is_all:
            return 0.0
        difference = np.abs(self.cost_on - self.cost_off)
        # Beyond 2**53 neighbouring doubles are integers anyway, so that nothing is known of them.
        if not (difference == np.rint(difference)).all() or difference.max(initial=0.0) >= 2.0**53:
            return 0.0
        return float(reduce(gcd, difference[difference > 0].astype(np.int64).tolist(), 0))

    def round_up(self, bound: float) -> float:
        """Raise a lower bound to the next value the loss can take."""
        if not (self.step and np.isfinite(bound)):
            return bound
        offset = float(self.cost_off.sum())
        steps = np.ceil((bound - offset) / self.step - 1e-6)
        return float(offset + steps * self.step)


def unmerged(problem: Problem[OutputLoss]) -> Problem[OutputLoss]:
    """One line per sample again; what has a fractional weight stays one line per class."""
    loss = problem.loss
    lines, labels = np.nonzero(loss.counts)
    weight = loss.counts[lines, labels]
    copies = weight.astype(np.int64) if loss.is_integral else np.ones(len(lines), np.int64)
    counts = np.zeros((len(lines), loss.counts.shape[1]), dtype=loss.counts.dtype)
    counts[np.arange(len(lines)), labels] = weight // copies
    rows = np.repeat(np.arange(len(lines)), copies)
    samples = Samples.merge(problem.inputs[lines[rows]], apart=True)
    return Problem(problem.architecture, samples, OutputLoss(counts[rows], loss.grain))
