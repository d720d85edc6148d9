"""Real weights as integers, with a proof that no decision changes on any representable input.

A unit adds contributions ``c_j(k_j)`` in floating point and compares with its threshold. Integers
``A_j`` and a unit ``u`` give ``c_j(k) = u * (A_j * k) + b_j + e_j(k)``, so that the integer sum
``F = sum_j A_j k_j`` decides wherever it is farther from the threshold than all errors can reach.
The inputs whose ``F`` lies nearer are found by meeting in the middle (sorted sums of both halves
of the inputs) and decided by the floating-point sum itself; if one integer threshold agrees with
all of them, it agrees with the network on every input there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.export.inputs import Integers
from bdnn.network.activation import FloatArray

_MOST_SUMS = 2**17
_MOST_CRITICAL = 50_000
_ROUNDING = 2.0**-52
_PLACES = range(5, 27)
_LARGEST_SUM = 2**31


@dataclass(frozen=True)
class FixedUnit:
    """Integer weights and threshold that decide like a unit with real weights."""

    weights: tuple[int, ...]
    threshold: int


def fix_unit(
    weights: FloatArray,
    threshold: float,
    counts: Sequence[Integers],
    values: Sequence[FloatArray],
    *,
    unit: float | None = None,
) -> FixedUnit | None:
    """Find integers that decide like ``sum_j weights[j] * values_j[k_j] >= threshold``.

    Every input has all ``counts`` it may be and the ``values`` they stand for. ``unit`` is what an
    integer weight of 1 stands for; several powers of two are tried if it is not given. None if no
    such integers were found, or the proof takes too long.
    """
    used = [j for j in range(len(weights)) if weights[j] != 0.0]
    terms = [weights[j] * values[j] for j in used]
    slopes = [_slope(counts[j], term) for j, term in zip(used, terms, strict=True)]
    largest = max((abs(slope) for slope in slopes), default=1.0) or 1.0
    # Rounding of the sum itself; generous by a factor of two and for the threshold's own size.
    noise = (
        _ROUNDING * (len(used) + 2) * (sum(float(np.abs(t).max()) for t in terms) + abs(threshold))
    )
    if not np.isfinite(noise) or (scale := int(np.frexp(largest)[1])) < -900:
        return None
    for size in [unit] if unit else [2.0 ** (scale - places) for places in _PLACES]:
        integers = [round(slope / size) for slope in slopes]
        found = _threshold(size, integers, [counts[j] for j in used], terms, threshold, noise)
        if found is not None:
            row = [0] * len(weights)
            for j, integer in zip(used, integers, strict=True):
                row[j] = integer
            return FixedUnit(tuple(row), found)
    return None


def _slope(counts: Integers, term: FloatArray) -> float:
    width = int(counts[-1] - counts[0])
    return float(term[-1] - term[0]) / width if width else 0.0


def _threshold(
    unit: float,
    integers: list[int],
    counts: list[Integers],
    terms: list[FloatArray],
    threshold: float,
    noise: float,
) -> int | None:
    """Find the integer threshold that agrees with every input, None if there is none."""
    parts = [a * k for a, k in zip(integers, counts, strict=True)]
    if sum(int(np.abs(part).max()) for part in parts) >= _LARGEST_SUM:
        return None
    base = error = 0.0
    for part, term in zip(parts, terms, strict=True):
        rest = term - unit * part
        middle = (float(rest.max()) + float(rest.min())) / 2
        base += middle
        error += float(np.abs(rest - middle).max())
    # The errors of these sums themselves are far below the noise that is added twice.
    reach = (error + 2 * noise) / unit
    centre = (threshold - base) / unit
    if abs(centre) + reach >= _LARGEST_SUM:
        low = sum(int(part.min()) for part in parts)
        high = sum(int(part.max()) for part in parts)
        return (
            None
            if low <= centre + reach and centre - reach <= high
            else (low if centre < low else high + 1)
        )
    first, last = int(np.ceil(centre - reach)), int(np.floor(centre + reach))
    if first > last:
        return first
    span = sum(int(part.max()) - int(part.min()) for part in parts) + 1
    n_inputs = float(np.prod([float(len(part)) for part in parts]))
    if n_inputs * min(1.0, (last - first + 1) / span) > _MOST_CRITICAL:
        return None  # about so many inputs would have to be compared
    critical = _sums_between(parts, first, last)
    if critical is None:
        return None
    sums, places = critical
    total = np.zeros(len(sums))
    for term, place in zip(terms, places, strict=True):
        total += term[place]
    is_on = total >= threshold
    highest_off = int(sums[~is_on].max()) if not is_on.all() else first - 1
    lowest_on = int(sums[is_on].min()) if is_on.any() else last + 1
    return highest_off + 1 if highest_off < lowest_on else None


def _sums_between(
    parts: list[Integers], first: int, last: int
) -> tuple[Integers, list[Integers]] | None:
    """All sums in ``first..last`` of one entry of every part, with the entries that make them."""
    sizes = np.array([len(part) for part in parts], dtype=float)
    cut = int(np.argmin([max(sizes[:i].prod(), sizes[i:].prod()) for i in range(len(parts) + 1)]))
    if max(sizes[:cut].prod(), sizes[cut:].prod()) > _MOST_SUMS:
        return None
    left, right = _all_sums(parts[:cut]), _all_sums(parts[cut:])
    order = np.argsort(right, kind="stable")
    ascending = right[order]
    start = np.searchsorted(ascending, first - left, side="left")
    stop = np.searchsorted(ascending, last - left, side="right")
    width = stop - start
    if width.sum() > _MOST_CRITICAL:
        return None
    i = np.repeat(np.arange(len(left)), width)
    within = np.arange(len(i)) - np.repeat(np.cumsum(width) - width, width)
    j = order[start[i] + within]
    places = [*_places(i, parts[:cut]), *_places(j, parts[cut:])]
    return left[i] + right[j], places


def _all_sums(parts: list[Integers]) -> Integers:
    sums = np.zeros(1, dtype=np.int64)
    for part in parts:
        sums = (sums[:, None] + part).reshape(-1)
    return sums


def _places(index: Integers, parts: list[Integers]) -> list[Integers]:
    """Entries that make the sum of a number, the last part running fastest."""
    places = []
    for part in reversed(parts):
        index, place = np.divmod(index, len(part))
        places.append(place)
    return places[::-1]
