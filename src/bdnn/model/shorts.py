"""Compiled prediction of a row by sums of 16 bits: of networks of steps with small whole weights.

Twice to four times as many sums are added at once as by doubles, and whole sums do not round.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled, part
from bdnn.model.kernels import (
    COUNTS,
    REFUSED,
    Floats,
    Integers,
    Shorts,
    Words,
    find_bins,
    has_refused,
    predict_row,
)

#: Rows of 16 bits are filled up to so many.
LANES = 32
#: Integers that :func:`predict_small_row` reads first.
HEAD = 5


@partial(part, is_apart=True)
def _encode(
    row: Floats, integers: Integers, terms: int, floats: Floats, step: int, inputs: Shorts
) -> bool:
    """Write the numbers of a row in steps; returns false if one of them has no room."""
    unit, odd, most = floats[step], 0, integers[0]
    inverse = 1.0 / unit if unit > 0.0 else 1.0
    for k in range(len(inputs)):
        column, at = integers[terms + 2 * k], step + 1 + len(row) + 3 * k
        x = row[column]
        if x != x:
            x = floats[step + 1 + column]
        if integers[terms + 2 * k + 1]:
            x = (floats[at + 2] if x == floats[at] else floats[at + 1]) * inverse
        elif unit > 0.0:
            x = (x - floats[at]) * (floats[at + 1] * inverse)
        whole = np.rint(x)
        odd |= not abs(whole) <= most
        odd |= unit == 0.0 and whole != x
        inputs[k] = np.int16(np.int32(whole))
    return odd == 0


@partial(part, is_apart=True)
def _add_weighted(inputs: Shorts, shorts: Shorts, weights: int, sums: Shorts) -> None:
    """Add rows of weights times inputs, four at once."""
    width, by_a = np.uint64(len(sums)), np.uint64(weights)
    whole = len(inputs) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = inputs[k], inputs[k + 1], inputs[k + 2], inputs[k + 3]
        by_b, by_c, by_d = by_a + width, by_a + width + width, by_a + width + width + width
        for u in range(width):
            ab = shorts[by_a + u] * a + shorts[by_b + u] * b
            sums[u] += ab + shorts[by_c + u] * c + shorts[by_d + u] * d
        by_a = by_d + width
    for k in range(whole, len(inputs)):
        a = inputs[k]
        for u in range(width):
            sums[u] += shorts[by_a + u] * a
        by_a += width


@partial(part, is_apart=True)
def _add_rows(places: Words, n_places: np.int64, shorts: Shorts, table: int, sums: Shorts) -> None:
    """Add rows of a table, eight at once."""
    width, first = np.uint64(len(sums)), np.uint64(table)
    whole = n_places // 8 * 8
    for i in range(0, whole, 8):
        a, b = first + places[i] * width, first + places[i + 1] * width
        c, d = first + places[i + 2] * width, first + places[i + 3] * width
        e, f = first + places[i + 4] * width, first + places[i + 5] * width
        g, h = first + places[i + 6] * width, first + places[i + 7] * width
        for u in range(width):
            abcd = shorts[a + u] + shorts[b + u] + shorts[c + u] + shorts[d + u]
            efgh = shorts[e + u] + shorts[f + u] + shorts[g + u] + shorts[h + u]
            sums[u] += abcd + efgh
    for i in range(whole, n_places):
        a = first + places[i] * width
        for u in range(width):
            sums[u] += shorts[a + u]


@partial(part, is_apart=True)
def _list_active(
    sums: Shorts, shorts: Shorts, limits: int, n_units: int, places: Words
) -> np.int64:
    """Write which units are on, and return how many."""
    first, n_active = np.uint64(limits), np.uint64(0)
    for u in range(np.uint64(n_units)):
        places[n_active] = u
        n_active += np.uint64(sums[u] >= shorts[first + u])
    return np.int64(n_active)


@compiled
def predict_small_row(row: Floats, data: NDArray[np.uint8]) -> int:
    """As :func:`predict_row`, without scores.

    The bytes begin with how many steps large numbers may be, with the ends of the integers and
    doubles that follow, with where the shorts begin, and with how many of the first units no bin
    tells by itself. The shorts are the weights of the numbers and the table, both in steps, and
    limits of these units; then weights and limits of every further layer. Between those of the
    second is what the units that bins tell add to it, if there are any. Rows are filled up to
    multiples of lanes.
    """
    integers, floats, shorts = data.view(np.int64), data.view(np.float64), data.view(np.int16)
    step, place = integers[1] // 8, integers[3] // 2
    n_terms, n_groups, n_rows = integers[HEAD], integers[HEAD + 1], integers[HEAD + 3]
    n_layers, n_open, terms = integers[HEAD + 4], integers[4], HEAD + COUNTS
    groups = terms + 2 * n_terms
    shapes = groups + 4 * n_groups
    if has_refused(row, floats, step + 1):
        return REFUSED
    inputs = np.empty(n_terms, dtype=np.int16)
    if not _encode(row, integers, terms, floats, step, inputs):
        end = integers[2] // 8
        scores = np.empty(integers[shapes + 3 * n_layers - 2])
        return predict_row(row, integers[HEAD:step], floats[step:end], scores)
    widest = n_groups
    for layer in range(n_layers):
        widest = max(widest, integers[shapes + 3 * layer + 1])
    bins, places = np.empty(n_groups, dtype=np.uint64), np.empty(widest, dtype=np.uint64)
    cuts = step + 1 + len(row) + 3 * n_terms
    find_bins(row, integers, groups, floats, cuts, bins)
    best, most_score, n_places = 0, -np.inf, np.int64(0)
    for layer in range(n_layers):
        at = shapes + 3 * layer
        n_inputs, n_units, n_levels = integers[at], integers[at + 1], integers[at + 2]
        if layer == 0:
            n_units = n_open
        sums = np.zeros(-(-n_units // LANES) * LANES, dtype=np.int16)
        if layer == 0:
            _add_weighted(inputs, shorts, place, sums)
            place += n_terms * len(sums)
        else:
            _add_rows(places, n_places, shorts, place, sums)
            place += (n_open if layer == 1 else n_inputs) * len(sums)
        if layer == 0 or (layer == 1 and n_open < integers[shapes + 1]):
            _add_rows(bins, n_groups, shorts, place, sums)
            place += n_rows * len(sums)
        if layer + 1 < n_layers:
            n_places = _list_active(sums, shorts, place, n_units, places)
            place += len(sums)
            continue
        first = integers[2] // 8 - n_units - (n_levels + 1 if n_levels else 0)
        unit = floats[step] if layer == 0 and floats[step] > 0.0 else 1.0
        for u in range(n_units):
            score, threshold = sums[u] * unit, floats[first + u]
            score = (1.0 if score >= threshold else 0.0) if n_levels else score - threshold
            if score > most_score:
                best, most_score = u, score
    return best


@compiled
def predict_few(X: Floats, found: Integers, data: NDArray[np.uint8]) -> int:
    """Write the classes of rows one by one; returns the one that is refused, or their number."""
    for r in range(len(X)):
        found[r] = predict_small_row(X[r], data)
        if found[r] < 0:
            return r
    return len(X)
