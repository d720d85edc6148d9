"""The least loss of one plane in few dimensions, by going through all that planes can do again.

An output is a half-space of the inputs, the outside of one, or constant. A half-space is a vector
``(t, w)``; what it does to inputs ``x`` are the signs of its products with the vectors ``(1, x)``,
and ``sum of gain * sign`` is to be largest over all cells in which no sign changes.

Crossing a facet of a cell changes the sign of one vector, and of all on its line. The best cell is
right at all of its facets, or its neighbour would be better; so it is worth the gain of one of them
and what is best within the plane of that vector, in one dimension less. A cell whose facets are
vectors wanted on alone, or off alone, holds a constant half-space. So two facets of different kinds
meet in any other, and one such pair is tried; further down, whatever was not tried before it: a
facet of a facet lies in one other facet as well. In two dimensions cells are sectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from bdnn.checker.bounds import Masses
from bdnn.checker.claims import Deadline
from bdnn.checker.model import CheckedModel
from bdnn.checker.units import whole_inputs

# Vectors in all sweeps; some minutes.
_MOST_STEPS = 200_000_000
_MOST_DIMENSIONS = 6

Vector = tuple[int, ...]


class Vectors(NamedTuple):
    """Vectors on different lines, their gains, and which of them are still to be tried."""

    rows: list[Vector]
    gains: list[int]
    left: list[bool]


def planes_bound(
    model: CheckedModel, masses: Masses, certificate: dict[str, Any], deadline: Deadline
) -> Fraction:
    """Smallest loss of half-spaces, one per output.

    Raises ValueError if there are more units, or too many inputs or dimensions.
    """
    del certificate
    if model.hidden and (model.hidden[0] > 1 or len(model.layers[0].values) > 2):
        raise ValueError("there is more than one unit")
    points = few_columns(whole_inputs(model, masses))
    gains = masses.gains[:1] if len(model.classes) == 2 else masses.gains
    copies = len(model.classes) // len(gains)
    missed = sum(sum(map(abs, column)) - best_sum(points, column, deadline) for column in gains)
    return (masses.irreducible + copies * Fraction(missed, 2)) * masses.unit


def best_sum(points: Sequence[Vector], gains: Sequence[int], deadline: Deadline) -> int:
    """Largest sum of gains times signs of all half-spaces.

    Raises ValueError if there are too many inputs.
    """
    given = [(x, gain) for x, gain in zip(points, gains, strict=True) if gain]
    one = [x for x, gain in given if gain > 0]
    n_one, n_other, n_all = len(one), len(given) - len(one), len(given)
    is_turned = n_one > n_other
    n_dimensions = len(points[0]) if points else 0
    steps = min(n_one, n_other) * n_all * (max(n_one, n_other) if n_dimensions > 2 else 1)
    if steps * n_all ** max(0, n_dimensions - 3) > _MOST_STEPS:
        raise ValueError("there are too many inputs")
    best = abs(sum(gain for _, gain in given))
    for centre, own in given:
        if (own > 0) is is_turned:
            continue
        deadline.check()
        # Within the plane of (1, x) the other vectors are their differences from x.
        part = merged(
            [tuple(a - b for a, b in zip(x, centre, strict=True)) for x, _ in given],
            [gain for _, gain in given],
            [(gain > 0) is is_turned for _, gain in given],
        )
        best = max(best, abs(own) + best_cell(part, [True] * len(part.rows), deadline))
    return best


def best_cell(vectors: Vectors, allowed: list[bool], deadline: Deadline) -> int:
    """Largest sum of the cells with a facet that is left, 0 if there are none.

    Other facets of theirs are among those that are allowed.
    """
    rows, gains, left = vectors
    n_dimensions = len(rows[0]) if rows else 0
    if n_dimensions <= 2:
        pairs = [(*row, 0)[:2] for row in rows]
        return sweep([a for a, _ in pairs], [b for _, b in pairs], gains)
    best, allowed = 0, allowed.copy()
    for j, pivot in enumerate(rows):
        if not left[j]:
            continue
        deadline.check()
        c = next(column for column, value in enumerate(pivot) if value)
        others = [column for column in range(n_dimensions) if column != c]
        columns = [[row[o] * pivot[c] - row[c] * pivot[o] for row in rows] for o in others]
        if n_dimensions == 3:
            inner = sweep(columns[0], columns[1], gains)
        else:
            part = merged(list(zip(*columns, strict=True)), gains, allowed)
            inner = best_cell(part, part.left, deadline)
        best = max(best, abs(gains[j]) + inner)
        allowed[j] = False
    return best


def sweep(a: Sequence[int], b: Sequence[int], gains: Sequence[int]) -> int:
    """Largest sum over all sectors; vectors that are 0 have no sign.

    Vectors are turned until ``a > 0``. The signs at ``(-t, 1)`` are those of ``b / a - t`` and
    change in the order of these quotients. Python rounds quotients of integers without changing
    their order, so that only where unequal ones become equal fractions have to decide.
    """
    start = 0
    changes: dict[float, int] = {}
    first: dict[float, tuple[int, int]] = {}
    for x, y, gain in zip(a, b, gains, strict=True):
        if x == 0:
            start += gain if y > 0 else -gain if y < 0 else 0
            continue
        turned = gain if x > 0 else -gain
        start += turned
        try:
            key = y / x
        except OverflowError:
            return _sweep_in_fractions(a, b, gains)
        if key in changes:
            p, q = first[key]
            if p * y != q * x:
                return _sweep_in_fractions(a, b, gains)
            changes[key] += turned
        else:
            changes[key] = turned
            first[key] = x, y
    return _best_of(start, [changes[key] for key in sorted(changes)])


def _sweep_in_fractions(a: Sequence[int], b: Sequence[int], gains: Sequence[int]) -> int:
    start = 0
    changes: dict[Fraction, int] = {}
    for x, y, gain in zip(a, b, gains, strict=True):
        turned = gain if (x, y) > (0, 0) else -gain if (x, y) < (0, 0) else 0
        start += turned
        if x:
            key = Fraction(y, x)
            changes[key] = changes.get(key, 0) + turned
    return _best_of(start, [changes[key] for key in sorted(changes)])


def _best_of(start: int, changes: list[int]) -> int:
    """Largest size of a sum that begins somewhere and loses twice every change in turn."""
    lost = list(accumulate(changes, initial=0))
    return max(abs(start - 2 * min(lost)), abs(start - 2 * max(lost)))


def merged(rows: Sequence[Vector], gains: Sequence[int], left: Sequence[bool]) -> Vectors:
    """Put vectors on one line together; a line is left if one of its vectors is.

    Lines whose gains are balanced stay, because cells may have facets there.
    """
    found: dict[Vector, tuple[int, bool]] = {}
    for row, gain, is_left in zip(rows, gains, left, strict=True):
        shared = math.gcd(*row)
        if shared:
            if next(value for value in row if value) < 0:
                shared, gain = -shared, -gain
            line = tuple([value // shared for value in row])
            known = found.get(line, (0, False))
            found[line] = known[0] + gain, known[1] or is_left
    gained, marks = [gain for gain, _ in found.values()], [mark for _, mark in found.values()]
    return Vectors(list(found), gained, marks)


def few_columns(points: Sequence[Vector]) -> list[Vector]:
    """Leave out columns that are affine functions of others, and divide by what is shared.

    Raises ValueError if too many are left.
    """
    basis: list[tuple[int, list[int]]] = []
    for point in points:
        row = [a - b for a, b in zip(point, points[0], strict=True)]
        for column, head in basis:
            p, q = head[column], row[column]
            if q:
                row = [p * x - q * y for x, y in zip(row, head, strict=True)]
        shared = math.gcd(*row)
        if shared:
            if len(basis) == _MOST_DIMENSIONS:
                raise ValueError("there are too many dimensions")
            row = [value // shared for value in row]
            basis.append((next(j for j, value in enumerate(row) if value), row))
    kept = []
    for j, _ in basis:
        differences = [point[j] - points[0][j] for point in points]
        shared = math.gcd(*differences)
        kept.append([value // shared for value in differences])
    return list(zip(*kept, strict=True)) if kept else [() for _ in points]
