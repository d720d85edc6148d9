"""Compiled prediction: from codes of raw columns to classes, bit for bit as the forward pass.

Numbers are scaled and multiplied. The bits of a column depend on its bin alone, which is how many
cuts its value reaches, or that it is missing; so every bin has a row of what its bits add to the
sums of the first units. One row goes through doubles, which are added in the order of the inputs as
the forward pass does. Many rows go through whole numbers of 16 bits, a block of rows at a time; a
block with numbers that have no room there goes row by row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.limits import LARGEST_INPUT

#: What a prediction returns where a cell is missing or too large for any.
REFUSED = -1

#: Loops of known length are vectors: of so many rows, and of units in tables of so many columns.
_ROWS, LANES = 256, 32

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int16]


@compiled
def _is_refused(x: float, fill: float) -> bool:
    """Whether a cell is too large, or is missing and nothing stands in for it."""
    return not abs(x) <= LARGEST_INPUT and (x == x or fill != fill)


@compiled
def _add_bins(row: Floats, groups: Integers, cuts: Floats, table: Floats, sums: Floats) -> None:
    """Add what the bits of a row add to the sums of the first units."""
    for g in range(len(groups)):
        column, first, last, start = groups[g]
        x = row[column]
        reached = last - first + 1
        if x == x:
            reached = 0
            for cut in cuts[first:last]:
                reached += x >= cut
        by_bin = table[start + reached]
        for u in range(len(sums)):
            sums[u] += by_bin[u]


@compiled
def predict_row(
    row: Floats,
    fills: Floats,
    terms: Integers,
    values: Floats,
    step: float,
    groups: Integers,
    cuts: Floats,
    table: Floats,
    shapes: Integers,
    parameters: Floats,
    scores: Floats,
) -> int:
    """Write the scores of a row, and return the place of the largest, or that it is refused.

    A term is a column, and whether it is the indicator of a text; its values are shift and factor,
    or the text's code and the numbers for others and for it. A group is a column, the places of its
    cuts from first to last, and its first row of the table. ``shapes`` has a line of inputs, units
    and thresholds per unit for every layer, ``parameters`` the weights by input, the thresholds by
    unit and the values of units of every layer in turn. A layer without thresholds per unit has
    sums minus thresholds for scores.
    """
    for j in range(len(fills)):
        if _is_refused(row[j], fills[j]):
            return REFUSED
    before = np.empty(len(terms))
    for k in range(len(terms)):
        x = row[terms[k, 0]]
        if x != x:
            x = fills[terms[k, 0]]
        if terms[k, 1]:
            x = values[k, 2] if x == values[k, 0] else values[k, 1]
        elif step > 0.0:
            x = min(max((x - values[k, 0]) * values[k, 1], -LARGEST_SCALED), LARGEST_SCALED)
            x = np.rint(x / step) * step
        before[k] = x
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
        if layer == 0:
            _add_bins(row, groups, cuts, table, sums)
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
    levels: Shorts,
) -> bool:
    """Write the numbers of a block in multiples of the step, one line each.

    Returns false if a cell is refused, or a number is no multiple or larger than ``most``.
    """
    raw = np.empty(_ROWS)
    inverse = 1.0 / step if step > 0.0 else 1.0
    odd = 0
    for r in range(len(X)):
        for j in range(len(fills)):
            odd |= not abs(X[r, j]) <= LARGEST_INPUT
    has_gaps = odd != 0
    if has_gaps:
        for r in range(len(X)):
            for j in range(len(fills)):
                if _is_refused(X[r, j], fills[j]):
                    return False
    odd = 0
    for k in range(len(terms)):
        column, line = terms[k, 0], levels[k]
        for r in range(len(X)):
            raw[r] = X[r, column]
        if has_gaps:
            for r in range(len(X)):
                raw[r] = raw[r] if raw[r] == raw[r] else fills[column]
        if terms[k, 1]:
            code = values[k, 0]
            off, on = np.int16(values[k, 1] * inverse), np.int16(values[k, 2] * inverse)
            for r in range(len(X)):
                line[r] = on if raw[r] == code else off
            continue
        shift, factor = values[k, 0], values[k, 1]
        for r in range(len(X)):
            x = raw[r]
            # What the forward pass clips has no room here anyway.
            if step > 0.0:
                x = (x - shift) * factor
            whole = np.rint(x * inverse)
            odd |= not abs(whole) <= most
            odd |= step == 0.0 and whole != x
            line[r] = np.int16(np.int32(whole))
    return odd == 0


@compiled
def _sum_bins(
    X: Floats, groups: Integers, cuts: Floats, table: Shorts, rows: Integers, sums: Shorts
) -> None:
    """Sum the table's rows of all bins, one line per row of the block."""
    n_rows, raw = len(X), np.empty(_ROWS)
    for g in range(len(groups)):
        column, first, last, start = groups[g]
        line = rows[g]
        for r in range(n_rows):
            raw[r] = X[r, column]
            line[r] = start if raw[r] == raw[r] else start + last - first + 1
        for cut in cuts[first:last]:
            for r in range(n_rows):
                line[r] += raw[r] >= cut
    _add_rows(rows[:, :n_rows], table, sums)


@compiled
def _add_rows(rows: Integers, table: Shorts, sums: Shorts) -> None:
    """Sum rows of a table for every column of ``rows``, eight at once: sums are seldom stored."""
    n_groups, n_rows = rows.shape
    width, whole = table.shape[1], n_groups // 8 * 8
    for r in range(n_rows):
        out = sums[r]
        for u in range(width):
            out[u] = 0
        for i in range(0, whole, 8):
            a, b, c, d = (
                table[rows[i, r]],
                table[rows[i + 1, r]],
                table[rows[i + 2, r]],
                table[rows[i + 3, r]],
            )
            e, f, g, h = (
                table[rows[i + 4, r]],
                table[rows[i + 5, r]],
                table[rows[i + 6, r]],
                table[rows[i + 7, r]],
            )
            for u in range(width):
                out[u] += a[u] + b[u] + c[u] + d[u] + e[u] + f[u] + g[u] + h[u]
        for i in range(whole, n_groups):
            a = table[rows[i, r]]
            for u in range(width):
                out[u] += a[u]


@compiled
def _sum_lines(
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
    groups: Integers,
    cuts: Floats,
    table: Floats,
    shapes: Integers,
    parameters: Floats,
    most: float,
    short_table: Shorts,
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
    by_bins = np.zeros((_ROWS, short_table.shape[1]), dtype=np.int16)
    rows = np.zeros((len(groups), _ROWS), dtype=np.int64)
    sums, best, scores = np.zeros(_ROWS, dtype=np.int16), np.zeros(_ROWS), np.zeros(n_outputs)
    unit = step if step > 0.0 and len(widths) == 1 else 1.0
    for first in range(0, len(X), _ROWS):
        block = X[first : first + _ROWS]
        if most == 0.0 or not _encode_block(block, fills, terms, values, step, most, before):
            for r in range(len(block)):
                found[first + r] = predict_row(
                    block[r],
                    fills,
                    terms,
                    values,
                    step,
                    groups,
                    cuts,
                    table,
                    shapes,
                    parameters,
                    scores,
                )
                if found[first + r] < 0:
                    return first + r
            continue
        if len(groups):
            _sum_bins(block, groups, cuts, short_table, rows, by_bins)
        u = 0
        for layer in range(len(widths)):
            is_last = layer + 1 == len(widths)
            for i in range(widths[layer]):
                _sum_lines(before, places, weights, starts[u], starts[u + 1], sums)
                if layer == 0 and len(groups):
                    for r in range(len(block)):
                        sums[r] += by_bins[r, i]
                if not is_last:
                    limit, line = limits[u], after[i]
                    for r in range(_ROWS):
                        line[r] = sums[r] >= limit
                else:
                    threshold = thresholds[i]
                    for r in range(len(block)):
                        score = sums[r] * unit
                        if by_output:
                            score = 1.0 if score >= threshold else 0.0
                        else:
                            score -= threshold
                        # Without a branch, which rows of mixed classes would mispredict.
                        is_better = i == 0 or score > best[r]
                        best[r] = score if is_better else best[r]
                        found[first + r] = i if is_better else found[first + r]
                u += 1
            before, after = after, before
    return len(X)
