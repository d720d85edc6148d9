"""The best cell of an arrangement of planes through the origin, in integers.

Vectors ``v_k`` with gains ``g_k`` are given, and ``sum_k g_k sign(w.v_k)`` is to be as large as it
can be over all ``w`` that are orthogonal to none of them: over all cells that the planes
``w.v_k = 0`` cut the space of ``w`` into.

* Vectors on one line have one sign, or opposite ones: they are one vector with one gain.
* Crossing a facet of a cell changes one sign. The best cell has right signs at all of its facets,
  or its neighbour would be better. So the best cell with a facet in the plane of ``v_j`` is worth
  ``|g_j|`` and what is best within that plane: the same problem of the other vectors, in one
  dimension less.
* In two dimensions cells are sectors, and a sweep by angle goes through all of them.

Cells with a facet in a plane that was tried are done. A facet of a facet is part of one other facet
as well, so that within a plane only what lies in planes that were not tried has to be. Numbers are
integers that fit; where floats cannot tell two angles apart, integers do.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import BackgroundLoad, Slot
from bdnn.compiled import compiled, part
from bdnn.network.activation import BoolArray, FloatArray

Indices = NDArray[np.int64]

# Twice the square of such a number is a float without rounding.
LARGEST = 2**26
# Twice the square of such a number fits into 64 bits.
_LARGEST_FACTOR = 2**31 - 1
# Vectors that one compiled call goes through, some hundredths of a second.
_STEPS = 500_000
# Ranges of quotients, and where they end in units of a usual one.
_RANGES = 64
_HALF = _RANGES // 2
_TANGENTS = np.linspace(-1.0, 1.0, _RANGES + 1)
_TANGENTS[1:-1] /= 1.0 - np.abs(_TANGENTS[1:-1])


class OutOfReachError(Exception):
    """The time is over, or numbers have become too large."""


class Vectors(NamedTuple):
    """Vectors with gains, no two of them on one line, and what they are made of.

    ``place`` says where a vector of the arrangement before went; -1 if it is 0. Lines whose gains
    are balanced stay, because cells may have facets there that others are tried by.
    """

    rows: Indices
    gains: Indices
    place: Indices

    @classmethod
    def merge(cls, rows: Indices, gains: Indices) -> Vectors:
        """Put vectors on one line together."""
        shared = np.gcd.reduce(rows, axis=1)
        used = np.flatnonzero(shared)
        turn = np.sign(rows[used, (rows[used] != 0).argmax(axis=1)])
        reduced = rows[used] // (shared[used] * turn)[:, None]
        order = np.lexsort(reduced.T)
        ranked = reduced[order]
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
        group = np.cumsum(is_new) - 1
        total = np.zeros(np.count_nonzero(is_new), dtype=np.int64)
        np.add.at(total, group, (gains[used] * turn)[order])
        place = np.full(len(rows), -1, dtype=np.int64)
        place[used[order]] = group
        return cls(ranked[is_new], total, place)

    def within(self, j: int) -> Vectors:
        """What the others are within the plane of one of them."""
        if np.abs(self.rows).max() > _LARGEST_FACTOR:
            raise OutOfReachError("numbers are too large")
        column, others = _quotient(self.rows[j])
        pivot = self.rows[j]
        rows = self.rows[:, others] * pivot[column] - self.rows[:, [column]] * pivot[others]
        return Vectors.merge(rows, self.gains)

    def made_of(self, marks: BoolArray) -> BoolArray:
        """Which of them are made of a marked one of the arrangement before."""
        found = np.zeros(len(self.gains), dtype=bool)
        found[self.place[marks & (self.place >= 0)]] = True
        return found


class Cell(NamedTuple):
    """A sum of gains, and a vector within the cell that has it, or in one of its faces."""

    value: int
    inside: list[int]


def best_cell(
    vectors: Vectors,  # in two dimensions at least
    tried: BoolArray,  # planes in one of which the cell has a facet
    left: BoolArray,  # planes in one of which all of its facets are, these among them
    floor: int,
    slot: Slot,
) -> Cell | None:
    """Find the best cell that is worth more than ``floor``.

    Raises OutOfReachError if there is not enough time, or numbers become too large.
    """
    n_dimensions = vectors.rows.shape[1]
    if not len(vectors.gains):
        return Cell(0, [1] + [0] * (n_dimensions - 1)) if floor < 0 else None
    if n_dimensions == 2:
        return _best_sector(vectors, floor)
    if n_dimensions == 3:
        return _best_of_three(vectors, np.flatnonzero(tried), floor, slot)
    best, left = None, left.copy()
    for j in np.flatnonzero(tried).tolist():
        if slot.is_over():
            raise OutOfReachError("the time is over")
        part, own = vectors.within(j), abs(int(vectors.gains[j]))
        inner = part.made_of(left)
        found = best_cell(part, inner, inner, floor - own, slot)
        left[j] = False
        if found is not None:
            floor = found.value + own
            best = Cell(floor, lifted(vectors, j, found.inside))
    return best


def lifted(vectors: Vectors, j: int, inside: list[int]) -> list[int]:
    """Turn a vector within the plane of ``v_j`` into one beside it, on the side of its gain."""
    pivot = [int(value) for value in vectors.rows[j]]
    column, others = _quotient(vectors.rows[j])
    flat = [0] * len(pivot)
    for place, value in zip(others.tolist(), inside, strict=True):
        flat[place] = value * pivot[column]
        flat[column] -= value * pivot[place]
    side = 1 if vectors.gains[j] > 0 else -1
    rows = [[int(value) for value in row] for row in vectors.rows]
    # So far along the plane that being beside it turns no other sign.
    far = 1 + max(abs(_dot(row, pivot)) for row in rows)
    return [far * a + side * b for a, b in zip(flat, pivot, strict=True)]


def _quotient(pivot: Indices) -> tuple[int, Indices]:
    """The column that a plane's equation is solved for, and the others."""
    sizes = np.where(pivot != 0, np.abs(pivot), np.iinfo(np.int64).max)
    column = int(sizes.argmin())
    return column, np.delete(np.arange(len(pivot)), column)


def _dot(one: list[int], other: list[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _best_of_three(vectors: Vectors, tried: Indices, floor: int, slot: Slot) -> Cell | None:
    if np.abs(vectors.rows).max(initial=0) > LARGEST:
        raise OutOfReachError("numbers are too large")
    best = None
    size = max(1, _STEPS // max(1, len(vectors.gains)))
    for first in range(0, len(tried), size):
        if slot.is_over():
            raise OutOfReachError("the time is over")
        some = tried[first : first + size]
        with np.errstate(over="ignore"):  # on purpose, where nothing is compiled
            value, j = _sweep_planes(vectors.rows, vectors.gains, some, floor)
        if j >= 0:
            floor = value
            best = j
    if best is None:
        return None
    part = vectors.within(best)
    every = np.ones(len(part.gains), dtype=bool)
    found = best_cell(part, every, every, floor - abs(int(vectors.gains[best])) - 1, slot)
    assert found is not None
    return Cell(floor, lifted(vectors, best, found.inside))


def _best_sector(vectors: Vectors, floor: int) -> Cell | None:
    """Go through the sectors of two dimensions.

    Vectors are turned until their first number is positive, or 0 and the second is. The signs at
    ``w = (-t, 1)`` are those of ``b / a - t`` and change in the order of these quotients while
    ``t`` grows, until ``w`` is its own opposite.
    """
    pairs = [
        (int(a), int(b), int(g)) for (a, b), g in zip(vectors.rows, vectors.gains, strict=True)
    ]
    turned = [(a, b, g) if (a, b) > (0, 0) else (-a, -b, -g) for a, b, g in pairs]
    turned.sort(key=lambda pair: (pair[0] == 0, Fraction(pair[1], pair[0] or 1)))
    # Rays between sectors; a single line has one more, which is orthogonal to it.
    rays = [(-b, a) for a, b, _ in turned]
    rays += [(-a, -b) for a, b, _ in turned if len(turned) == 1]
    value = sum(g for _, _, g in turned)
    best = None
    for place, (_, _, gain) in enumerate(turned):
        if abs(value) > floor:
            floor = abs(value)
            before = rays[place - 1] if place else (-rays[-1][0], -rays[-1][1])
            side = 1 if value > 0 else -1
            inside = (p + q for p, q in zip(before, rays[place], strict=True))
            best = Cell(floor, [side * number for number in inside])
        value -= 2 * gain
    return best


@compiled
def _sweep_planes(rows: Indices, gains: Indices, tried: Indices, floor: int) -> tuple[int, int]:
    """Best value above ``floor`` within the planes of some vectors of three numbers, and which.

    Sectors are gone through as in the sweep of two dimensions, but quotients are only sorted within
    a range of them, and only where what its vectors could add exceeds the best. Quotients of exact
    floats are rounded in their order, so that only equal ones have to be compared in integers.
    These are so near each other that the difference of their products fits, although the products
    may not.
    """
    n = len(rows)
    a, b = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    g, key = np.empty(n, dtype=np.int64), np.empty(n)
    part, members = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    edges = np.empty(_RANGES + 1)
    edges[0], edges[_RANGES] = -np.inf, np.inf
    rise, fall = np.empty(_RANGES + 1, dtype=np.int64), np.empty(_RANGES + 1, dtype=np.int64)
    found = -1
    for j in tried:
        own = abs(gains[j])
        c = 0
        for column in range(1, 3):
            if abs(rows[j, column]) > abs(rows[j, c]):
                c = column
        x, y = (c + 1) % 3, (c + 2) % 3
        pc, px, py = rows[j, c], rows[j, x], rows[j, y]
        total, wide, high = 0, 1.0, 1.0
        for k in range(n):
            p = rows[k, x] * pc - rows[k, c] * px
            q = rows[k, y] * pc - rows[k, c] * py
            gain = gains[k] if k != j else 0
            if p < 0 or (p == 0 and q < 0):
                p, q, gain = -p, -q, -gain
            a[k], b[k], g[k] = p, q, gain
            total += gain
            wide += p
            high += abs(q)
        for r in range(1, _RANGES):
            edges[r] = _TANGENTS[r] * high / wide
        rise[:] = 0
        fall[:] = 0
        scale = wide / high
        for k in range(n):
            if a[k] == 0:
                # Last of all; the vector of the plane itself is among them and has no gain.
                r = _RANGES
                key[k] = np.inf
            else:
                key[k] = b[k] / a[k]
                t = key[k] * scale
                r = int(_HALF * (1.0 + t / (1.0 + abs(t))))
                while r > 0 and key[k] < edges[r]:
                    r -= 1
                while r < _RANGES - 1 and key[k] >= edges[r + 1]:
                    r += 1
            part[k] = r
            if g[k] < 0:
                rise[r] -= 2 * g[k]
            else:
                fall[r] += 2 * g[k]
        best = abs(total) + own
        for r in range(_RANGES):
            if max(total + rise[r], fall[r] - total) + own > max(best, floor):
                size = 0
                for k in range(n):
                    if part[k] == r:
                        # Insertion: ranges are small.
                        z = size
                        while z > 0 and _is_before(key, a, b, k, members[z - 1]):
                            members[z] = members[z - 1]
                            z -= 1
                        members[z] = k
                        size += 1
                value = total
                for z in range(size):
                    value -= 2 * g[members[z]]
                    is_end = z + 1 == size or _is_before(key, a, b, members[z], members[z + 1])
                    if is_end and abs(value) + own > best:
                        best = abs(value) + own
            total += rise[r] - fall[r]
        if best > floor:
            floor, found = best, j
    return floor, found


@part
def _is_before(key: FloatArray, a: Indices, b: Indices, k: int, i: int) -> bool:
    """Whether one quotient is smaller than another; not that of ``a = 0``."""
    if key[k] != key[i]:
        return bool(key[k] < key[i])
    return bool(a[k] * b[i] - a[i] * b[k] > 0)


def _load() -> None:
    """Compile or load the sweep, on two vectors."""
    _sweep_planes(np.eye(2, 3, dtype=np.int64), np.ones(2, dtype=np.int64), np.arange(2), -1)


KERNELS = BackgroundLoad(_load, name="bdnn-compile-planes")
