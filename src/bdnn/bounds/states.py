"""A narrow layer has few states: d units of v values have at most ``v**d``.

All that a network answers is a function of the state of its narrowest layer.

* Outputs of classes take no more patterns than there are states. An input whose own best pattern is
  not among those pays for its second best, which differs in at least one output.
* An output that is a number takes no more levels. The loss is at least that of the best partition
  of the targets, in ascending order, into so many groups with a constant each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.lattice import gains_of
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

# Larger tables take too long for a bound that is close to 0 anyway.
_MOST_LEVELS = 32
_MOST_TARGETS = 1500


@dataclass(frozen=True)
class OutputPatterns:
    """Loss that is left when the outputs take as many patterns as the narrowest layer allows."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether some pattern may have no place."""
        shape = problem.architecture
        return (
            isinstance(problem.loss, OutputLoss)
            and bool(shape.hidden)
            and _most_states(shape) < min(2**shape.n_outputs, len(problem.inputs))
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield it."""
        del slot, upper
        gains = gains_of(problem.loss)
        second = np.abs(gains.values).min(axis=1)
        _, pattern = np.unique(gains.values > 0, axis=0, return_inverse=True)
        lost = np.zeros(int(pattern.max()) + 1, dtype=np.int64)
        np.add.at(lost, pattern.reshape(-1), second)
        left = np.sort(lost)[::-1][_most_states(problem.architecture) :].sum()
        yield Bound(problem.irreducible.value + gains.step * int(left), "output patterns")


@dataclass(frozen=True)
class Levels:
    """The number of levels of a network with one output that is a number."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether there are fewer levels than targets, and not too many of either."""
        shape, loss = problem.architecture, problem.loss
        if not (isinstance(loss, DistanceLoss) and shape.hidden and shape.n_outputs == 1):
            return False
        n_states, n_targets = _most_states(shape), len(np.unique(loss.targets[:, 0]))
        return n_states <= _MOST_LEVELS and n_states < n_targets <= _MOST_TARGETS

    def bounds(
        self, problem: Problem[DistanceLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield it, within the tolerance of sums of real numbers."""
        del slot, upper
        loss = problem.loss
        values, place = np.unique(loss.targets[:, 0], return_inverse=True)
        weight = np.bincount(place.reshape(-1), loss.weight).astype(float)
        costs = loss.interval_costs(values, weight)
        # best[j]: cost of the first j values in the groups so far.
        best = np.concatenate(([0.0], costs[0]))
        for _ in range(_most_states(problem.architecture) - 1):
            best = np.concatenate(([0.0], (best[:-1, None] + costs).min(axis=0)))
        found = loss.offset + float(loss.price[0]) * float(best[-1])
        yield Bound(Fraction(found), "number of levels", Condition(tolerance=loss.tolerance))


def _most_states(shape: Architecture) -> int:
    """States of the narrowest hidden layer."""
    return min(int(len(shape.activation_of(k).values) ** n) for k, n in enumerate(shape.hidden))
