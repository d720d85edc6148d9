"""Compiled prediction of many rows, bit for bit as the forward pass.

Bits of a unit are counted by full adders in binary digits, the planes, each of which is a line. Of
eight bits that are added to three digits one is carried, and is added to the next digits later. A
part of a block with numbers that have no room in 16 bits goes row by row.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

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
    TWO,
    Sliced,
    Words,
    encode_part,
    pack,
    zeros,
)
from bdnn.model.vectors import TILE, WIDTH, copy


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


@partial(part, is_apart=True)
def _flip(planes: Words, first: np.int64, n_words: int) -> None:
    """Take the complement of three digits."""
    for p in range(first, first + 3):
        for w in range(n_words):
            planes[p, w] = ~planes[p, w]


@partial(part, is_apart=True)
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


@partial(part, is_apart=True)
def _reaches(
    planes: Words, n_planes: int, count: int, lines: Words, line: int, n_words: int
) -> None:
    """Write which rows' counts are at least a number."""
    is_beyond = count >> n_planes != 0
    for w in range(n_words):
        lines[line, w] = NONE if is_beyond else ALL
    for p in range(n_planes):
        if is_beyond or count >> p & 1:
            for w in range(n_words):
                lines[line, w] &= planes[p, w]
        else:
            for w in range(n_words):
                lines[line, w] |= planes[p, w]


@partial(part, is_apart=True)
def _take_line(
    lines: Words, line: np.uint64, flips: np.uint64, to: Words, unit: int, n: int
) -> None:
    """Write a line for a unit that looks at nothing else, or its complement."""
    for w in range(n):
        to[unit, w] = lines[line, w] ^ flips


@partial(part, is_apart=True)
def _add_counts(
    planes: Words, units: Integers, u: int, worth: int, sums: Shorts, n_words: int
) -> None:
    """Add what counts are worth to the sums of rows."""
    least = units[u, 3] * worth
    for w in range(n_words):
        for k in range(64):
            sums[64 * w + k] -= least
        for p in range(units[u, 2]):
            word, value = planes[p, w], np.int16(worth << p)
            for k in range(64):
                sums[64 * w + k] += value if word >> np.uint64(k) & ONE else 0


@partial(part, is_apart=True)
def _add_numbers(
    numbers: Shorts, groups: Integers, first: int, middle: int, last: int, sums: Shorts
) -> None:
    """Sum groups of numbers, of which those from ``middle`` on are taken off."""
    for r in range(PART):
        sums[0, r] = 0
    for i in range(first, last):
        # Eight at once, so that sums are seldom stored.
        a, b, c, d = groups[i, 0], groups[i, 1], groups[i, 2], groups[i, 3]
        e, f, g, h = groups[i, 4], groups[i, 5], groups[i, 6], groups[i, 7]
        sign = np.int16(1) if i < middle else np.int16(-1)
        for r in range(PART):
            abcd = numbers[a, r] + numbers[b, r] + numbers[c, r] + numbers[d, r]
            efgh = numbers[e, r] + numbers[f, r] + numbers[g, r] + numbers[h, r]
            sums[0, r] += sign * (abcd + efgh)


@partial(part, is_apart=True)
def _sum_numbers(
    model: Sliced,
    numbers: Shorts,
    piece: int,
    sums: Shorts,
    by_numbers: Shorts,
    lines: Words,
) -> None:
    """Sum the numbers of all units for a part of a block; write sums that wait, or who is on."""
    units, groups, kept, limits = model.sums, model.sum_groups, model.kept, model.limits
    for u in range(len(units)):
        first, middle, last = units[u, 0], units[u, 1], units[u, 2]
        if first == last:
            continue
        _add_numbers(numbers, groups, first, middle, last, sums)
        if kept[u] < 0:
            pack(sums, 0, np.int16(limits[u]), lines, 1 + u, piece * (PART // 64))
        else:
            for r in range(PART):
                by_numbers[kept[u], piece * PART + r] = sums[0, r]


@partial(part, is_apart=True)
def _choose(
    sums: Shorts,
    output: int,
    unit: float,
    threshold: float,
    by_output: bool,
    best: Floats,
    found: Integers,
    start: int,
    n_rows: int,
) -> None:
    """Let an output win the rows in which its score is better than the best so far."""
    for r in range(n_rows):
        score = sums[r] * unit
        score = (1.0 if score >= threshold else 0.0) if by_output else score - threshold
        # Without a branch, which rows of mixed classes would mispredict.
        place = np.uint64(start) + np.uint64(r)
        is_better = output == 0 or score > best[r]
        best[r] = score if is_better else best[r]
        found[place] = output if is_better else found[place]


@partial(part, is_apart=True)
def _follow(
    model: Sliced,
    n_rows: int,
    before: Words,
    after: Words,
    planes: Words,
    by_numbers: Shorts,
    parts: Shorts,
    best: Floats,
    found: Integers,
    start: int,
) -> None:
    """Let a block go through all layers, and write the classes of its rows."""
    n_pieces = -(-n_rows // PART)
    n_words, n_layers, sums, u = n_pieces * (PART // 64), len(model.widths), parts.reshape(-1), -1
    for layer in range(n_layers):
        is_last = layer + 1 == n_layers
        for i in range(model.widths[layer]):
            u += 1
            kept = model.kept[i] if layer == 0 else -1
            first, n_planes, count = model.units[u, 0], model.units[u, 2], model.units[u, 4]
            has_bits = model.units[u, 1] > first
            if n_planes == 1 and count == 1 and kept < 0 and not is_last:
                flips = ALL if model.units[u, 3] else NONE
                _take_line(before, model.groups[first, 3], flips, after, 1 + i, n_words)
                continue
            if has_bits:
                _count(before, model.units, u, model.groups, planes, n_words)
            if kept < 0 and not is_last:
                if layer > 0 or model.sums[i, 0] == model.sums[i, 2]:
                    _reaches(planes, n_planes, count, after, 1 + i, n_words)
                continue
            if kept < 0:
                for r in range(64 * n_words):
                    sums[r] = 0
            else:
                for r in range(64 * n_words):
                    sums[r] = by_numbers[kept, r]
            if has_bits:
                _add_counts(planes, model.units, u, model.worth if layer == 0 else 1, sums, n_words)
            if not is_last:
                for piece in range(n_pieces):
                    limit = np.int16(model.limits[i])
                    pack(parts, piece, limit, after, 1 + i, piece * (PART // 64))
                continue
            unit = model.step if layer == 0 and len(model.is_text) and model.step > 0.0 else 1.0
            limit = model.thresholds[i]
            _choose(sums, i, unit, limit, model.by_output, best, found, start, n_rows)
        before, after = after, before


@compiled
def predict_rows(
    X: Floats, found: Integers, model: Sliced, integers: Integers, floats: Floats
) -> int:
    """Write the classes of rows.

    Returns the row that is refused; or the number of rows, and one more if a cell is missing. The
    last two arguments are what :func:`predict_row` takes.
    """
    n_numbers, fills, cells = len(model.is_text), floats[1 : 1 + X.shape[1]], X.reshape(-1)
    room = min(ROWS, -(-len(X) // PART) * PART)  # for as many rows as there are, in whole parts
    before, after = zeros(model.n_lines, room // 64), zeros(model.n_lines, room // 64)
    planes = zeros(MOST_PLANES + 2, room // 64)
    numbers = zeros(2 + model.n_digits * n_numbers, PART // 4).view(np.int16)
    by_numbers = zeros(1 + model.kept.max(), room // 4).view(np.int16)
    parts, some = zeros(room // PART, PART // 4).view(np.int16), zeros(1, PART // 4).view(np.int16)
    tile = zeros(TILE + 1, PART + 8).view(np.float64)
    best, scores = np.empty(room), np.empty(model.widths[-1])
    is_odd, has_gaps = np.zeros(room // PART, dtype=np.bool_), False
    for start in range(0, len(X), ROWS):
        n_rows = min(ROWS, len(X) - start)
        for piece in range(-(-n_rows // PART)):
            first = start + piece * PART
            count = min(PART, start + n_rows - first)
            has_room, some_missing = encode_part(
                cells, first * X.shape[1], count, fills, model, piece, tile, numbers, before
            )
            is_odd[piece], has_gaps = not has_room, has_gaps or some_missing
            _sum_numbers(model, numbers, piece, some, by_numbers, after)
        _follow(model, n_rows, before, after, planes, by_numbers, parts, best, found, start)
        for piece in range(-(-n_rows // PART)):
            if is_odd[piece]:
                first = start + piece * PART
                for r in range(first, min(first + PART, start + n_rows)):
                    found[r] = predict_row(X[r], integers, floats, scores)
                    if found[r] < 0:
                        return r
    return len(X) + has_gaps


@compiled
def write_texts(
    texts: NDArray[np.uint8], size: int, outcomes: Integers, cells: NDArray[np.uint8]
) -> None:
    """Write the text of every outcome, all of one size and with room for a vector after them."""
    for r in range(len(outcomes)):
        to, first = r * size, outcomes[r] * size
        if to + WIDTH <= len(cells):
            copy(texts, first, cells, to)  # The next text goes over what is too much.
            continue
        for i in range(size):
            cells[to + i] = texts[first + i]
