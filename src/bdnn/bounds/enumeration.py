"""The least loss of a single unit with integer weights, by going through all of its weights.

A unit splits the inputs into those where it is on and the rest, in the order of its sums. For few
features and a small weight set all weight vectors can be listed; those that are each other's
negative give the same splits. Sums are formed as the network forms them, so that ties are its ties.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.lattice import Integers, gains_of
from bdnn.clock import Slot
from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

# Sums that are formed at most, and numbers that are held at a time.
_LARGEST_TABLE = 30_000_000
_CHUNK = 2_000_000
_IMPOSSIBLE = 2**62


def n_weight_vectors(kind: WeightSet, n_features: int) -> int:
    """Number of weight vectors of a unit, one of every pair of negatives."""
    return int(len(kind.values) ** n_features + 1) // 2


def weight_vectors(kind: WeightSet, n_features: int, size: int) -> Iterator[FloatArray]:
    """List one weight vector of every pair of negatives, so many at a time."""
    # Values descend, so the first half of the list has one of every pair.
    vectors = product(kind.values[::-1], repeat=n_features)
    half = islice(vectors, n_weight_vectors(kind, n_features))
    while len(W := np.array(list(islice(half, size)))):
        yield W


def is_one_plane(shape: Architecture) -> bool:
    """Tell whether every output is on in a half-space, or outside one, or constant."""
    return not shape.hidden or (shape.hidden[0] == 1 and shape.activation_of(0).n_thresholds == 1)


@dataclass(frozen=True)
class Enumeration:
    """All weights of one unit: outputs without a hidden layer, or the only unit of the first."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether there is one unit, with few weight vectors."""
        shape, kind = problem.architecture, problem.architecture.weights[0]
        return (
            isinstance(problem.loss, OutputLoss)
            and is_one_plane(shape)
            and kind.integer
            and 0 < len(kind.values) ** shape.n_features * len(problem.inputs) <= _LARGEST_TABLE
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield the bound once the list is complete."""
        del upper
        shape, gains = problem.architecture, gains_of(problem.loss)
        size = max(1, _CHUNK // max(1, gains.values.size))
        shared = bool(shape.hidden)
        best = np.full(1 if shared else shape.n_outputs, -_IMPOSSIBLE)
        for W in weight_vectors(shape.weights[0], shape.n_features, size):
            if slot.is_over():
                return
            found = _split_gains(weighted_sums(problem.inputs, W), gains.values, either=shared)
            if shared:
                found = found.sum(axis=-1, keepdims=True)
            best = np.maximum(best, found.max(axis=(0, 1)))
        mistakes = int(np.maximum(gains.values, 0).sum()) - int(best.sum())
        value = problem.irreducible.value + gains.step * mistakes
        yield Bound(value, "all weights of one unit", certificate={"kind": "weights"})


def _split_gains(sums: FloatArray, gains: Integers, *, either: bool) -> Integers:
    """Largest gain of every output, per number of inputs below the split and weight vector.

    With ``either`` an output may be on or off on both sides of the split; otherwise it is on on one
    side, whichever is better.
    """
    order = np.argsort(sums, axis=0)
    ranked = np.take_along_axis(sums, order, axis=0)
    below = np.zeros((len(sums) + 1, sums.shape[1], gains.shape[1]), dtype=np.int64)
    np.cumsum(gains[order], axis=0, out=below[1:])
    above = below[-1] - below
    found = np.maximum(below, above)
    if either:
        found = np.maximum(below, 0) + np.maximum(above, 0)
    # Inputs of equal sums are on the same side.
    found[1:-1][ranked[1:] == ranked[:-1]] = -_IMPOSSIBLE // gains.shape[1]
    return np.asarray(found)
