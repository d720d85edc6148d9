"""The loops of ``elementwise`` in plain numpy."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray


def assign(target: FloatArray, values: FloatArray) -> None:
    """Copy values into an array."""
    target[:] = values


def fill(target: FloatArray, value: float) -> None:
    """Set all entries."""
    target[:] = value


def divide(target: FloatArray, divisor: float) -> None:
    """Divide all entries in place."""
    target /= divisor


def shift_by(target: FloatArray, value: float) -> None:
    """Add a number to all entries in place."""
    target += value


def add_scaled(target: FloatArray, factor: float, values: FloatArray) -> None:
    """Add a multiple of values to an array in place."""
    target += factor * values


def total_of(values: FloatArray) -> float:
    """Sum of all entries."""
    return float(values.sum())


def largest_of(values: FloatArray) -> float:
    """Largest absolute value."""
    return float(np.abs(values).max(initial=0.0))


def bracket(sums: FloatArray, wanted: float, below: float, above: float) -> tuple[float, float]:
    """Raise ``below`` and lower ``above`` to the sums next to a wanted value."""
    low = sums < wanted
    return (
        float(sums[low].max(initial=below)),
        float(sums[~low].min(initial=above)),
    )
