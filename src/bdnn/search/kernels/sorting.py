"""Sorting by buckets, in linear time for all but contrived keys."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import IntArray
from bdnn.search.kernels.compiled import compiled

_SMALL_SORT = 40
_PROBES = 33


@compiled
def _sort_range(keys: FloatArray, order: IntArray, first: int, last: int) -> None:
    """Sort part of an order by its keys; gaps make long parts bearable (Shell's method)."""
    gap = 1
    while 3 * gap + 1 < (last - first) // 8:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(first + gap, last):
            item = order[p]
            key = keys[item]
            q = p - gap
            while q >= first and keys[order[q]] > key:
                order[q + gap] = order[q]
                q -= gap
            order[q + gap] = item
        gap //= 3


@compiled
def robust_scale(keys: FloatArray, n: int) -> tuple[float, float]:
    """Middle and spread of the first ``n`` keys, from a few of them, blind to outliers."""
    probe = np.empty(_PROBES, dtype=np.int64)
    for p in range(_PROBES):
        probe[p] = (p * (n - 1)) // (_PROBES - 1)
    _sort_range(keys, probe, 0, _PROBES)
    scale = 0.5 * (keys[probe[(3 * _PROBES) // 4]] - keys[probe[_PROBES // 4]])
    if not scale > 0.0:
        scale = 0.5 * (keys[probe[_PROBES - 1]] - keys[probe[0]])
    if not scale > 0.0:
        scale = 1.0
    return keys[probe[_PROBES // 2]], scale


@compiled
def bucket_of(key: float, centre: float, scale: float, half: float) -> int:
    """Bucket of a key, from 0 to twice ``half``.

    Every operation is monotone also after rounding, so that buckets respect the order of keys.
    """
    x = (key - centre) / scale
    squashed = half - half / (1.0 + abs(x))
    return int(half + squashed) if x >= 0.0 else int(half - squashed)


@compiled
def sorted_order(keys: FloatArray, n: int) -> IntArray:
    """Find the order that sorts the first ``n`` keys."""
    order = np.arange(n)
    if n <= _SMALL_SORT:
        _sort_range(keys, order, 0, n)
        return order
    centre, scale = robust_scale(keys, n)
    bucket = np.empty(n, dtype=np.int64)
    end = np.zeros(n + 2, dtype=np.int64)
    for i in range(n):
        b = bucket_of(keys[i], centre, scale, 0.5 * n)
        bucket[i] = b
        end[b + 1] += 1
    for b in range(n + 1):
        end[b + 1] += end[b]
    for i in range(n - 1, -1, -1):
        b = bucket[i] + 1
        end[b] -= 1
        order[end[b]] = i
    # Filling from the back has moved the end of every bucket to its beginning.
    for b in range(1, n + 2):
        last = end[b + 1] if b < n + 1 else n
        if last - end[b] > 1:
            _sort_range(keys, order, end[b], last)
    return order
