"""Lower bounds on the loss that can be recomputed from the data alone, in exact arithmetic.

- *data conflicts*: equal inputs of different classes; the cheaper answer still costs something;
- *output patterns*: a hidden layer of ``d`` units of ``v`` values has at most ``v**d`` states, so
  the outputs show at most that many patterns; every input that misses its best pattern pays for its
  second best;
- *lines*: ``d`` half-spaces cut a line into at most ``d + 1`` pieces. Inputs that differ in one
  feature lie on a line, and lines of one direction share no input.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from bdnn.checker.claims import Deadline, OutOfTimeError
from bdnn.checker.evaluation import Evaluation, Point
from bdnn.checker.layers import Layer

# Beyond this many numbers, finding lines takes more time and memory than they are worth.
_MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class Masses:
    """Weight of every class on every distinct input."""

    points: list[Point]
    # One weight per class for every point, as whole multiples of the unit.
    of: list[tuple[int, ...]]
    unit: Fraction

    @classmethod
    def of_rows(
        cls, found: Evaluation, classes: Sequence[int], n_classes: int, weights: Sequence[Fraction]
    ) -> Masses:
        """Add up the weights of rows with equal inputs."""
        unit = Fraction(1, math.lcm(*{weight.denominator for weight in set(weights)}))
        counts = {weight: int(weight / unit) for weight in set(weights)}
        masses = [(0,) * n_classes] * len(found.points)
        known: dict[tuple[int, ...], tuple[int, ...]] = {}  # most are equal to others
        for number, c, weight in zip(found.numbers, classes, weights, strict=True):
            old = masses[number]
            new = (*old[:c], old[c] + counts[weight], *old[c + 1 :])
            masses[number] = known.setdefault(new, new)
        return cls(found.points, masses, unit)

    @cached_property
    def gains(self) -> list[list[int]]:
        """What it is worth that an output is on: one list per class, one number per point."""
        return [
            [2 * m - sum(mass) for m, mass in zip(own, self.of, strict=True)]
            for own in zip(*self.of, strict=True)
        ]

    @cached_property
    def step(self) -> int:
        """All losses differ by multiples of this."""
        return math.gcd(*(gain for column in self.gains for gain in column)) or 1

    @cached_property
    def irreducible(self) -> int:
        """What samples of equal inputs and different classes cost, whatever the network."""
        return sum(min(sum(mass) - m, m) for mass in self.of for m in mass)

    def loss(self, outputs: Sequence[tuple[int, ...]]) -> Fraction:
        """Output loss: an output that is on costs all other classes, one that is off its own."""
        total = 0
        for mass, values in zip(self.of, outputs, strict=True):
            whole = sum(mass)
            total += sum(whole - m if on else m for m, on in zip(mass, values, strict=True))
        return total * self.unit


def own_bounds(masses: Masses, layers: Sequence[Layer], deadline: Deadline) -> dict[str, Fraction]:
    """All bounds by the name of their argument, 0 included; those that there is time for."""
    conflict = masses.irreducible
    bounds = {"zero": 0, "data conflicts": conflict}
    hidden = layers[:-1]
    states = min((len(layer.values) ** min(len(layer.weights), 64) for layer in hidden), default=0)
    if hidden:
        bounds["output patterns"] = conflict + _patterns(masses, states)
    n_cuts = sum(map(len, hidden[0].limits)) if hidden else 1
    with suppress(OutOfTimeError):
        bounds["lines"] = conflict + _lines(masses, n_cuts, deadline)
    return {name: value * masses.unit for name, value in bounds.items()}


def _patterns(masses: Masses, most: int) -> int:
    served: dict[tuple[bool, ...], int] = defaultdict(int)
    for mass in masses.of:
        whole = sum(mass)
        wanted = tuple(whole - m < m for m in mass)
        served[wanted] += min(abs(whole - 2 * m) for m in mass)
    return sum(sorted(served.values(), reverse=True)[most:])


def _lines(masses: Masses, n_cuts: int, deadline: Deadline) -> int:
    best, points = 0, masses.points
    if not points or len(points) * len(points[0]) // 8 > _MOST_CELLS:
        return 0
    for place in range(0, len(points[0]), 8):
        lines: dict[Point, list[int]] = defaultdict(list)
        for i, x in enumerate(points):
            lines[x[:place] + x[place + 8 :]].append(i)
        total = 0
        for line in lines.values():
            if len(line) > n_cuts + 1:
                line.sort(key=lambda i: struct.unpack_from("<d", points[i], place)[0])
                for label in range(len(masses.of[0])):
                    gains = [2 * masses.of[i][label] - sum(masses.of[i]) for i in line]
                    total += _cut_cost(gains, n_cuts, deadline)
        best = max(best, total)
        deadline.check()
    return best


def _cut_cost(gains: list[int], n_cuts: int, deadline: Deadline) -> int:
    """Least cost of a 0/1 sequence with few changes, being on at place i gaining ``gains[i]``."""
    signs = [gain > 0 for gain in gains if gain]
    changes = sum(a != b for a, b in pairwise(signs))
    if changes <= n_cuts:
        return 0
    never = sum(map(abs, gains)) + 1
    cost = [[0, 0] for _ in range(n_cuts + 1)]  # by number of changes, then by value
    for gain in gains:
        deadline.check()
        price = (max(0, gain), max(0, -gain))
        cost = [
            [
                min(cost[c][value], cost[c - 1][1 - value] if c else never) + price[value]
                for value in (0, 1)
            ]
            for c in range(n_cuts + 1)
        ]
    return min(min(pair) for pair in cost)
