"""Compiled prediction of a row: from codes to its class, bit for bit as the forward pass.

Numbers are scaled and multiplied. The bits of a column depend on its bin alone, which is how many
cuts its value reaches, or that it is missing; so every bin has a row of what its bits add to the
sums of the first units. All are added as doubles in the order of the inputs, as the forward pass
does. See ``shorts`` for sums of 16 bits, and ``sliced`` for many rows.

All goes by places in a few long arrays: an array that is cut out of another one takes as long as
a hundred cells. In hot loops places have no sign, as one below 0 would be counted from the end.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled, part
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.limits import LARGEST_INPUT

#: Integers of a model before its terms.
COUNTS = 5
#: What a prediction returns where a cell is missing or too large for any.
REFUSED = -1

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int16]
Words = NDArray[np.uint64]


@part
def is_refused(x: float, fill: float) -> bool:
    """Whether a cell is too large, or is missing and nothing stands in for it."""
    return not abs(x) <= LARGEST_INPUT and (x == x or fill != fill)


@part
def has_refused(row: Floats, floats: Floats, fills: int) -> bool:
    """Whether a cell of a row is."""
    found = False
    for j in range(len(row)):
        found |= is_refused(row[j], floats[fills + j])
    return found


@partial(part, is_apart=True)
def find_bins(
    row: Floats, integers: Integers, groups: int, floats: Floats, cuts: int, places: Words
) -> None:
    """Write which rows of the table the bits of a row add to the sums of the first units."""
    for g in range(len(places)):
        at = groups + 4 * g
        x, first, n_cuts = row[integers[at]], integers[at + 1], integers[at + 2] - integers[at + 1]
        reached, start = n_cuts + 1, np.uint64(cuts + first)
        if x == x:
            reached = 0
            for i in range(np.uint64(n_cuts)):
                reached += x >= floats[start + i]
        places[g] = integers[at + 3] + reached


@partial(part, is_apart=True)
def _encode(row: Floats, terms: Integers, floats: Floats, values: int, inputs: Floats) -> None:
    """Write the numbers of a row as the network takes them."""
    step = floats[0]
    for k in range(len(inputs)):
        x, at = row[terms[2 * k]], values + 3 * k
        if x != x:
            x = floats[1 + terms[2 * k]]
        if terms[2 * k + 1]:
            x = floats[at + 2] if x == floats[at] else floats[at + 1]
        elif step > 0.0:
            x = min(max((x - floats[at]) * floats[at + 1], -LARGEST_SCALED), LARGEST_SCALED)
            x = np.rint(x / step) * step
        inputs[k] = x


@partial(part, is_apart=True)
def _add_weighted(
    inputs: Floats, n_inputs: int, floats: Floats, weights: int, sums: Floats, others: Words
) -> None:
    """Add rows of weights times inputs, in the order of the inputs."""
    n_units, first = np.uint64(len(sums)), np.uint64(weights)
    # Inputs that are 0 add nothing, and are many.
    n_others = 0
    for k in range(n_inputs):
        others[n_others] = k
        n_others += inputs[k] != 0.0
    # Four inputs at once, each added by itself: fewer stores, and no other rounding.
    whole = n_others // 4 * 4
    for i in range(0, whole, 4):
        j, k, m, n = others[i], others[i + 1], others[i + 2], others[i + 3]
        a, b, c, d = inputs[j], inputs[k], inputs[m], inputs[n]
        by_a, by_b = first + j * n_units, first + k * n_units
        by_c, by_d = first + m * n_units, first + n * n_units
        for u in range(n_units):
            ab = (sums[u] + floats[by_a + u] * a) + floats[by_b + u] * b
            sums[u] = (ab + floats[by_c + u] * c) + floats[by_d + u] * d
    for i in range(whole, n_others):
        by_a, a = first + others[i] * n_units, inputs[others[i]]
        for u in range(n_units):
            sums[u] += floats[by_a + u] * a


@partial(part, is_apart=True)
def _add_bins(places: Words, floats: Floats, table: int, sums: Floats) -> None:
    """Add rows of the table."""
    n_units = np.uint64(len(sums))
    for i in range(len(places)):
        at = np.uint64(table) + places[i] * n_units
        for u in range(n_units):
            sums[u] += floats[at + u]


@compiled
def predict_row(row: Floats, integers: Integers, floats: Floats, scores: Floats) -> int:
    """Write the scores of a row, and return the place of the largest, or that it is refused.

    The integers begin with how many terms, groups, cuts, rows of the table and layers there are,
    and the doubles with the step. A term is a column, and whether it is the indicator of a text. A
    group is a column, the places of its cuts from first to last, and its first row of the table. A
    layer has inputs, units and thresholds per unit; without these, scores are sums minus
    thresholds. The doubles are what stands in for missing values; three numbers per term, which
    are shift and factor, or the text's code and the numbers for others and for it; cuts; the table;
    and of every layer in turn weights by input, thresholds by unit and the values of units.
    """
    n_terms, n_groups, n_cuts, n_rows, n_layers = integers[:COUNTS]
    terms = integers[COUNTS : COUNTS + 2 * n_terms]
    groups = COUNTS + 2 * n_terms
    shapes = groups + 4 * n_groups
    values = 1 + len(row)
    cuts = values + 3 * n_terms
    table = cuts + n_cuts
    place = table + n_rows * integers[shapes + 1]
    if has_refused(row, floats, 1):
        return REFUSED
    before = np.empty(n_terms)
    _encode(row, terms, floats, values, before)
    for layer in range(n_layers):
        at = shapes + 3 * layer
        n_inputs, n_units, n_levels = integers[at], integers[at + 1], integers[at + 2]
        sums = np.zeros(n_units)
        _add_weighted(before, n_inputs, floats, place, sums, np.empty(n_inputs + 1, np.uint64))
        if layer == 0:
            places = np.empty(n_groups, dtype=np.uint64)
            find_bins(row, integers, groups, floats, cuts, places)
            _add_bins(places, floats, table, sums)
        limits = place + n_inputs * n_units
        place = limits + n_units * max(1, n_levels)
        for u in range(n_units):
            if n_levels == 0:
                sums[u] -= floats[limits + u]
                continue
            level = 0
            for i in range(limits + u * n_levels, limits + (u + 1) * n_levels):
                level += sums[u] >= floats[i]
            sums[u] = floats[place + level]
        place += n_levels + 1 if n_levels else 0
        before = sums
    best = 0
    for u in range(len(before)):
        scores[u] = before[u]
        if before[u] > before[best]:
            best = u
    return best


@compiled
def predict_each(
    X: Floats, found: Integers, integers: Integers, floats: Floats, n_outputs: int
) -> int:
    """Write the classes of rows one by one; returns the one that is refused, or their number."""
    scores = np.empty(n_outputs)
    for r in range(len(X)):
        found[r] = predict_row(X[r], integers, floats, scores)
        if found[r] < 0:
            return r
    return len(X)
