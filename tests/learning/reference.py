"""The compiled passes of gradient training in plain numpy, to compare with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

_FLAT, _TINY = np.float32(1e-5), np.float32(1e-8)


def normalised_steps(
    sums: Array, gain: Array, shift: Array, scale: Array, normal: Array, values: Array, out: Array
) -> None:
    """Normalise every unit over a batch, then take its step."""
    scale[:] = 1.0 / np.sqrt(sums.var(axis=0) + _FLAT)
    normal[:] = (sums - sums.mean(axis=0)) * scale
    values[:] = normal * gain + shift
    out[:] = values >= 0.0


def through_steps(
    slope: Array, normal: Array, values: Array, gain: Array, scale: Array, by: tuple[Array, Array]
) -> None:
    """Turn slopes by what units send into slopes by their sums, in place."""
    slope /= np.square(1.0 + 2.0 * np.abs(values))
    by[0][:], by[1][:] = (slope * normal).sum(axis=0), slope.sum(axis=0)
    slope -= (by[1] + normal * by[0]) / np.float32(len(slope))
    slope *= gain * scale


def output_slopes(
    sums: Array, gain: Array, shift: Array, wanted: Array, weight: Array, slope: Array,
    by: tuple[Array, Array],
) -> None:  # fmt: skip
    """Slopes of the cross entropy by the sums of the outputs, which share one scale."""
    sums -= sums.mean(axis=0)
    scale = 1.0 / np.sqrt(np.square(sums).mean() + _FLAT)
    sums *= scale
    logits = sums * gain + shift
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    slope[:] = (share - wanted) * (weight / np.float32(len(sums)))[:, None]
    by[0][:], by[1][:] = (slope * sums).sum(), slope.sum(axis=0)
    slope -= by[1] / np.float32(len(sums)) + sums * (by[0] / np.float32(sums.size))
    slope *= gain * scale


def adam(
    values: Array, slope: Array, moments: tuple[Array, Array], rate: float, steps: int, decay: float
) -> None:
    """Take a step of Adam with decoupled decay of the values."""
    mean, square = moments
    mean += np.float32(0.1) * (slope - mean)
    square += np.float32(0.001) * (np.square(slope) - square)
    root = np.sqrt(square) / np.float32((1.0 - 0.999**steps) ** 0.5) + _TINY
    values *= np.float32(1.0 - rate * decay)
    values -= np.float32(rate / (1.0 - 0.9**steps)) * mean / root


def ternary(latent: Array, share: float, out: Array) -> None:
    """Signs of the latent weights that exceed a share of their unit's mean size, else 0."""
    limit = np.float32(share) * np.abs(latent).mean(axis=1, keepdims=True)
    out[:] = np.where(np.abs(latent) <= limit, 0.0, np.where(latent > 0.0, 1.0, -1.0))
