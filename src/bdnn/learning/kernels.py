"""Compiled passes of gradient training that numpy would need many temporary arrays for.

All arrays are of single precision. Sums may be added in any order: nothing here decides what a
network answers, which the forward pass of the finished network does.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled

Array = NDArray[np.float32]

_FLAT = np.float32(1e-5)  # variance below which a unit counts as constant
_FIRST = np.float32(0.9)
_SECOND = np.float32(0.999)
_TINY = np.float32(1e-8)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@partial(compiled, fastmath=True)
def normalised_steps(
    sums: Array, gain: Array, shift: Array, scale: Array, normal: Array, values: Array, out: Array
) -> None:
    """Normalise every unit over a batch, then take its step.

    ``scale`` becomes the inverse deviation of every unit, ``normal`` what is normalised,
    ``values`` that times gain plus shift, and ``out`` whether it is at least 0.
    """
    rows, units = sums.shape
    mean, variance = np.zeros(units, np.float32), np.zeros(units, np.float32)
    for i in range(rows):
        for j in range(units):
            mean[j] += sums[i, j]
    for j in range(units):
        mean[j] /= rows
    for i in range(rows):
        for j in range(units):
            distance = sums[i, j] - mean[j]
            variance[j] += distance * distance
    for j in range(units):
        scale[j] = _ONE / np.sqrt(variance[j] / rows + _FLAT)
    for i in range(rows):
        for j in range(units):
            centred = (sums[i, j] - mean[j]) * scale[j]
            value = centred * gain[j] + shift[j]
            normal[i, j], values[i, j] = centred, value
            out[i, j] = _ONE if value >= _ZERO else _ZERO


@partial(compiled, fastmath=True)
def through_steps(
    slope: Array, normal: Array, values: Array, gain: Array, scale: Array, by: tuple[Array, Array]
) -> None:
    """Turn slopes by what units send into slopes by their sums, in place.

    ``by`` takes the slopes by gain and shift.
    """
    rows, units = slope.shape
    by_gain, by_shift = by
    for j in range(units):
        by_gain[j] = by_shift[j] = _ZERO
    for i in range(rows):
        for j in range(units):
            width = _ONE + np.float32(2.0) * abs(values[i, j])
            by_value = slope[i, j] / (width * width)
            slope[i, j] = by_value
            by_shift[j] += by_value
            by_gain[j] += by_value * normal[i, j]
    for i in range(rows):
        for j in range(units):
            common = (by_shift[j] + normal[i, j] * by_gain[j]) / rows
            slope[i, j] = (slope[i, j] - common) * gain[j] * scale[j]


@partial(compiled, fastmath=True)
def output_slopes(
    sums: Array, gain: Array, shift: Array, wanted: Array, weight: Array, slope: Array,
    by: tuple[Array, Array],
) -> None:  # fmt: skip
    """Slopes of the cross entropy by the sums of the outputs, which share one scale."""
    rows, units = sums.shape
    by_gain, by_shift = by
    mean, square = np.zeros(units, np.float32), _ZERO
    for i in range(rows):
        for j in range(units):
            mean[j] += sums[i, j]
    for j in range(units):
        mean[j] /= rows
        by_shift[j] = _ZERO
    by_gain[0] = _ZERO
    for i in range(rows):
        for j in range(units):
            sums[i, j] -= mean[j]
            square += sums[i, j] * sums[i, j]
    scale = _ONE / np.sqrt(square / (rows * units) + _FLAT)
    for i in range(rows):
        largest, total = np.float32(-1e30), _ZERO
        for j in range(units):
            sums[i, j] *= scale
            slope[i, j] = sums[i, j] * gain[0] + shift[j]
            largest = max(largest, slope[i, j])
        for j in range(units):
            slope[i, j] = np.exp(slope[i, j] - largest)
            total += slope[i, j]
        for j in range(units):
            slope[i, j] = (slope[i, j] / total - wanted[i, j]) * weight[i] / rows
            by_shift[j] += slope[i, j]
            by_gain[0] += slope[i, j] * sums[i, j]
    common = by_gain[0] / (rows * units)
    for i in range(rows):
        for j in range(units):
            slope[i, j] -= by_shift[j] / rows + sums[i, j] * common
            slope[i, j] *= gain[0] * scale


@partial(compiled, fastmath=True)
def adam(
    values: Array, slope: Array, moments: tuple[Array, Array], rate: float, steps: int, decay: float
) -> None:
    """Take a step of Adam with decoupled decay of the values, all given as matrices."""
    mean, square = moments
    kept = np.float32(1.0 - rate * decay)
    rate_now = np.float32(rate / (1.0 - 0.9**steps))
    unbiased = np.float32(1.0 / np.sqrt(1.0 - 0.999**steps))
    for j in range(values.shape[0]):
        for k in range(values.shape[1]):
            mean[j, k] = _FIRST * mean[j, k] + (_ONE - _FIRST) * slope[j, k]
            square[j, k] = _SECOND * square[j, k] + (_ONE - _SECOND) * slope[j, k] * slope[j, k]
            root = np.sqrt(square[j, k]) * unbiased + _TINY
            values[j, k] = kept * values[j, k] - rate_now * mean[j, k] / root


@partial(compiled, fastmath=True)
def ternary(latent: Array, share: float, out: Array) -> None:
    """Signs of the latent weights that exceed a share of their unit's mean size, else 0."""
    for j in range(latent.shape[0]):
        total = _ZERO
        for k in range(latent.shape[1]):
            total += abs(latent[j, k])
        limit = np.float32(share) * total / latent.shape[1]
        for k in range(latent.shape[1]):
            weight = latent[j, k]
            out[j, k] = _ZERO if abs(weight) <= limit else (_ONE if weight > _ZERO else -_ONE)
