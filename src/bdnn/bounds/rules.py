"""The functions of hidden units that an output of two classes can be.

The output is a threshold function of d units. Units may be turned round, so the function can be
taken as monotone, and units may be constant, so only functions of all d units matter: one for
d = 1, AND and OR for d = 2, five for d = 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement

import numpy as np

from bdnn.bounds.separation import HalfSpace
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network

Units = tuple[int, ...]

# Every monotone threshold function of up to four units has integer weights up to 3 (Muroga 1971).
LARGEST_WEIGHT = 3


@dataclass(frozen=True)
class Rule:
    """A monotone threshold function: 1 iff the weights of the units that are on reach it."""

    weights: tuple[int, ...]
    threshold: int
    # Smallest sets whose units on make the function 1, and whose units off make it 0.
    implicants: tuple[Units, ...]
    implicates: tuple[Units, ...]

    @classmethod
    def create(cls, weights: tuple[int, ...], threshold: int) -> Rule:
        """Find the prime implicants and implicates of a weighted sum."""
        total = sum(weights)
        subsets = [s for k in range(len(weights) + 1) for s in combinations(range(len(weights)), k)]
        reach = {s: sum(weights[j] for j in s) for s in subsets}
        return cls(
            weights,
            threshold,
            _smallest([s for s in subsets if reach[s] >= threshold]),
            _smallest([s for s in subsets if total - reach[s] < threshold]),
        )

    def network(self, shape: Architecture, spaces: Sequence[HalfSpace]) -> Network:
        """Make the network whose units are given half-spaces and whose output 1 is this rule.

        Output 0 is the opposite. Weights are continuous, thresholds per unit.
        """
        free = WeightSet.parse("continuous")
        shape = replace(shape, weights=(free,) * shape.n_layers, thresholds="neuron")
        weights = np.array([w for w, _ in spaces])
        thresholds = np.array([t for _, t in spaces])
        sign = np.array([[-1.0], [1.0]])
        if not shape.hidden:
            return Network(shape, (sign * weights,), (sign[:, 0] * thresholds,))
        top = sign * np.array(self.weights, dtype=float) / max(self.weights)
        level = sign[:, 0] * (self.threshold - 0.5) / max(self.weights)
        return Network(shape, (weights, top), (thresholds, level))


def threshold_rules(n_units: int, limit: int = LARGEST_WEIGHT) -> list[Rule]:
    """All monotone threshold functions of all units, one for each order of them.

    There are at most four units, unless weights have a small limit; from ``LARGEST_WEIGHT`` on
    there are no more functions.
    """
    rules: dict[tuple[Units, ...], Rule] = {}
    largest = min(limit, LARGEST_WEIGHT)
    for ascending in combinations_with_replacement(range(1, largest + 1), n_units):
        for threshold in range(1, sum(ascending) + 1):
            rule = Rule.create(ascending[::-1], threshold)
            if {unit for s in rule.implicants for unit in s} == set(range(n_units)):
                rules.setdefault(rule.implicants, rule)
    return list(rules.values())


def output_rules(shape: Architecture) -> list[Rule]:
    """All rules that the outputs of a network of at most one hidden layer can follow."""
    if not shape.hidden:
        return threshold_rules(1)
    kind = shape.weights[-1]
    return threshold_rules(shape.hidden[0], kind.limit if kind.integer else LARGEST_WEIGHT)


def _smallest(sets: list[Units]) -> tuple[Units, ...]:
    return tuple(s for s in sets if not any(set(other) < set(s) for other in sets))
