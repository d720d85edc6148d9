"""Compiled loops over the entries of an array; ``reference`` says the same in numpy.

Array expressions would do, but numba takes seconds to compile each of them.
"""

from __future__ import annotations

from bdnn.network.activation import FloatArray
from bdnn.search.kernels.compiled import compiled


@compiled
def assign(target: FloatArray, values: FloatArray) -> None:
    """Copy values into an array."""
    for i in range(len(target)):
        target[i] = values[i]


@compiled
def fill(target: FloatArray, value: float) -> None:
    """Set all entries."""
    for i in range(len(target)):
        target[i] = value


@compiled
def divide(target: FloatArray, divisor: float) -> None:
    """Divide all entries in place."""
    for i in range(len(target)):
        target[i] /= divisor


@compiled
def shift_by(target: FloatArray, value: float) -> None:
    """Add a number to all entries in place."""
    for i in range(len(target)):
        target[i] += value


@compiled
def add_scaled(target: FloatArray, factor: float, values: FloatArray) -> None:
    """Add a multiple of values to an array in place."""
    if factor != 0.0:
        for i in range(len(target)):
            target[i] += factor * values[i]


@compiled
def total_of(values: FloatArray) -> float:
    """Sum of all entries."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@compiled
def largest_of(values: FloatArray) -> float:
    """Largest absolute value."""
    largest = 0.0
    for i in range(len(values)):
        largest = max(largest, abs(values[i]))
    return largest


@compiled
def bracket(sums: FloatArray, wanted: float, below: float, above: float) -> tuple[float, float]:
    """Raise ``below`` and lower ``above`` to the sums next to a wanted value."""
    for i in range(len(sums)):
        if sums[i] < wanted:
            below = max(below, sums[i])
        else:
            above = min(above, sums[i])
    return below, above
