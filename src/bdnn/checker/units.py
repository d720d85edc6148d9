"""The least loss of one unit with integer weights, by going through all of its weights again.

A unit splits the inputs by their sums: all from some sum on are on one side. Weights that are each
other's negative give the same splits. Without a hidden layer every output is a unit of its own and
takes one side; with one unit in the first layer every output takes what is best on both sides.

The functions of hidden units that an output can be.

The output is a threshold function. Units may be turned round, because half-spaces and weight sets
are closed under it, so that the function can be taken as monotone; and units may be constant, so
that only functions of all units matter.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations, combinations_with_replacement
from typing import Any

from bdnn.checker.bounds import Masses
from bdnn.checker.claims import Deadline, as_list, positive
from bdnn.checker.model import CheckedModel

# Sums of all weights with all inputs; some minutes.
_MOST_SUMS = 30_000_000


def weights_bound(
    model: CheckedModel, masses: Masses, certificate: dict[str, Any], deadline: Deadline
) -> Fraction:
    """Smallest loss of one unit.

    Raises ValueError if there are more units, or too many weights.
    """
    del certificate
    if model.hidden and (model.hidden[0] > 1 or len(model.layers[0].values) > 2):
        raise ValueError("there is more than one unit")
    values = weight_values(model.layers[0].kind)
    inputs = whole_inputs(model, masses)
    if len(values) ** min(model.encoder.n_inputs, 64) * len(inputs) > _MOST_SUMS:
        raise ValueError("there are too many weights")
    gains = masses.gains[:1] if len(model.classes) == 2 else masses.gains
    best = [0] * (1 if model.hidden else len(gains))
    for sums in all_sums(inputs, values):
        deadline.check()
        order = sorted(range(len(sums)), key=sums.__getitem__)
        cuts = [q for q in range(1, len(order)) if sums[order[q - 1]] < sums[order[q]]]
        below = [[0, *accumulate(map(column.__getitem__, order))] for column in gains]
        if model.hidden:
            served = [
                sum(max(line[q], 0) + max(line[-1] - line[q], 0) for line in below)
                for q in (0, *cuts)
            ]
            best[0] = max(best[0], *served)
            continue
        for output, line in enumerate(below):
            here = [line[q] for q in (0, *cuts)]
            best[output] = max(best[output], line[-1], max(here), line[-1] - min(here))
    wanted = sum(gain for column in gains for gain in column if gain > 0)
    copies = len(model.classes) // len(gains)
    return (masses.irreducible + copies * (wanted - sum(best))) * masses.unit


def weight_values(kind: str) -> range | tuple[int, int]:
    """Read the weights of an integer set.

    Raises ValueError if it is none.
    """
    if kind == "binary":
        return (-1, 1)
    limit = 1 if kind == "ternary" else int(kind.removeprefix("int:"))
    return range(-limit, limit + 1)


def whole_inputs(model: CheckedModel, masses: Masses) -> list[tuple[int, ...]]:
    """Inputs times a power of two that makes them whole."""
    layout = struct.Struct(f"<{model.encoder.n_inputs}d")
    points = [[Fraction(value) for value in layout.unpack(x)] for x in masses.points]
    below = max((value.denominator for x in points for value in x), default=1)
    return [tuple(int(value * below) for value in x) for x in points]


def all_sums(inputs: Sequence[Sequence[int]], values: Sequence[int]) -> Iterator[list[int]]:
    """Sums of all inputs for one weight vector of every pair of negatives."""
    columns = list(zip(*inputs, strict=True))

    def extend(j: int, sums: list[int], is_zero: bool) -> Iterator[list[int]]:
        if j == len(columns):
            yield sums
            return
        for w in values:
            if w >= 0 or not is_zero:
                more = [s + w * x for s, x in zip(sums, columns[j], strict=True)] if w else sums
                yield from extend(j + 1, more, is_zero and w == 0)

    return extend(0, [0] * len(inputs), True)


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
