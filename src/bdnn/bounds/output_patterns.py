"""A narrow layer has few states, so that the outputs take few patterns.

A layer of ``d`` units of ``v`` values has at most ``v**d`` states, and the outputs are a function
of them. An input whose own best pattern is not among those pays for its second best, which differs
in at least one output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.gains import gains_of
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem


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


def _most_states(shape: Architecture) -> int:
    return min(int(len(shape.activation_of(k).values) ** n) for k, n in enumerate(shape.hidden))
