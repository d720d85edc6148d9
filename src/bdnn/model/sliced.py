"""Compiled prediction of many rows, bit for bit as the forward pass.

Bits of a unit are counted by full adders in binary digits, the planes, each of which is a line. Of
eight bits that are added to three digits one is carried, and is added to the next digits later. A
part of a block with numbers that have no room in 16 bits goes row by row.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bdnn.compiled import compiled, part
from bdnn.model.kernels import Floats, Integers, Shorts, predict_row
from bdnn.model.lines import (
    ALL,
    FLIP_AFTER,
    FLIP_BEFORE,
    MOST_PLANES,
    NONE,
    ONE,
    PART,
    ROWS,
    TILE,
    TWO,
    Sliced,
    Words,
    encode_part,
    pack,
    words_of,
    zeros,
)


@partial(part, is_apart=True)
def _add_group(
    lines: Words,
    carries: Words,
    ones: Words,
    twos: Words,
    fours: Words,
    groups: Words,
    i: int,
    n_words: int,
) -> None:
    """Add eight lines to three digits of a count, and write the line that is carried.

    Lines and carries are one array, as are all digits: what is written here is read once.
    """
    # By places, as each array that is taken out of another one is counted, which takes long.
    p, carry = groups[i, 0], groups[i, 1]
    a, b, c, d = groups[i, 3], groups[i, 4], groups[i, 5], groups[i, 6]
    e, f, g, h = groups[i, 7], groups[i, 8], groups[i, 9], groups[i, 10]
    for w in range(n_words):
        one, two, four = ones[p, w], twos[p + ONE, w], fours[p + TWO, w]
        # Full adders: three bits of one digit are one of it, and one of the next. Written so that
        # instructions of three operands do each in three.
        two_a = (lines[a, w] & lines[b, w]) | ((lines[a, w] | lines[b, w]) & one)
        one ^= lines[a, w] ^ lines[b, w]
        two_b = (lines[c, w] & lines[d, w]) | ((lines[c, w] | lines[d, w]) & one)
        one ^= lines[c, w] ^ lines[d, w]
        four_a = (two_a & two_b) | ((two_a | two_b) & two)
        two ^= two_a ^ two_b
        two_a = (lines[e, w] & lines[f, w]) | ((lines[e, w] | lines[f, w]) & one)
        one ^= lines[e, w] ^ lines[f, w]
        two_b = (lines[g, w] & lines[h, w]) | ((lines[g, w] | lines[h, w]) & one)
        ones[p, w] = one ^ lines[g, w] ^ lines[h, w]
        four_b = (two_a & two_b) | ((two_a | two_b) & two)
        twos[p + ONE, w] = two ^ two_a ^ two_b
        carries[carry, w] = (four_a & four_b) | ((four_a | four_b) & four)
        fours[p + TWO, w] = four ^ four_a ^ four_b


@part
def _flip(planes: Words, first: np.int64, n_words: int) -> None:
    """Take the complement of three digits."""
    for p in range(first, first + 3):
        for w in range(n_words):
            planes[p, w] = ~planes[p, w]


@part
def _count(
    lines: Words, units: Integers, u: int, groups: Words, planes: Words, n_words: int
) -> None:
    """Count the bits of a unit, those of negative weights down.

    The complement of three digits is 7 less them: what is added to it is taken off, and what is
    carried is to be taken off where it goes.
    """
    for p in range(units[u, 2] + 2):
        digit = ALL if units[u, 3] >> p & 1 else NONE
        for w in range(n_words):
            planes[p, w] = digit
    for i in range(units[u, 0], units[u, 1]):
        if groups[i, 2] & FLIP_BEFORE:
            _flip(planes, np.int64(groups[i, 0]), n_words)
        _add_group(lines, lines, planes, planes, planes, groups, i, n_words)
        if groups[i, 2] & FLIP_AFTER:
            _flip(planes, np.int64(groups[i, 0]), n_words)


@part
def _reaches(planes: Words, n_planes: int, count: int, line: Words, n_words: int) -> None:
    """Write which rows' counts are at least a number."""
    is_beyond = count >> n_planes != 0
    for w in range(n_words):
        line[w] = NONE if is_beyond else ALL
    for p in range(n_planes):
        plane = planes[p]
        if is_beyond or count >> p & 1:
            for w in range(n_words):
                line[w] &= plane[w]
        else:
            for w in range(n_words):
                line[w] |= plane[w]


@part
def _add_counts(planes: Words, unit: Integers, worth: int, sums: Shorts, n_words: int) -> None:
    """Add what counts are worth to the sums of rows."""
    for w in range(n_words):
        some = sums[64 * w : 64 * (w + 1)]
        for k in range(64):
            some[k] -= unit[3] * worth
        for p in range(unit[2]):
            word, value = planes[p, w], np.int16(worth << p)
            for k in range(64):
                some[k] += value if word >> np.uint64(k) & ONE else 0


@part
def _sum_numbers(
    model: Sliced,
    numbers: Shorts,
    piece: int,
    sums: Shorts,
    by_numbers: Shorts,
    lines: Words,
) -> None:
    """Sum the numbers of all units for a part of a block; write sums that wait, or who is on."""
    # By names of their own: what is taken out of a tuple in a loop is counted each time.
    units, groups, kept, limits = model.sums, model.sum_groups, model.kept, model.limits
    for u in range(len(units)):
        first, middle, last = units[u, 0], units[u, 1], units[u, 2]
        if first == last:
            continue
        for r in range(PART):
            sums[r] = 0
        for i in range(first, last):
            # Eight at once, so that sums are seldom stored.
            a, b = numbers[groups[i, 0]], numbers[groups[i, 1]]
            c, d = numbers[groups[i, 2]], numbers[groups[i, 3]]
            e, f = numbers[groups[i, 4]], numbers[groups[i, 5]]
            g, h = numbers[groups[i, 6]], numbers[groups[i, 7]]
            if i < middle:
                for r in range(PART):
                    sums[r] += a[r] + b[r] + c[r] + d[r] + e[r] + f[r] + g[r] + h[r]
            else:
                for r in range(PART):
                    sums[r] -= a[r] + b[r] + c[r] + d[r] + e[r] + f[r] + g[r] + h[r]
        if kept[u] < 0:
            pack(sums, np.int16(limits[u]), lines[1 + u, words_of(piece)])
        else:
            waiting = by_numbers[kept[u]]
            for r in range(PART):
                waiting[piece * PART + r] = sums[r]


@part
def _choose(
    sums: Shorts,
    output: int,
    unit: float,
    threshold: float,
    by_output: bool,
    best: Floats,
    found: Integers,
) -> None:
    """Let an output win the rows in which its score is better than the best so far."""
    for r in range(len(found)):
        score = sums[r] * unit
        score = (1.0 if score >= threshold else 0.0) if by_output else score - threshold
        # Without a branch, which rows of mixed classes would mispredict.
        is_better = score > best[r]
        best[r] = score if is_better else best[r]
        found[r] = output if is_better else found[r]


@compiled
def predict_rows(
    X: Floats, found: Integers, model: Sliced, integers: Integers, floats: Floats
) -> int:
    """Write the classes of rows.

    Returns the row that is refused; or the number of rows, and one more if a cell is missing. The
    last two arguments are what :func:`predict_row` takes.
    """
    widths, fills = model.widths, floats[1 : 1 + X.shape[1]]
    n_outputs, n_numbers = widths[-1], len(model.is_text)
    room = min(ROWS, -(-len(X) // PART) * PART)  # for as many rows as there are, in whole parts
    before, after = zeros(model.n_lines, room // 64), zeros(model.n_lines, room // 64)
    planes = zeros(MOST_PLANES + 2, room // 64)
    numbers = zeros(1 + model.n_digits * n_numbers, PART // 4).view(np.int16)
    by_numbers = zeros(1 + model.kept.max(), room // 4).view(np.int16)
    sums = zeros(1, room // 4).view(np.int16)[0]
    some = zeros(1, PART // 4).view(np.int16)[0]
    tile = zeros(TILE + 1, PART + 8).view(np.float64)
    best, scores = np.zeros(room), np.zeros(n_outputs)
    is_odd, has_gaps = np.zeros(room // PART, dtype=np.bool_), False
    for start in range(0, len(X), ROWS):
        n_rows, told = min(ROWS, len(X) - start), found[start : start + ROWS]
        n_pieces = -(-n_rows // PART)
        n_words = n_pieces * (PART // 64)
        for piece in range(n_pieces):
            first = piece * PART
            count = min(PART, n_rows - first)
            has_room, some_missing = encode_part(
                X, start + first, count, fills, model, piece, tile, numbers, before
            )
            is_odd[piece], has_gaps = not has_room, has_gaps or some_missing
            _sum_numbers(model, numbers, piece, some, by_numbers, after)
        u = 0
        for layer in range(len(widths)):
            is_last = layer + 1 == len(widths)
            unit = model.step if layer == 0 and n_numbers and model.step > 0.0 else 1.0
            for i in range(widths[layer]):
                row, kept = model.units[u], model.kept[i] if layer == 0 else -1
                has_bits = row[1] > row[0]
                u += 1
                if has_bits:
                    _count(before, model.units, u - 1, model.groups, planes, n_words)
                if kept < 0 and not is_last:
                    if layer > 0 or model.sums[i, 0] == model.sums[i, 2]:
                        _reaches(planes, row[2], row[4], after[1 + i], n_words)
                    continue
                for r in range(64 * n_words):
                    sums[r] = 0
                if kept >= 0:
                    for r in range(64 * n_words):
                        sums[r] = by_numbers[kept, r]
                if has_bits:
                    _add_counts(planes, row, model.worth if layer == 0 else 1, sums, n_words)
                if not is_last:
                    pack(sums, np.int16(model.limits[i]), after[1 + i, :n_words])
                    continue
                if i == 0:
                    best[:] = -np.inf
                _choose(sums, i, unit, model.thresholds[i], model.by_output, best, told)
            before, after = after, before
        for piece in range(n_pieces):
            if is_odd[piece]:
                for r in range(piece * PART, min((piece + 1) * PART, n_rows)):
                    told[r] = predict_row(X[start + r], integers, floats, scores)
                    if told[r] < 0:
                        return start + r
    return len(X) + has_gaps
