"""Lower bounds on the loss that can be recomputed from the data alone, in exact arithmetic.

- *data conflicts*: equal inputs of different classes; the cheaper answer still costs something;
- *output patterns*: a hidden layer of ``d`` units has at most ``2**d`` states, so the outputs show
  at most that many patterns; every input that misses its best pattern pays for its second best;
- *lines*: ``d`` half-spaces cut a line into at most ``d + 1`` pieces. Inputs that differ in one
  feature lie on a line, and lines of one direction share no input.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from bdnn.checker.evaluation import Point

Masses = dict[Point, list[Fraction]]


def merged(inputs: Sequence[Point], classes: Sequence[int], weights: Sequence[Fraction]) -> Masses:
    """Weight of every class on every distinct input."""
    masses: Masses = {}
    for x, label in zip(inputs, classes, strict=True):
        mass = masses.setdefault(x, [Fraction(0)] * len(weights))
        mass[label] += weights[label]
    return masses


def loss(masses: Masses, outputs: dict[Point, tuple[int, ...]]) -> Fraction:
    """Output loss: an output that is on costs all other classes, one that is off its own."""
    total = Fraction(0)
    for x, mass in masses.items():
        whole = sum(mass)
        total += sum(whole - m if on else m for m, on in zip(mass, outputs[x], strict=True))
    return total


def own_bounds(masses: Masses, hidden: list[int]) -> dict[str, Fraction]:
    """All bounds by the name of their argument, 0 included."""
    conflict = sum((min(sum(m) - v, v) for m in masses.values() for v in m), Fraction(0))
    bounds = {"zero": Fraction(0), "data conflicts": conflict}
    if hidden and min(hidden) < 30:
        bounds["output patterns"] = conflict + _patterns(masses, 2 ** min(hidden))
    bounds["lines"] = conflict + _lines(masses, hidden[0] if hidden else 1)
    return bounds


def _patterns(masses: Masses, most: int) -> Fraction:
    served: dict[tuple[bool, ...], Fraction] = defaultdict(Fraction)
    for mass in masses.values():
        whole = sum(mass)
        wanted = tuple(whole - m < m for m in mass)
        served[wanted] += min(abs(whole - 2 * m) for m in mass)
    return sum(sorted(served.values(), reverse=True)[most:], Fraction(0))


def _lines(masses: Masses, n_cuts: int) -> Fraction:
    best = Fraction(0)
    n_features = len(next(iter(masses), ()))
    for j in range(n_features):
        lines: dict[Point, list[tuple[int, list[Fraction]]]] = defaultdict(list)
        for x, mass in masses.items():
            lines[x[:j] + x[j + 1 :]].append((x[j], mass))
        total = Fraction(0)
        for line in lines.values():
            if len(line) > n_cuts + 1:
                line.sort(key=lambda place: place[0])
                for label in range(len(line[0][1])):
                    gains = [2 * mass[label] - sum(mass) for _, mass in line]
                    total += _cut_cost(gains, n_cuts)
        best = max(best, total)
    return best


def _cut_cost(gains: list[Fraction], n_cuts: int) -> Fraction:
    """Least cost of a 0/1 sequence with few changes, being on at place i gaining ``gains[i]``."""
    signs = [gain > 0 for gain in gains if gain]
    changes = sum(a != b for a, b in pairwise(signs))
    if changes <= n_cuts:
        return Fraction(0)
    zero, never = Fraction(0), sum((abs(gain) for gain in gains), Fraction(1))
    cost = [[zero, zero] for _ in range(n_cuts + 1)]  # by number of changes, then by value
    for gain in gains:
        price = (max(zero, gain), max(zero, -gain))
        cost = [
            [
                min(cost[c][value], cost[c - 1][1 - value] if c else never) + price[value]
                for value in (0, 1)
            ]
            for c in range(n_cuts + 1)
        ]
    return min(min(pair) for pair in cost)
