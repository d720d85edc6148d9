"""Compiled prediction: from codes of raw columns to classes, bit for bit as the forward pass.

One row goes through doubles, which are added in the order of the inputs as the forward pass does.
Many rows go through whole numbers of 16 bits, with a block of rows in the lanes of the processor;
a block with numbers that have no room there goes row by row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.limits import LARGEST_INPUT

#: What an input is: a scaled number, or one of two values by a comparison of the raw one.
NUMBER, AT_LEAST, IS, MISSING = range(4)
#: What a prediction returns where a cell is missing or too large for any.
REFUSED = -1

_ROWS = 256

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int16]


@compiled
def encode_row(
    row: Floats, fills: Floats, terms: Integers, values: Floats, step: float, out: Floats
) -> bool:
    """Write the inputs of a row of codes; false for a cell that is refused."""
    for j in range(len(fills)):
        x = row[j]
        if not abs(x) <= LARGEST_INPUT and (x == x or fills[j] != fills[j]):
            return False
    for k in range(len(terms)):
        column, kind, is_filled = terms[k, 0], terms[k, 1], terms[k, 2]
        x = row[column]
        if x != x and is_filled:
            x = fills[column]
        if kind == NUMBER:
            if step > 0.0:
                x = (x - values[k, 0]) * values[k, 1]
                x = min(max(x, -LARGEST_SCALED), LARGEST_SCALED)
                x = np.rint(x / step) * step
            out[k] = x
            continue
        if kind == AT_LEAST:
            is_on = x >= values[k, 0]
        elif kind == IS:
            is_on = x == values[k, 0]
        else:
            is_on = x != x
        out[k] = values[k, 3] if is_on else values[k, 2]
    return True


@compiled
def predict_row(
    row: Floats,
    fills: Floats,
    terms: Integers,
    values: Floats,
    step: float,
    shapes: Integers,
    parameters: Floats,
    scores: Floats,
) -> int:
    """Write the scores of a row, and return the place of the largest, or that it is refused.

    ``shapes`` has a line of inputs, units and thresholds per unit for every layer, ``parameters``
    the weights by input, the thresholds by unit and the values of units of every layer in turn.
    A last layer without values has sums minus thresholds for scores.
    """
    before = np.empty(len(terms))
    if not encode_row(row, fills, terms, values, step, before):
        return REFUSED
    place = 0
    for layer in range(len(shapes)):
        n_inputs, n_units, n_levels = shapes[layer]
        sums = np.zeros(n_units)
        weights = parameters[place : place + n_inputs * n_units].reshape(n_inputs, n_units)
        # Four inputs at once, each added by itself: fewer stores, and no other rounding.
        whole = n_inputs // 4 * 4
        for k in range(0, whole, 4):
            a, b, c, d = before[k], before[k + 1], before[k + 2], before[k + 3]
            by_a, by_b, by_c, by_d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            for u in range(n_units):
                sums[u] = (((sums[u] + by_a[u] * a) + by_b[u] * b) + by_c[u] * c) + by_d[u] * d
        for k in range(whole, n_inputs):
            by_a, a = weights[k], before[k]
            for u in range(n_units):
                sums[u] += by_a[u] * a
        place += n_inputs * n_units
        limits = parameters[place : place + n_units * max(1, n_levels)]
        place += len(limits)
        if n_levels == 0:
            for u in range(n_units):
                sums[u] -= limits[u]
        else:
            for u in range(n_units):
                level = 0
                for limit in limits[u * n_levels : (u + 1) * n_levels]:
                    level += sums[u] >= limit
                sums[u] = parameters[place + level]
            place += n_levels + 1
        before = sums
    best = 0
    for u in range(len(before)):
        scores[u] = before[u]
        if before[u] > before[best]:
            best = u
    return best


@compiled
def _encode_block(
    X: Floats,
    fills: Floats,
    terms: Integers,
    values: Floats,
    step: float,
    most: float,
    column: tuple[Floats, Floats],
    levels: Shorts,
) -> int:
    """Write the inputs of a block in multiples of the step, one line each.

    Returns 0, 1 if a number is no multiple or larger than ``most``, or what says refused.
    """
    raw, filled = column
    unit = step if step > 0.0 else 1.0
    inverse = 1.0 / unit
    n_rows, known, has_gaps, odd = len(X), -1, False, 0
    for r in range(n_rows):
        for j in range(len(fills)):
            odd |= not abs(X[r, j]) <= LARGEST_INPUT
    if odd:
        for r in range(n_rows):
            for j in range(len(fills)):
                x = X[r, j]
                if not abs(x) <= LARGEST_INPUT and (x == x or fills[j] != fills[j]):
                    return REFUSED
        has_gaps, odd = True, 0
    for k in range(len(terms)):
        if terms[k, 0] != known:
            known = terms[k, 0]
            for r in range(n_rows):
                raw[r] = X[r, known]
            if has_gaps:
                fill = fills[known]
                for r in range(n_rows):
                    filled[r] = raw[r] if raw[r] == raw[r] else fill
        seen = filled if has_gaps and terms[k, 2] else raw
        kind, line = terms[k, 1], levels[k]
        if kind == NUMBER:
            shift, factor = values[k, 0], values[k, 1]
            for r in range(n_rows):
                x = seen[r]
                if step > 0.0:
                    x = (x - shift) * factor
                    x = -LARGEST_SCALED if x < -LARGEST_SCALED else x
                    x = LARGEST_SCALED if x > LARGEST_SCALED else x
                whole = np.rint(x * inverse)
                odd |= not abs(whole) <= most
                odd |= step == 0.0 and whole != x
                line[r] = np.int16(np.int32(whole))
            continue
        value = values[k, 0]
        off, on = np.int16(values[k, 2] * inverse), np.int16(values[k, 3] * inverse)
        if kind == AT_LEAST:
            for r in range(n_rows):
                line[r] = on if seen[r] >= value else off
        elif kind == IS:
            for r in range(n_rows):
                line[r] = on if seen[r] == value else off
        else:
            for r in range(n_rows):
                line[r] = on if seen[r] != seen[r] else off
    return int(odd != 0)


@compiled
def _sum_block(
    levels: Shorts, places: Integers, weights: Shorts, first: int, last: int, sums: Shorts
) -> None:
    """Sum some lines times their weights, four at once so that sums are seldom stored."""
    for r in range(_ROWS):
        sums[r] = 0
    whole = first + (last - first) // 4 * 4
    for i in range(first, whole, 4):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        line_a, line_b = levels[places[i]], levels[places[i + 1]]
        line_c, line_d = levels[places[i + 2]], levels[places[i + 3]]
        for r in range(_ROWS):
            sums[r] += a * line_a[r] + b * line_b[r] + c * line_c[r] + d * line_d[r]
    for i in range(whole, last):
        a, line_a = weights[i], levels[places[i]]
        for r in range(_ROWS):
            sums[r] += a * line_a[r]


@compiled
def predict_rows(
    X: Floats,
    found: Integers,
    fills: Floats,
    terms: Integers,
    values: Floats,
    step: float,
    shapes: Integers,
    parameters: Floats,
    most: float,
    widths: Integers,
    starts: Integers,
    places: Integers,
    weights: Shorts,
    limits: Shorts,
    thresholds: Floats,
    by_output: bool,
) -> int:
    """Write the classes of rows; returns the row that is refused, or the number of rows.

    Unit ``u`` of all layers adds the inputs ``places[starts[u]:starts[u + 1]]`` of its layer,
    times their weights; hidden units have limits, outputs thresholds. Numbers may be up to
    ``most`` steps large, 0 if no row may go this way.
    """
    n_outputs, largest = widths[-1], len(terms)
    for width in widths:
        largest = max(largest, width)
    before = np.zeros((largest, _ROWS), dtype=np.int16)
    after = np.zeros((largest, _ROWS), dtype=np.int16)
    column = (np.zeros(_ROWS), np.zeros(_ROWS))
    sums, best, scores = np.zeros(_ROWS, dtype=np.int16), np.zeros(_ROWS), np.zeros(n_outputs)
    unit = step if step > 0.0 and len(widths) == 1 else 1.0
    for first in range(0, len(X), _ROWS):
        block = X[first : first + _ROWS]
        kind = 1
        if most > 0.0:
            kind = _encode_block(block, fills, terms, values, step, most, column, before)
        if kind:
            for r in range(len(block)):
                row = block[r]
                found[first + r] = predict_row(
                    row, fills, terms, values, step, shapes, parameters, scores
                )
                if found[first + r] < 0:
                    return first + r
            continue
        u = 0
        for layer in range(len(widths) - 1):
            for i in range(widths[layer]):
                _sum_block(before, places, weights, starts[u], starts[u + 1], sums)
                limit, line = limits[u], after[i]
                for r in range(_ROWS):
                    line[r] = sums[r] >= limit
                u += 1
            before, after = after, before
        for i in range(n_outputs):
            _sum_block(before, places, weights, starts[u], starts[u + 1], sums)
            u += 1
            threshold = thresholds[i]
            for r in range(len(block)):
                score = sums[r] * unit
                if by_output:
                    score = 1.0 if score >= threshold else 0.0
                else:
                    score -= threshold
                if i == 0 or score > best[r]:
                    best[r] = score
                    found[first + r] = i
    return len(X)
