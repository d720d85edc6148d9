"""Compiled prediction of a row: from codes to its class, bit for bit as the forward pass.

Numbers are scaled and multiplied. The bits of a column depend on its bin alone, which is how many
cuts its value reaches, or that it is missing; so every bin has a row of what its bits add to the
sums of the first units. All are added as doubles in the order of the inputs, as the forward pass
does. See ``sliced`` for many rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled, part
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.limits import LARGEST_INPUT

#: Rows of 16 bits are filled up to so many.
LANES = 32
#: Bytes of what :func:`predict_small_row` reads first.
HEAD = 32
#: What a prediction returns where a cell is missing or too large for any.
REFUSED = -1

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int16]


@part
def is_refused(x: float, fill: float) -> bool:
    """Whether a cell is too large, or is missing and nothing stands in for it."""
    return not abs(x) <= LARGEST_INPUT and (x == x or fill != fill)


@part
def _find_bins(row: Floats, groups: Integers, cuts: Floats, places: Integers) -> None:
    """Write which rows of the table the bits of a row add to the sums of the first units."""
    for g in range(len(groups)):
        column, first, last, start = groups[g]
        x = row[column]
        reached = last - first + 1
        if x == x:
            reached = 0
            for cut in cuts[first:last]:
                reached += x >= cut
        places[g] = start + reached


@part
def _parts(
    n_columns: int, integers: Integers, floats: Floats
) -> tuple[Integers, Integers, Integers, Floats, Floats, Floats, int]:
    """Terms, groups and layers; fills, values and cuts, and where the doubles go on."""
    n_terms, n_groups, n_cuts, _, n_layers = integers[:5]
    at = 5
    terms = integers[at : at + 2 * n_terms].reshape(n_terms, 2)
    at += 2 * n_terms
    groups = integers[at : at + 4 * n_groups].reshape(n_groups, 4)
    at += 4 * n_groups
    shapes = integers[at : at + 3 * n_layers].reshape(n_layers, 3)
    fills = floats[1 : 1 + n_columns]
    place = 1 + n_columns
    values = floats[place : place + 3 * n_terms].reshape(n_terms, 3)
    place += 3 * n_terms
    return terms, groups, shapes, fills, values, floats[place : place + n_cuts], place + n_cuts


@compiled
def predict_row(row: Floats, integers: Integers, floats: Floats, scores: Floats) -> int:
    """Write the scores of a row, and return the place of the largest, or that it is refused.

    All numbers of a model stand one after the other, because every array costs a call 0.1 us. The
    integers begin with how many terms, groups, cuts, rows of the table and layers there are, and
    the doubles with the step. A term is a column, and whether it is the indicator of a text. A
    group is a column, the places of its cuts from first to last, and its first row of the table. A
    layer has inputs, units and thresholds per unit; without these, scores are sums minus
    thresholds. The doubles are what stands in for missing values; three numbers per term, which
    are shift and factor, or the text's code and the numbers for others and for it; cuts; the table;
    and of every layer in turn weights by input, thresholds by unit and the values of units.
    """
    terms, groups, shapes, fills, values, cuts, place = _parts(len(row), integers, floats)
    n_terms, n_layers, step = len(terms), len(shapes), floats[0]
    table = floats[place : place + integers[3] * shapes[0, 1]].reshape(integers[3], shapes[0, 1])
    place += table.size
    for j in range(len(row)):
        if is_refused(row[j], fills[j]):
            return REFUSED
    before = np.empty(n_terms)
    for k in range(n_terms):
        x = row[terms[k, 0]]
        if x != x:
            x = fills[terms[k, 0]]
        if terms[k, 1]:
            x = values[k, 2] if x == values[k, 0] else values[k, 1]
        elif step > 0.0:
            x = min(max((x - values[k, 0]) * values[k, 1], -LARGEST_SCALED), LARGEST_SCALED)
            x = np.rint(x / step) * step
        before[k] = x
    for layer in range(n_layers):
        n_inputs, n_units, n_levels = shapes[layer]
        sums = np.zeros(n_units)
        weights = floats[place : place + n_inputs * n_units].reshape(n_inputs, n_units)
        # Inputs that are 0 add nothing, and are many.
        others, n_others = np.empty(n_inputs, dtype=np.int64), 0
        for k in range(n_inputs):
            others[n_others] = k
            n_others += before[k] != 0.0
        # Four inputs at once, each added by itself: fewer stores, and no other rounding.
        whole = n_others // 4 * 4
        for i in range(0, whole, 4):
            j, k, m, n = others[i], others[i + 1], others[i + 2], others[i + 3]
            a, b, c, d = before[j], before[k], before[m], before[n]
            by_a, by_b, by_c, by_d = weights[j], weights[k], weights[m], weights[n]
            for u in range(n_units):
                sums[u] = (((sums[u] + by_a[u] * a) + by_b[u] * b) + by_c[u] * c) + by_d[u] * d
        for k in others[whole:n_others]:
            by_a, a = weights[k], before[k]
            for u in range(n_units):
                sums[u] += by_a[u] * a
        if layer == 0:
            places = np.empty(len(groups), dtype=np.int64)
            _find_bins(row, groups, cuts, places)
            for bin_row in places:
                by_bin = table[bin_row]
                for u in range(n_units):
                    sums[u] += by_bin[u]
        place += n_inputs * n_units
        limits = floats[place : place + n_units * max(1, n_levels)]
        place += len(limits)
        if n_levels == 0:
            for u in range(n_units):
                sums[u] -= limits[u]
        else:
            for u in range(n_units):
                level = 0
                for limit in limits[u * n_levels : (u + 1) * n_levels]:
                    level += sums[u] >= limit
                sums[u] = floats[place + level]
            place += n_levels + 1
        before = sums
    best = 0
    for u in range(len(before)):
        scores[u] = before[u]
        if before[u] > before[best]:
            best = u
    return best


@part
def _small_inputs(
    row: Floats, terms: Integers, values: Floats, floats: Floats, most: int, levels: Shorts
) -> bool:
    """Write the numbers of a row in steps; returns false if one of them has no room."""
    step, fills, odd = floats[0], floats[1:], 0
    inverse = 1.0 / step if step > 0.0 else 1.0
    for k in range(len(terms)):
        x = row[terms[k, 0]]
        if x != x:
            x = fills[terms[k, 0]]
        if terms[k, 1]:
            levels[k] = np.int16((values[k, 2] if x == values[k, 0] else values[k, 1]) * inverse)
            continue
        if step > 0.0:
            x = (x - values[k, 0]) * (values[k, 1] * inverse)
        whole = np.rint(x)
        odd |= not abs(whole) <= most
        odd |= step == 0.0 and whole != x
        levels[k] = np.int16(np.int32(whole))
    return odd == 0


@part
def _add_weighted(inputs: Shorts, weights: Shorts, sums: Shorts) -> None:
    """Add rows of weights times inputs, four at once."""
    whole = len(inputs) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = inputs[k], inputs[k + 1], inputs[k + 2], inputs[k + 3]
        by_a, by_b, by_c, by_d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for u in range(len(sums)):
            sums[u] += by_a[u] * a + by_b[u] * b + by_c[u] * c + by_d[u] * d
    for k in range(whole, len(inputs)):
        by_a, a = weights[k], inputs[k]
        for u in range(len(sums)):
            sums[u] += by_a[u] * a


@part
def _add_rows(places: Integers, table: Shorts, sums: Shorts) -> None:
    """Add rows of a table, eight at once."""
    whole = len(places) // 8 * 8
    for i in range(0, whole, 8):
        at = places[i : i + 8]
        a, b, c, d = table[at[0]], table[at[1]], table[at[2]], table[at[3]]
        e, f, g, h = table[at[4]], table[at[5]], table[at[6]], table[at[7]]
        for u in range(len(sums)):
            sums[u] += a[u] + b[u] + c[u] + d[u] + e[u] + f[u] + g[u] + h[u]
    for i in range(whole, len(places)):
        a = table[places[i]]
        for u in range(len(sums)):
            sums[u] += a[u]


@compiled
def predict_small_row(row: Floats, data: NDArray[np.uint8]) -> int:
    """As :func:`predict_row` by sums of 16 bits, without scores.

    The bytes begin with how many steps large numbers may be, with the ends of the integers and
    doubles that follow, and with where the shorts begin. The shorts are the weights of the numbers
    and the table, both in steps, and limits of the first units; then weights and limits of every
    further layer. Their rows are filled up to multiples of lanes.
    """
    most, at_floats, end, at_shorts = data[:HEAD].view(np.int64)
    integers = data[HEAD:at_floats].view(np.int64)
    floats = data[at_floats:end].view(np.float64)
    shorts = data[at_shorts:].view(np.int16)
    terms, groups, shapes, fills, values, cuts, _ = _parts(len(row), integers, floats)
    step, n_layers = floats[0], len(shapes)
    for j in range(len(row)):
        if is_refused(row[j], fills[j]):
            return REFUSED
    inputs = np.empty(len(terms), dtype=np.int16)
    if not _small_inputs(row, terms, values, floats, most, inputs):
        return predict_row(row, integers, floats, np.empty(shapes[-1, 1]))
    places = np.empty(max(len(groups), shapes[:, 1].max()), dtype=np.int64)
    n_places = len(groups)
    _find_bins(row, groups, cuts, places)
    place, best, most_score = 0, 0, -np.inf
    for layer in range(n_layers):
        n_inputs, n_units, n_levels = shapes[layer]
        width = -(-n_units // LANES) * LANES
        sums = np.zeros(width, dtype=np.int16)
        if layer == 0:
            weights = shorts[: n_inputs * width].reshape(n_inputs, width)
            place, n_inputs = weights.size, integers[3]
            _add_weighted(inputs, weights, sums)
        # Bins of the row, or the units before that are on.
        table = shorts[place : place + n_inputs * width].reshape(n_inputs, width)
        place += table.size
        _add_rows(places[:n_places], table, sums)
        if layer + 1 < n_layers:
            n_places = 0
            for u in range(n_units):
                places[n_places] = u
                n_places += sums[u] >= shorts[place + u]
            place += width
            continue
        first = len(floats) - n_units - (n_levels + 1 if n_levels else 0)
        unit = step if layer == 0 and step > 0.0 else 1.0
        for u in range(n_units):
            score, threshold = sums[u] * unit, floats[first + u]
            score = (1.0 if score >= threshold else 0.0) if n_levels else score - threshold
            if score > most_score:
                best, most_score = u, score
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


@compiled
def predict_few(X: Floats, found: Integers, data: NDArray[np.uint8]) -> int:
    """As :func:`predict_each` by sums of 16 bits."""
    for r in range(len(X)):
        found[r] = predict_small_row(X[r], data)
        if found[r] < 0:
            return r
    return len(X)
