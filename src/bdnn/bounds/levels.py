"""Few units take few values: d units of v values have at most v^d states, so as many levels.

The loss is at least that of the best partition of the targets, in ascending order, into so many
groups with a constant each: a dynamic program over sorted targets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem

# Larger tables take too long for a bound that is close to 0 anyway.
_MOST_LEVELS = 32
_MOST_TARGETS = 1500


@dataclass(frozen=True)
class Levels:
    """The number of levels of a network with one output that is a number."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether there are fewer levels than targets, and not too many of either."""
        shape, loss = problem.architecture, problem.loss
        if not (isinstance(loss, DistanceLoss) and shape.hidden and shape.n_outputs == 1):
            return False
        n_targets = len(np.unique(loss.targets[:, 0]))
        return _most_levels(shape) < n_targets <= _MOST_TARGETS

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
        for _ in range(_most_levels(problem.architecture) - 1):
            best = np.concatenate(([0.0], (best[:-1, None] + costs).min(axis=0)))
        found = loss.offset + float(loss.price[0]) * float(best[-1])
        yield Bound(Fraction(found), "number of levels", Condition(tolerance=loss.tolerance))


def _most_levels(shape: Architecture) -> int:
    """Levels of the narrowest layer; more than any bound is for where they are too many."""
    found = min(len(shape.activation_of(k).values) ** n for k, n in enumerate(shape.hidden))
    return found if found <= _MOST_LEVELS else _MOST_TARGETS
