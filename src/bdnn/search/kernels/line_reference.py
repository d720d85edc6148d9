"""The searches of :mod:`bdnn.search.kernels.line` in plain numpy, for tests and as a fallback."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray

_END_WIDTH = 1.0
_SMALLEST_WIDTH = 1e-9
_TOLERANCE = 1e-9
_FARTHEST = 1e100
_CLEARANCE = 0.5


def _best_interval(
    breaks: FloatArray, jumps: FloatArray, base: float, low: float, high: float, end: float
) -> tuple[float, float, float]:
    """Middle, value and width of the widest best interval between breakpoints in [low, high]."""
    inside = (breaks > low) & (breaks < high)
    base += float(jumps[breaks <= low].sum())
    points, group = np.unique(breaks[inside], return_inverse=True)
    steps = np.bincount(group.reshape(-1), weights=jumps[inside], minlength=len(points))
    values = base + np.concatenate(([0.0], np.cumsum(steps)))
    left = np.concatenate(([low], points))
    right = np.concatenate((points, [high]))
    bounded = np.isfinite(left) & np.isfinite(right)
    if np.isinf(left[0]) and np.isinf(right[0]):
        left[0], right[0] = -0.5 * end, 0.5 * end
    if np.isinf(left[0]):
        left[0] = right[0] - end
    if np.isinf(right[-1]):
        right[-1] = left[-1] + end
    width = right - left
    safe = ~bounded | (width > _SMALLEST_WIDTH * (1.0 + np.abs(left)))
    if not safe.any():
        return 0.0, -np.inf, -1.0
    best = values[safe].max()
    ties = np.flatnonzero(safe & (values > best - _TOLERANCE))
    k = ties[np.argmax(width[ties])]
    return float(0.5 * (left[k] + right[k])), float(values[k]), float(width[k])


def line_search(
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    low: float,
    high: float,
) -> tuple[float, float, float]:
    """Find the step along a direction with the largest merit; return step, merit and width."""
    moving = direction != 0.0
    base = gains[~moving & (sums >= threshold)].sum() + gains[direction < 0.0].sum()
    slope = direction[moving]
    with np.errstate(over="ignore"):
        breaks = (threshold - sums[moving]) / slope
    jumps = np.where(slope > 0.0, gains[moving], -gains[moving])
    base += jumps[breaks < -_FARTHEST].sum()
    near = np.abs(breaks) <= _FARTHEST
    return _best_interval(breaks[near], jumps[near], float(base), low, high, _END_WIDTH)


def threshold_search(
    sums: FloatArray, gains: FloatArray, low: float, high: float
) -> tuple[float, float, float]:
    """Find the threshold with the largest merit; return threshold, merit and width of the gap."""
    return _best_interval(sums, -gains, float(gains.sum()), low, high, _SMALLEST_WIDTH)


def value_search(
    sums: FloatArray,
    direction: FloatArray,
    gains: FloatArray,
    threshold: float,
    weight: float,
    values: FloatArray,
) -> FloatArray:
    """Merit of the unit for every value of one weight, the threshold being fixed."""
    return np.array(
        [gains[sums + (value - weight) * direction >= threshold].sum() for value in values]
    )


def combine(H: FloatArray, w: FloatArray, offset: float) -> FloatArray:
    """Weighted sum of the lines of ``H``, minus an offset."""
    sums = np.full(H.shape[1], -offset)
    for line, weight in zip(H, w, strict=True):
        sums += weight * line
    return sums


def merit_of(sums: FloatArray, threshold: float, gains: FloatArray) -> float:
    """Merit of a unit: the gains of the inputs where it is on."""
    return float(gains[sums >= threshold].sum())


def level_merit(sums: FloatArray, thresholds: FloatArray, gains: FloatArray) -> float:
    """Merit of a unit: the gains of the thresholds that every input reaches."""
    return float(gains[sums >= thresholds[: len(gains), None]].sum())


def ordered_search(sums: FloatArray, gains: FloatArray, thresholds: FloatArray) -> float:
    """Write the ordered thresholds with the largest merit, and return it."""
    count, n = gains.shape
    order = np.argsort(sums, kind="stable")
    line = sums[order]
    gaps = np.zeros(n + 1)
    gaps[1:-1] = np.diff(line)
    allowed = np.ones(n + 1, dtype=bool)
    allowed[1:-1] = gaps[1:-1] > _TOLERANCE * (1.0 + np.abs(line[1:]))
    best = np.zeros(n + 1)
    places = np.zeros((count, n + 1), dtype=np.int64)
    for level in range(count):
        rest = np.append(np.cumsum(gains[level, order][::-1])[::-1], 0.0)
        values = np.where(allowed, best + rest, -np.inf)
        top, width, place = -np.inf, 0.0, 0
        for q in range(n + 1):
            value, gap = values[q], gaps[q]
            if value > top + _TOLERANCE or (value > top - _TOLERANCE and gap > width):
                top, width, place = max(top, value), gap, q
            best[q], places[level, q] = top, place
    ends = np.concatenate([line[:1] - _CLEARANCE, line[-1:] + _CLEARANCE])
    middles = np.concatenate([ends[:1], 0.5 * (line[:-1] + line[1:]), ends[1:]])
    q = n
    for level in range(count - 1, -1, -1):
        q = places[level, q]
        thresholds[level] = middles[q] if n else 0.0
    return float(best[n])
