"""One unit: where it stands, how many weights it may have, its thresholds and how they move.

Where no unit has more than one, these functions are compiled for ``None`` in place of ``Levels``:
nothing is left of them but numbers.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import compiled, part
from bdnn.network.activation import FloatArray
from bdnn.problem.terms.base import UNLIMITED
from bdnn.search.kernels.arrays import PER_UNIT, IntArray, Levels, MoveLimits
from bdnn.search.kernels.line import level_merit, ordered_search, threshold_search

# Array expressions would do for what follows, but numba takes seconds to compile each of them.


@part
def assign(target: FloatArray, values: FloatArray) -> None:
    """Copy values into an array."""
    for i in range(len(target)):
        target[i] = values[i]


@part
def fill(target: FloatArray, value: float) -> None:
    """Set all entries."""
    for i in range(len(target)):
        target[i] = value


@part
def divide(target: FloatArray, divisor: float) -> None:
    """Divide all entries in place."""
    for i in range(len(target)):
        target[i] /= divisor


@part
def shift_by(target: FloatArray, value: float) -> None:
    """Add a number to all entries in place."""
    for i in range(len(target)):
        target[i] += value


@part
def add_scaled(target: FloatArray, factor: float, values: FloatArray) -> None:
    """Add a multiple of values to an array in place."""
    if factor != 0.0:
        for i in range(len(target)):
            target[i] += factor * values[i]


@part
def total_of(values: FloatArray) -> float:
    """Sum of all entries."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@part
def largest_of(values: FloatArray) -> float:
    """Largest absolute value."""
    largest = 0.0
    for i in range(len(values)):
        largest = max(largest, abs(values[i]))
    return largest


@part
def bracket(sums: FloatArray, wanted: float, below: float, above: float) -> tuple[float, float]:
    """Raise ``below`` and lower ``above`` to the sums next to a wanted value."""
    for i in range(len(sums)):
        if sums[i] < wanted:
            below = max(below, sums[i])
        else:
            above = min(above, sums[i])
    return below, above


@part
def layer_at(ends: IntArray, place: int) -> int:
    """Layer of a unit or of a weight, by where layers begin."""
    k = 0
    while place >= ends[k + 1]:
        k += 1
    return k


@part
def nonzeros(weights: FloatArray, first: int, last: int) -> int:
    """Number of weights in a range that are not 0."""
    count = 0
    for j in range(first, last):
        count += 1 if weights[j] != 0.0 else 0
    return count


@part
def room_of(
    weights: FloatArray, weight_at: IntArray, limits: MoveLimits, k: int, at: int, n: int
) -> int:
    """How many of a unit's ``n`` weights may differ from 0, given those of all other units.

    The unit is one of layer ``k``, and its weights begin at ``at``.
    """
    room, in_layer, in_all = min(n, limits.most[0, k]), limits.most[1, k], limits.total
    if in_layer >= UNLIMITED and in_all >= UNLIMITED:
        return int(room)
    layers = len(weight_at) - 1
    own = nonzeros(weights, at, at + n)
    copies = 1
    for layer in range(layers):
        used = nonzeros(weights, weight_at[layer], weight_at[layer + 1])
        used -= own if layer == k else 0
        count = limits.copies if layer == layers - 1 else 1
        in_all -= used * count
        if layer == k:
            copies = count
            in_layer -= used * count
    return int(max(0, min(room, in_layer // copies, in_all // copies)))


@compiled
def room_in(
    weights: FloatArray, weight_at: IntArray, limits: MoveLimits, k: int, at: int, n: int
) -> int:
    """The same for Python."""
    room: int = room_of(weights, weight_at, limits, k, at, n)
    return room


@part
def put(v: Levels | None, target: FloatArray, values: FloatArray) -> None:
    """Copy thresholds."""
    if v is None:
        target[0] = values[0]
    else:
        assign(target, values)


@part
def move_by(v: Levels | None, thresholds: FloatArray, shift: float, divisor: float) -> None:
    """Shift thresholds and divide them, which keeps their order."""
    thresholds[0] = (thresholds[0] + shift) / divisor
    if v is not None:
        for level in range(1, len(thresholds)):
            thresholds[level] = (thresholds[level] + shift) / divisor


@part
def stacked(sums: FloatArray, shifts: FloatArray) -> FloatArray:
    """One copy of the sums per shift, minus this."""
    count, p = len(shifts), len(sums)
    copies = np.empty(count * p)
    for level in range(count):
        for i in range(p):
            copies[level * p + i] = sums[i] - shifts[level]
    return copies


@part
def best_thresholds(
    v: Levels | None,
    k: int,
    kind: int,
    sums: FloatArray,
    gains: FloatArray,
    current: FloatArray,
    found: FloatArray,
) -> float:
    """Write the best thresholds that a unit of layer ``k`` may have; return their merit."""
    if kind != PER_UNIT:
        put(v, found, current)
        return level_merit(sums, found, gains)
    if v is None:
        found[0], merit, _width = threshold_search(sums, gains[0], -np.inf, np.inf)
        return merit
    count = len(gains)
    if not v.fixed[k] or count == 1:
        return ordered_search(sums, gains, found)
    offsets = v.offsets[k, :count]
    shift, merit, _width = threshold_search(
        stacked(sums, offsets), gains.reshape(-1), -np.inf, np.inf
    )
    for level in range(count):
        found[level] = current[level] if merit == -np.inf else shift + offsets[level]
    return level_merit(sums, found, gains)


@part
def draw_thresholds(
    v: Levels | None,
    k: int,
    sums: FloatArray,
    thresholds: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Put every threshold of a unit of layer ``k`` between the sums of two random inputs."""
    m = len(sums)
    thresholds[0] = 0.5 * (sums[int(rng.random() * m)] + sums[int(rng.random() * m)])
    if v is None:
        return
    for level in range(1, v.counts[k]):
        if v.fixed[k]:
            drawn = thresholds[0] + v.offsets[k, level] - v.offsets[k, 0]
        else:
            drawn = 0.5 * (sums[int(rng.random() * m)] + sums[int(rng.random() * m)])
        # Insert in order.
        place = level
        while place > 0 and thresholds[place - 1] > drawn:
            thresholds[place] = thresholds[place - 1]
            place -= 1
        thresholds[place] = drawn
