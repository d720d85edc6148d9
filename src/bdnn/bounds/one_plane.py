"""The least loss of one plane in few dimensions, by going through all that planes can do.

Without a hidden layer, or with a single unit in the first, every output is a half-space of the
inputs, the outside of one, or constant. A half-space is a vector ``(t, w)``, and what it does to
inputs ``x`` are the signs of its products with the vectors ``(1, x)``: a cell of an arrangement of
planes (:mod:`bdnn.bounds.arrangement`), in one dimension more than the inputs span. Unless it is
constant, a cell has facets of inputs that are on and of inputs that are off, for with one kind
alone it would hold ``(1, 0)`` or ``(-1, 0)``. Facets hang together, so that two of different kinds
meet. Those of the best cell are right, so that it is enough to try pairs of inputs that are wanted
on and off.

Finitely many points can be moved off any plane that serves them, so that points on the plane need
no thought. The bound is the least loss of continuous weights, and holds for all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.arrangement import (
    KERNELS,
    LARGEST,
    Indices,
    OutOfReachError,
    Vectors,
    best_cell,
    lifted,
)
from bdnn.bounds.enumeration import is_one_plane
from bdnn.bounds.lattice import Integers, gains_from
from bdnn.bounds.rules import threshold_rules
from bdnn.bounds.separation import Separator, exact_grid
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import IntegerArray

# Numbers in the inputs beyond which exact arithmetic on them takes too long.
_LARGEST_TABLE = 200_000
_MOST_DIMENSIONS = 6
# Vectors that sweeps go through in a second, on a slow day.
_PER_SECOND = 30_000_000
# Sizes of gains add up to so many bits; sweeps add three times as much.
_BITS = 61
# Multiples of two weights beyond which sums of small numbers might be as large.
_MOST_MULTIPLES = 1_000_000


class Plane(NamedTuple):
    """Where a half-space is on, and what its mistakes cost."""

    is_on: BoolArray
    cost: int


@dataclass(frozen=True)
class OnePlane:
    """All half-spaces for every output."""

    # Called with a network that attains the bound, if there is one with the weights asked for.
    offer: Callable[[Network], object] | None = None

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether every output is a half-space of not too many inputs."""
        return (
            isinstance(problem.loss, OutputLoss)
            and is_one_plane(problem.architecture)
            and 0 < problem.inputs.size <= _LARGEST_TABLE
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield the bound once all half-spaces have been tried."""
        del upper
        points = lattice_points(problem.inputs)
        if points is None:
            return
        loss = problem.loss
        exact = loss.counts - loss.counts_on
        planes: list[Plane] = []
        value = problem.irreducible.value
        for o, column in enumerate(exact.T):
            twin = next((k for k in range(o) if (exact[:, k] == -column).all()), None)
            if twin is None:
                plane = _exact_plane(points, loss.counts[:, o], loss.counts_on[:, o], slot)
            else:
                plane = Plane(~planes[twin].is_on, planes[twin].cost)
            if plane is None:
                return
            planes.append(plane)
            value += loss.grain * plane.cost
        yield Bound(value, "all half-spaces", certificate={"kind": "planes"})
        self._attain(problem, planes)

    def _attain(self, problem: Problem[OutputLoss], planes: list[Plane]) -> None:
        """Offer the network of the best planes, where weights may be anything."""
        shape, loss = problem.architecture, problem.loss
        if self.offer is None or len(shape.hidden) > 1 or (shape.hidden and shape.n_outputs > 2):
            return
        if shape.thresholds != "neuron" or any(kind.integer for kind in shape.weights):
            return
        separator, spaces = Separator(problem.inputs), []
        for plane, column in zip(planes, (loss.counts != loss.counts_on).T, strict=True):
            on, off = np.flatnonzero(column & plane.is_on), np.flatnonzero(column & ~plane.is_on)
            space = separator.half_space(on, off)
            if space is None:
                return
            spaces.append(space)
        if shape.n_outputs == 2:
            self.offer(threshold_rules(1)[0].network(shape, spaces[1:]))
            return
        weights, thresholds = zip(*spaces, strict=True)
        self.offer(Network(shape, (np.array(weights),), (np.array(thresholds),)))


def _exact_plane(points: Indices, on: IntegerArray, off: IntegerArray, slot: Slot) -> Plane | None:
    """Find the best plane where on and off are worth numbers of any size; its cost is of these."""
    exact = on - off
    gains = gains_from(exact, Fraction(1), bits=_BITS)
    small = None if gains.is_exact else same_order(on, off)
    plane = best_plane(points, gains.values if small is None else small, slot)
    if plane is None or small is None:
        return plane and plane._replace(cost=plane.cost * int(gains.step))
    missed = plane.is_on != (small > 0)
    if int(np.abs(small[missed]).sum()) != plane.cost:
        return None
    return plane._replace(cost=sum(abs(int(gain)) for gain in exact[missed]))


def same_order(on: IntegerArray, off: IntegerArray) -> Integers | None:
    """Small gains with which all sums have the same order, None where there are none.

    Weights of two classes make sums ``A u - B v`` of two large numbers with few multiples, and
    their order depends on which fractions of small numbers are less than ``u / v``. The walk down
    the tree of all fractions (Stern and Brocot) ends where none of these is left on the way.
    """
    u, v = (math.gcd(*map(int, part)) for part in (on, off))
    if not (u and v):
        return None
    a, b = ([int(value) // unit for value in part] for part, unit in ((on, u), (off, v)))
    most = 2 * max(sum(a), sum(b))
    if most > _MOST_MULTIPLES:
        return None
    low, high, middle = (0, 1), (1, 0), (1, 1)
    while max(middle) <= most and middle[0] * v != middle[1] * u:
        low, high = (middle, high) if middle[0] * v < middle[1] * u else (low, middle)
        middle = low[0] + high[0], low[1] + high[1]
    p, q = middle
    return np.array([x * p - y * q for x, y in zip(a, b, strict=True)], dtype=np.int64)


def best_plane(
    points: Indices,  # (n_inputs, n_dimensions): see :func:`lattice_points`
    # (n_inputs,): what it is worth to be on; their sizes add up to less than ``2**61``.
    gains: Integers,
    slot: Slot,
) -> Plane | None:
    """Find the half-space of least cost, None if that is out of reach."""
    counts = gains != 0
    vectors = Vectors.merge(np.insert(points[counts], 0, 1, axis=1), gains[counts])
    on, off = vectors.gains > 0, vectors.gains < 0
    if on.sum() > off.sum():
        on, off = off, on
    everywhere = sum(vectors.gains.tolist())
    floor, inside = abs(everywhere), [1 if everywhere > 0 else -1] + [0] * points.shape[1]
    work = int(on.sum()) * len(on) * (int(off.sum()) if points.shape[1] > 2 else 1)
    work *= len(on) ** max(0, points.shape[1] - 3)
    if work > _PER_SECOND * slot.remaining or (work and not KERNELS.wait(slot)):
        return None
    try:
        if points.shape[1] <= 2:
            found = best_cell(vectors, on, on, floor, slot)
            if found is not None:
                floor, inside = found
        else:
            for i in np.flatnonzero(on).tolist():
                part, own = vectors.within(i), abs(int(vectors.gains[i]))
                every = np.ones(len(part.gains), dtype=bool)
                found = best_cell(part, part.made_of(off), every, floor - own, slot)
                if found is not None:
                    floor, inside = found.value + own, lifted(vectors, i, found.inside)
    except OutOfReachError:
        return None
    sums = [
        inside[0] + sum(w * x for w, x in zip(inside[1:], row, strict=True))
        for row in points.tolist()
    ]
    return Plane(np.array([value > 0 for value in sums]), (int(np.abs(gains).sum()) - floor) // 2)


def lattice_points(inputs: FloatArray) -> Indices | None:
    """Write inputs as small integers in as few dimensions as they span.

    Columns that are an affine function of others are left out, and every other one is shifted and
    divided by what its differences share: half-spaces stay half-spaces. None if there are too many
    dimensions, or numbers that are too large.
    """
    rows = exact_grid(inputs)
    origin = rows[0]
    columns = _independent([[a - b for a, b in zip(row, origin, strict=True)] for row in rows])
    if columns is None:
        return None
    points = []
    for j in columns:
        least = min(row[j] for row in rows)
        shared = math.gcd(*(row[j] - least for row in rows))
        points.append([(row[j] - least) // shared for row in rows])
        if max(points[-1]) > LARGEST:
            return None
    return np.array(points, dtype=np.int64).reshape(len(columns), len(rows)).T


def _independent(rows: list[list[int]]) -> list[int] | None:
    """Columns of which all others are linear functions, None if they are too many."""
    basis: list[tuple[int, list[int]]] = []
    for given in rows:
        row = given
        for column, head in basis:
            if row[column]:
                a, b = head[column], row[column]
                row = [a * x - b * y for x, y in zip(row, head, strict=True)]
        shared = math.gcd(*row)
        if shared:
            if len(basis) == _MOST_DIMENSIONS:
                return None
            row = [value // shared for value in row]
            basis.append((next(j for j, value in enumerate(row) if value), row))
    return sorted(column for column, _ in basis)
