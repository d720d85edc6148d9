"""The functions of hidden units that an output can be.

The output is a threshold function. Units may be turned round, because half-spaces and weight sets
are closed under it, so that the function can be taken as monotone; and units may be constant, so
that only functions of all units matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

from bdnn.checker.claims import as_list, positive
from bdnn.checker.model import CheckedModel

# Monotone threshold functions of up to four units have integer weights up to 3 (Muroga 1971); where
# outputs have weights -1, 0 and 1 they only count units.
_MOST_UNITS, _LARGEST_WEIGHT = 5, 3

Units = tuple[int, ...]


@dataclass(frozen=True)
class Rule:
    """A monotone function of units."""

    # Smallest sets whose units on make it 1, and whose units off make it 0.
    implicants: tuple[Units, ...]
    implicates: tuple[Units, ...]

    @classmethod
    def read(cls, stated: Any) -> Rule:
        """Read weights and a threshold."""
        weights, threshold = as_list(stated)
        if len(as_list(weights)) > _MOST_UNITS:
            raise ValueError("a function of too many units")
        return cls.of([positive(weight) for weight in weights], positive(threshold))

    @classmethod
    def of(cls, weights: Sequence[int], threshold: int) -> Rule:
        """The function that is 1 iff the weights of the units that are on reach a threshold."""
        units = range(len(weights))
        sets = [s for size in range(len(weights) + 1) for s in combinations(units, size)]
        total = sum(weights)
        reach = {s: sum(weights[j] for j in s) for s in sets}
        return cls(
            _smallest([s for s in sets if reach[s] >= threshold]),
            _smallest([s for s in sets if total - reach[s] < threshold]),
        )


def rules_of(model: CheckedModel, n_units: int) -> set[Rule]:
    """Monotone threshold functions of all units, one of every order of them.

    Raises ValueError if there are too many units to know all.
    """
    counts = model.layers[-1].kind in ("ternary", "binary", "int:1")
    if n_units > (_MOST_UNITS if counts else _MOST_UNITS - 1):
        raise ValueError("there are too many units")
    weights = range(1, 2 if counts else 1 + _LARGEST_WEIGHT)
    rules = {
        Rule.of(chosen[::-1], threshold)
        for chosen in combinations_with_replacement(weights, n_units)
        for threshold in range(1, sum(chosen) + 1)
    }
    return {rule for rule in rules if set().union(*rule.implicants) == set(range(n_units))}


def _smallest(sets: list[Units]) -> tuple[Units, ...]:
    return tuple(s for s in sets if not any(set(other) < set(s) for other in sets))
