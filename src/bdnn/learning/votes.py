"""Votes of conditions as a network: trees, forests and boosted trees with equal answers.

A literal is a bit or its negation. A leaf is a unit that wants all literals on the way to it, with
weights 1 and -1 and the threshold that only all of them together reach; what it says of the classes
are its weights to the outputs, rounded to integers. A leaf of one literal needs no unit.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bdnn.learning.stack import Array, Stack

#: Bits in ascending order, as 2 * bit + 1 where it has to be on and 2 * bit where off.
Literals = tuple[int, ...]

_MOST_VOTES = 127  # fits into a byte


class Votes:
    """What conditions add to the scores of the classes."""

    def __init__(self, n_bits: int, n_classes: int) -> None:
        self.n_bits = n_bits
        self.base = np.zeros(n_classes)
        self.of: dict[Literals, NDArray[np.float64]] = {}

    def add(self, literals: Literals, votes: NDArray[np.float64]) -> None:
        """Let rows of which all literals are true vote."""
        if not literals:
            self.base = self.base + votes
        elif len(literals) == 1 and literals[0] % 2 == 0:
            # Where a bit is off: everywhere, less where it is on.
            self.base = self.base + votes
            self.add((literals[0] + 1,), -votes)
        else:
            self.of[literals] = self.of.get(literals, np.zeros(len(votes))) + votes

    def stack(self, slope: float = 1.0) -> Stack:
        """The network of the rounded votes; scores times ``slope`` are logits before rounding."""
        return as_stack(self.of, self.base, self.n_bits, slope)


def as_stack(
    votes: Mapping[Literals, NDArray[np.float64]],
    base: NDArray[np.float64],
    n_bits: int,
    slope: float = 1.0,
) -> Stack:
    """A network of conditions and their votes."""
    conditions = list(votes)
    values = np.array([votes[c] for c in conditions]).reshape(len(conditions), len(base))
    if len(base) == 2:  # only the difference matters, and one output has nothing to add
        values = np.stack((np.zeros(len(values)), values[:, 1] - values[:, 0]), axis=1)
        base = np.array([0.0, base[1] - base[0]])
    rounded, thresholds, factor = rounded_votes(values.T, base)
    if all(len(c) == 1 for c in conditions):
        weights = np.zeros((len(base), n_bits), np.float32)
        weights[:, [c[0] // 2 for c in conditions]] = rounded
        return Stack("bits", (weights,), (thresholds,), slope / factor)
    first = np.zeros((len(conditions), n_bits), np.float32)
    for unit, condition in enumerate(conditions):
        places = np.array(condition)
        first[unit, places // 2] = 2 * (places % 2) - 1
    wanted = (first > 0).sum(axis=1).astype(np.float32)
    return Stack("bits", (first, rounded), (wanted, thresholds), slope / factor)


def rounded_votes(
    values: NDArray[np.float64], base: NDArray[np.float64]
) -> tuple[Array, Array, float]:
    """Round real votes of shape (outputs, inputs) to a byte each; thresholds, and the factor."""
    largest = float(np.abs(values).max(initial=0.0))
    factor = _MOST_VOTES / largest if largest > 0 else 1.0
    return np.rint(values * factor).astype(np.float32), (-base * factor).astype(np.float32), factor
