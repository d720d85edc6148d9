"""The paper's loss ``sum |z - onehot(y)|`` as a linear objective."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.problem import TrainingProblem
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class OutputLoss:
    """Objective ``sum (cost_on - cost_off) u + cost_off`` over samples and outputs.

    Parameters
    ----------
    cost_on, cost_off : arrays of shape (samples, outputs)
        What an output costs that is on, and one that is off.
    is_all : bool
        Whether nothing else is minimised, so that objectives differ by whole steps.
    """

    cost_on: FloatArray
    cost_off: FloatArray
    is_all: bool = True

    @classmethod
    def of_groups(cls, problem: TrainingProblem, groups: IndexArray) -> OutputLoss:
        """Loss of outputs that the inputs of a group have in common, one line per group."""
        shape = (int(groups.max(initial=-1)) + 1, problem.mass.shape[1])
        cost_on, cost_off = np.zeros(shape), np.zeros(shape)
        np.add.at(cost_on, groups, problem.cost_on)
        np.add.at(cost_off, groups, problem.cost_off)
        return cls(cost_on, cost_off)

    @property
    def least(self) -> float:
        """Loss of the cheaper answer of every output: no outputs have less."""
        return float(np.minimum(self.cost_on, self.cost_off).sum())

    def of(self, outputs: BoolArray) -> float:
        """Loss of given outputs."""
        return float(np.where(outputs, self.cost_on, self.cost_off).sum())

    def add(self, program: Program, outputs: IndexArray) -> None:
        """Make the loss of these output variables the objective."""
        program.minimise(outputs, self.cost_on - self.cost_off)
        program.offset += float(self.cost_off.sum())

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
