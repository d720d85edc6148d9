"""The choice of :mod:`bdnn.search.kernels.split` in plain numpy, for tests and as a fallback."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray

_SMALLEST_WIDTH = 1e-9
_END_WIDTH = 1.0


def set_gain(
    total: FloatArray, size: float, weight: float, price: FloatArray, rules: FloatArray
) -> float:
    """Gain of a set of inputs with sums ``total`` and weight ``size``."""
    return float(_gains(total[None], np.array([size]), weight, price, rules)[0])


def best_split(
    breaks: FloatArray,
    signs: FloatArray,
    moments: FloatArray,
    base: FloatArray,
    weight: float,
    price: FloatArray,
    rules: FloatArray,
    low: float,
    high: float,
) -> tuple[float, float]:
    """Find the step with the largest gain; return the middle of its interval and the gain."""
    order = np.argsort(breaks, kind="stable")
    steps = signs[order, None] * moments[order]
    states = np.vstack([base, base + np.cumsum(steps, axis=0)])
    ends = np.clip(breaks[order], low, high)
    left, right = np.concatenate(([low], ends)), np.concatenate((ends, [high]))
    both = np.isinf(left) & np.isinf(right)
    left = np.where(both, -0.5 * _END_WIDTH, np.where(np.isinf(left), right - _END_WIDTH, left))
    right = np.where(both, 0.5 * _END_WIDTH, np.where(np.isinf(right), left + _END_WIDTH, right))
    wide = right - left > _SMALLEST_WIDTH * (1.0 + np.abs(left))
    if not wide.any():
        return 0.0, -np.inf
    gains = _gains(states[:, 1:], states[:, 0], weight, price, rules)
    best = int(np.argmax(np.where(wide, gains, -np.inf)))
    return float(0.5 * (left[best] + right[best])), float(gains[best])


def _gains(
    totals: FloatArray, sizes: FloatArray, weight: float, price: FloatArray, rules: FloatArray
) -> FloatArray:
    ridge, limit, whole, has_zero, has_bias = rules
    damping = (sizes * (1.0 - sizes / weight) if has_bias else sizes) + ridge
    valid = damping > 1e-12 * weight
    damping = np.where(valid, damping, 1.0)[:, None]
    a = totals / damping
    if whole:
        a = np.rint(a)
        if not has_zero:
            a = np.where(a == 0.0, np.where(totals >= 0.0, 1.0, -1.0), a)
    a = np.clip(a, -limit, limit)
    gains = (2.0 * a * totals - a * a * damping) @ price
    return np.asarray(np.where(valid, gains, 0.0))
