"""The smallest loss of a tiny architecture by trying all networks there are.

On given inputs a unit is nothing but the set of inputs that switch it on. All weights of an integer
set and all thresholds that make a difference are tried, layer by layer; hidden units are taken
without regard to their order, and every output is chosen for itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

from bdnn.checker.bounds import Masses
from bdnn.checker.claims import Deadline
from bdnn.checker.layers import set_complaint
from bdnn.checker.model import CheckedModel

_MOST_WEIGHTS = 200_000
_MOST_SUMS = 5_000_000
_MOST_NETWORKS = 3_000_000

Inputs = tuple[int, ...]
Pattern = tuple[bool, ...]


class TooLargeError(Exception):
    """There are too many networks to try."""


def smallest_loss(model: CheckedModel, masses: Masses, deadline: Deadline) -> Fraction:
    """Smallest loss of all networks of a model's architecture.

    Raises TooLargeError with the reason, if that is out of reach.
    """
    if any(layer.kind == "continuous" for layer in model.layers):
        raise TooLargeError("continuous weights cannot be enumerated")
    if any(not layer.is_step or layer.fixed is not None for layer in model.layers):
        raise TooLargeError("units of other values than 0 and 1 are not enumerated")
    if any(set_complaint(layer, model.threshold_kind) for layer in model.layers):
        raise TooLargeError("the network is none of its architecture")
    layout = struct.Struct(f"<{model.encoder.n_inputs}d")
    points = [[Fraction(value) for value in layout.unpack(x)] for x in masses.points]
    below = max((value.denominator for x in points for value in x), default=1)
    inputs = tuple(tuple(int(value * below) for value in x) for x in points)
    widths = [len(layer.weights) for layer in model.layers]
    costs = [
        [(sum(mass) - mass[label], mass[label]) for mass in masses.of]
        for label in range(widths[-1])
    ]
    kinds = [layer.kind for layer in model.layers]
    search = _Search(widths, kinds, model.threshold_kind, costs, deadline)
    return min(search.losses(inputs, 0)) * masses.unit


class _Search:
    """Losses of all networks of an architecture."""

    def __init__(
        self,
        widths: list[int],
        kinds: list[str],
        thresholds: str,
        costs: list[list[tuple[int, int]]],
        deadline: Deadline,
    ) -> None:
        self._widths, self._kinds, self._thresholds = widths, kinds, thresholds
        self._costs, self._deadline = costs, deadline
        self._known: dict[tuple[tuple[Inputs, ...], str], list[list[Pattern]]] = {}

    def losses(self, inputs: tuple[Inputs, ...], place: int) -> Iterator[int]:
        """Losses of all networks that get these inputs at a layer."""
        self._deadline.check()
        distinct = tuple(sorted(set(inputs)))
        number = {x: i for i, x in enumerate(distinct)}
        where = [number[x] for x in inputs]
        for group in self._dichotomies(distinct, self._kinds[place]):
            if place == len(self._widths) - 1:
                yield sum(self._cheapest(group, where, cost) for cost in self._costs)
                continue
            width = self._widths[place]
            count = math.comb(len(group) + width - 1, width)
            if count > _MOST_NETWORKS:
                raise TooLargeError(f"layer {place + 1} alone can be filled in {count:.3g} ways")
            known: set[tuple[Inputs, ...]] = set()
            for units in combinations_with_replacement(group, width):
                bits = tuple(tuple(int(unit[i]) for unit in units) for i in where)
                if bits not in known:
                    known.add(bits)
                    if len(known) * len(where) * width > _MOST_SUMS:
                        raise TooLargeError(f"layer {place + 1} has too many states")
                    yield from self.losses(bits, place + 1)

    def _cheapest(self, group: list[Pattern], where: list[int], cost: list[tuple[int, int]]) -> int:
        """Smallest cost of one output."""
        return min(
            sum(pay[0] if on[i] else pay[1] for i, pay in zip(where, cost, strict=True))
            for on in group
        )

    def _dichotomies(self, inputs: tuple[Inputs, ...], kind: str) -> list[list[Pattern]]:
        """Sets of inputs one unit can switch on; one list per threshold that units must share."""
        found = self._known.get((inputs, kind))
        if found is None:
            found = _dichotomies(inputs, kind, self._thresholds, self._deadline)
            self._known[inputs, kind] = found
        return found


def _dichotomies(
    inputs: tuple[Inputs, ...], kind: str, thresholds: str, deadline: Deadline
) -> list[list[Pattern]]:
    limit = 1 if kind in ("ternary", "binary") else int(kind[4:])
    n_inputs, n_values = len(inputs[0]), 2 * limit + (kind != "binary")
    n_vectors = n_values**n_inputs if n_inputs * math.log2(n_values) < 64 else 2**64
    if n_vectors > _MOST_WEIGHTS:
        raise TooLargeError(f"one unit alone can have {n_vectors:.3g} different weights")
    if n_vectors * len(inputs) * n_inputs > _MOST_SUMS:
        raise TooLargeError(f"{len(inputs)} inputs have too many sums with {n_vectors} weights")
    values = [w for w in range(-limit, limit + 1) if w or kind != "binary"]
    sums = set()
    for weights in product(values, repeat=n_inputs):
        deadline.check()
        sums.add(tuple(sum(w * x for w, x in zip(weights, point, strict=True)) for point in inputs))
    if thresholds == "neuron":
        found = {tuple(total >= level for total in row) for row in sums for level in {*row}}
        return [sorted(found | {(False,) * len(inputs)})]
    levels = {0} if thresholds == "zero" else {total for row in sums for total in row}
    if thresholds == "layer":
        levels.add(max(levels) + 1)
    return [
        sorted({tuple(total >= level for total in row) for row in sums}) for level in sorted(levels)
    ]
