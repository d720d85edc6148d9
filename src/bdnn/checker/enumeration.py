"""The smallest loss of a tiny architecture by trying all networks there are.

On given inputs a unit is nothing but the set of inputs that switch it on. All weights of an integer
set and all thresholds that make a difference are tried, layer by layer; hidden units are taken
without regard to their order, and every output is chosen for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

from bdnn.checker.bounds import Masses
from bdnn.checker.evaluation import Point
from bdnn.checker.model import CheckedModel

_MOST_WEIGHTS = 200_000
_MOST_NETWORKS = 3_000_000

Pattern = tuple[bool, ...]


class TooLargeError(Exception):
    """There are too many networks to try."""


def smallest_loss(model: CheckedModel, masses: Masses) -> Fraction:
    """Smallest loss of all networks of a model's architecture.

    Raises
    ------
    TooLargeError
        With the reason, if that is out of reach.
    """
    if any(layer.kind == "continuous" for layer in model.layers):
        raise TooLargeError("continuous weights cannot be enumerated")
    if any(not layer.is_step or layer.fixed is not None for layer in model.layers):
        raise TooLargeError("units of other values than 0 and 1 are not enumerated")
    inputs = tuple(masses)
    widths = [len(layer.weights) for layer in model.layers]
    kinds = [layer.kind for layer in model.layers]
    costs = [
        [(sum(mass) - mass[label], mass[label]) for mass in masses.values()]
        for label in range(widths[-1])
    ]
    return min(_search(inputs, 0, widths, kinds, model.threshold_kind, costs))


def _search(
    inputs: tuple[Point, ...],
    place: int,
    widths: list[int],
    kinds: list[str],
    thresholds: str,
    costs: list[list[tuple[Fraction, Fraction]]],
) -> Iterator[Fraction]:
    """Losses of all networks that get these inputs at a layer."""
    distinct = tuple(sorted(set(inputs)))
    where = [distinct.index(x) for x in inputs]
    for group in _dichotomies(distinct, kinds[place], thresholds):
        if place == len(widths) - 1:
            yield sum((_cheapest(group, where, cost) for cost in costs), Fraction(0))
            continue
        count = math.comb(len(group) + widths[place] - 1, widths[place])
        if count > _MOST_NETWORKS:
            raise TooLargeError(f"layer {place + 1} alone can be filled in {count} ways")
        known: set[tuple[Point, ...]] = set()
        for units in combinations_with_replacement(group, widths[place]):
            bits = tuple(tuple(int(unit[i]) for unit in units) for i in where)
            if bits not in known:
                known.add(bits)
                yield from _search(bits, place + 1, widths, kinds, thresholds, costs)


def _cheapest(
    group: list[Pattern], where: list[int], cost: list[tuple[Fraction, Fraction]]
) -> Fraction:
    """Smallest cost of one output."""
    paid = (
        sum((pay[0] if on[i] else pay[1] for i, pay in zip(where, cost, strict=True)), Fraction(0))
        for on in group
    )
    return min(paid)


@cache
def _dichotomies(inputs: tuple[Point, ...], kind: str, thresholds: str) -> list[list[Pattern]]:
    """Sets of inputs one unit can switch on; one list per threshold that units must share."""
    limit = 1 if kind in ("ternary", "binary") else int(kind[4:])
    values = [w for w in range(-limit, limit + 1) if w or kind != "binary"]
    n_vectors = len(values) ** len(inputs[0])
    if n_vectors > _MOST_WEIGHTS:
        raise TooLargeError(f"one unit alone can have {n_vectors} different weights")
    sums = [
        tuple(sum(w * x for w, x in zip(weights, point, strict=True)) for point in inputs)
        for weights in product(values, repeat=len(inputs[0]))
    ]
    if thresholds == "neuron":
        found = {tuple(total >= level for total in row) for row in set(sums) for level in {*row}}
        return [sorted(found | {(False,) * len(inputs)})]
    levels = {0} if thresholds == "zero" else {total for row in sums for total in row}
    if thresholds == "layer":
        levels.add(max(levels) + 1)
    return [
        sorted({tuple(total >= level for total in row) for row in sums}) for level in sorted(levels)
    ]
