"""The best interval between breakpoints of a piecewise constant function.

The function has the value ``base`` far left and jumps by ``jumps[i]`` at ``breaks[i]``. A few
breakpoints are sorted. Many are put into bins first: with the total jump of every bin the values
between bins are exact, and a bin needs a closer look only if its positive jumps could lift the
function above the best of them. That goes over the data twice, in order, and sorts next to nothing.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import IntArray

# Sorting by buckets takes linear time for all but contrived keys; so many are sorted without.
_SMALL_SORT = 40
_PROBES = 33

# Narrower intervals could be lost to rounding when the sums are formed anew.
_SMALLEST_WIDTH = 1e-9
TOLERANCE = 1e-9
# Number of breakpoints from which bins pay, and number of bins.
_MANY = 3000
_BINS = 1024


@part
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


@part
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


@part
def bucket_of(key: float, centre: float, scale: float, half: float) -> int:
    """Bucket of a key, from 0 to twice ``half``.

    Every operation is monotone also after rounding, so that buckets respect the order of keys.
    """
    x = (key - centre) / scale
    squashed = half - half / (1.0 + abs(x))
    return int(half + squashed) if x >= 0.0 else int(half - squashed)


@part
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


@part
def widest_best(
    order: IntArray,  # in which breakpoints ascend
    breaks: FloatArray,
    jumps: FloatArray,
    n: int,
    base: float,
    low: float,
    high: float,
    end: float,
) -> tuple[float, float, float]:
    """Middle, value and width of the widest best interval between breakpoints in [low, high]."""
    value = base
    p = 0
    while p < n and breaks[order[p]] <= low:
        value += jumps[order[p]]
        p += 1
    best = -np.inf
    best_t = 0.0
    best_width = -1.0
    left = low
    while True:
        right = high
        bounded = True
        if p < n and breaks[order[p]] < high:
            right = breaks[order[p]]
        if left == -np.inf and right == np.inf:
            left, right, bounded = -0.5 * end, 0.5 * end, False
        elif left == -np.inf:
            left, bounded = right - end, False
        elif right == np.inf:
            right, bounded = left + end, False
        width = right - left
        safe = width > _SMALLEST_WIDTH * (1.0 + abs(left)) or not bounded
        if safe and (value > best + TOLERANCE or (value > best - TOLERANCE and width > best_width)):
            best = value
            best_t = 0.5 * (left + right)
            best_width = width
        if p >= n or breaks[order[p]] >= high:
            break
        left = breaks[order[p]]
        # Put so that the loop ends whatever the breakpoints are.
        while p < n and not breaks[order[p]] > left:
            value += jumps[order[p]]
            p += 1
    return best_t, best, best_width


@part
def best_interval(
    # Only the first ``n`` entries count.
    breaks: FloatArray,
    jumps: FloatArray,
    n: int,
    base: float,  # value to the left of all breakpoints
    # Perhaps infinite.
    low: float,
    high: float,
    end: float,  # width of an interval that only one breakpoint bounds
) -> tuple[float, float, float]:
    """Find the widest of the best intervals between breakpoints in [low, high].

    The value is ``-inf`` where no interval is wide enough to be safe from rounding.
    """
    if n >= _MANY:
        breaks, jumps, n, base = _thinned(breaks, jumps, n, base, low, high)
    return widest_best(sorted_order(breaks, n), breaks, jumps, n, base, low, high, end)


@part
def _thinned(
    breaks: FloatArray, jumps: FloatArray, n: int, base: float, low: float, high: float
) -> tuple[FloatArray, FloatArray, int, float]:
    """Breakpoints without those that cannot matter, their number, and the value left of them."""
    centre, scale = robust_scale(breaks, n)
    rise, fall = np.zeros(_BINS + 1), np.zeros(_BINS + 1)
    first, last = np.full(_BINS + 1, np.inf), np.full(_BINS + 1, -np.inf)
    count = np.zeros(_BINS + 1, dtype=np.int64)
    bins = np.empty(n, dtype=np.int16)
    for i in range(n):
        key = breaks[i]
        bins[i] = -1
        if key <= low:
            base += jumps[i]
        elif key < high:
            b = bucket_of(key, centre, scale, 0.5 * _BINS)
            bins[i] = b
            count[b] += 1
            rise[b] += max(jumps[i], 0.0)
            fall[b] += min(jumps[i], 0.0)
            first[b] = min(first[b], key)
            last[b] = max(last[b], key)
    # What is reached in the gaps between bins that are wide enough.
    best, value, left = -np.inf, base, low
    for b in range(_BINS + 2):
        if b <= _BINS and count[b] == 0:
            continue
        right = first[b] if b <= _BINS else high
        if left == -np.inf or right - left > _SMALLEST_WIDTH * (1.0 + abs(left)):
            best = max(best, value)
        if b <= _BINS:
            value += rise[b] + fall[b]
            left = last[b]
    # Bins that cannot do better shrink to two breakpoints; the others keep all of theirs.
    value = base
    size = 0
    for b in range(_BINS + 1):
        if count[b] > 0 and first[b] < last[b] and value + rise[b] > best + TOLERANCE:
            size += count[b]
        value += rise[b] + fall[b]
    kept, kept_jumps = np.empty(size + 2 * _BINS + 2), np.empty(size + 2 * _BINS + 2)
    size = 0
    value = base
    for b in range(_BINS + 1):
        keeps = count[b] > 0 and first[b] < last[b] and value + rise[b] > best + TOLERANCE
        value += rise[b] + fall[b]
        if count[b] > 0 and not keeps:
            kept[size], kept_jumps[size] = first[b], fall[b]
            kept[size + 1], kept_jumps[size + 1] = last[b], rise[b]
            size += 2
        count[b] = 1 if keeps else 0
    for i in range(n):
        if bins[i] >= 0 and count[bins[i]] == 1:
            kept[size], kept_jumps[size] = breaks[i], jumps[i]
            size += 1
    return kept, kept_jumps, size, base
