"""Compiled prediction of many rows, bit for bit as the forward pass.

A block has 4096 rows. What is 0 or 1 is a line of one bit per row, so that an instruction takes
hundreds of rows. Bits of a unit are counted by full adders in binary digits, the planes, each of
which is a line. Numbers are lines of 16 bits per row. A part of a block with numbers that have no
room there goes row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled, part
from bdnn.limits import LARGEST_INPUT
from bdnn.model.kernels import Floats, Integers, is_refused, predict_row

#: Lines that a group of :class:`Sliced` adds at once.
GROUP = 8
#: Digits that a count of bits may have.
MOST_PLANES = 16
_NONE, _ALL, _ONE = np.uint64(0), np.uint64(2**64 - 1), np.uint64(1)
#: Kinds of bits.
GE, IS, MISSING = range(3)

_WORDS = 64
_ROWS = 64 * _WORDS
# Rows whose numbers stay in cache from the table to the sums, and columns in a line of cache.
_PART, _TILE = 256, 8

Shorts = NDArray[np.int16]
Words = NDArray[np.uint64]


class Sliced(NamedTuple):
    """A network of steps and whole weights, by columns and by units."""

    step: float
    #: How many steps large a number may be for sums to have 16 bits.
    most: float
    #: Numbers of every column are ``number_starts[j]`` to ``number_starts[j + 1]``.
    number_starts: Integers
    #: Whether a number is the indicator of a text, and its values as for one row.
    is_text: Integers
    values: Floats
    bit_starts: Integers
    #: What bits say of their columns, and the value to compare with.
    bit_kinds: Integers
    bit_values: Floats
    #: Which columns have gaps that are no value for their bits.
    is_apart: NDArray[np.bool_]
    widths: Integers
    #: Per unit of all layers: first group, first one that is added and not taken off, end;
    #: planes before the first one that is added, planes in the end; the count it has to reach, and
    #: what the count of nothing is.
    units: Integers
    #: Per group: its plane, planes after it, and eight lines, of which 0 has no bits.
    groups: Integers
    #: Numbers of the unit ``u`` of the first layer are ``starts[u]`` to ``starts[u + 1]``.
    starts: Integers
    #: Where sums of numbers wait for bits, or for the other outputs; -1 where they do not.
    kept: Integers
    places: Integers
    weights: Shorts
    #: What sums with numbers have to reach, and what a bit of the first layer adds, in steps.
    limits: Integers
    worth: int
    thresholds: Floats
    by_output: bool


@part
def _words(piece: int) -> slice:
    """Words of a part of a block in its lines."""
    return slice(piece * (_PART // 64), (piece + 1) * (_PART // 64))


@part
def _zeros(n_lines: int, n_words: int) -> Words:
    """Lines of words that begin where lines of cache do: vectors across two are twice as slow."""
    found = np.zeros(n_lines * n_words + 8, dtype=np.uint64)
    first = -(found.ctypes.data // 8) % 8
    return found[first : first + n_lines * n_words].reshape(n_lines, n_words)


@part
def _add_group(lines: Words, group: Integers, planes: Words, carry: Words) -> None:
    """Add eight lines to a count."""
    ones, twos, fours = planes[group[0]], planes[group[0] + 1], planes[group[0] + 2]
    a, b, c, d = lines[group[2]], lines[group[3]], lines[group[4]], lines[group[5]]
    e, f, g, h = lines[group[6]], lines[group[7]], lines[group[8]], lines[group[9]]
    for w in range(_WORDS):
        one, two, four = ones[w], twos[w], fours[w]
        # Full adders: three bits of one digit are one of it, and one of the next.
        half = one ^ a[w]
        two_a = (one & a[w]) | (half & b[w])
        one = half ^ b[w]
        half = one ^ c[w]
        two_b = (one & c[w]) | (half & d[w])
        one = half ^ d[w]
        half = two ^ two_a
        four_a = (two & two_a) | (half & two_b)
        two = half ^ two_b
        half = one ^ e[w]
        two_a = (one & e[w]) | (half & f[w])
        one = half ^ f[w]
        half = one ^ g[w]
        two_b = (one & g[w]) | (half & h[w])
        ones[w] = half ^ h[w]
        half = two ^ two_a
        four_b = (two & two_a) | (half & two_b)
        twos[w] = half ^ two_b
        half = four ^ four_a
        carry[w] = (four & four_a) | (half & four_b)
        fours[w] = half ^ four_b
    for p in range(group[0] + 3, group[1]):
        plane = planes[p]
        for w in range(_WORDS):
            both = plane[w] & carry[w]
            plane[w] ^= carry[w]
            carry[w] = both


@part
def _count(lines: Words, unit: Integers, groups: Integers, planes: Words, carry: Words) -> None:
    """Count the bits of a unit: those it takes off first, and from the complement of that on."""
    for p in range(unit[4]):
        for w in range(_WORDS):
            planes[p, w] = 0
    for i in range(unit[0], unit[1]):
        _add_group(lines, groups[i], planes, carry)
    for p in range(unit[3]):
        for w in range(_WORDS):
            planes[p, w] = ~planes[p, w]
    for i in range(unit[1], unit[2]):
        _add_group(lines, groups[i], planes, carry)


@part
def _reaches(planes: Words, n_planes: int, count: int, line: Words) -> None:
    """Write which rows' counts are at least a number."""
    is_beyond = count >> n_planes != 0
    for w in range(_WORDS):
        line[w] = _NONE if is_beyond else _ALL
    for p in range(n_planes):
        plane = planes[p]
        if is_beyond or count >> p & 1:
            for w in range(_WORDS):
                line[w] &= plane[w]
        else:
            for w in range(_WORDS):
                line[w] |= plane[w]


@part
def _add_counts(planes: Words, unit: Integers, worth: int, sums: Shorts) -> None:
    """Add what counts are worth to the sums of rows."""
    for w in range(_WORDS):
        some = sums[64 * w : 64 * (w + 1)]
        for k in range(64):
            some[k] -= unit[6] * worth
        for p in range(unit[4]):
            word, value = planes[p, w], np.int16(worth << p)
            for k in range(64):
                some[k] += value if word >> np.uint64(k) & _ONE else 0


@part
def _pack(sums: Shorts | Floats, limit: float, line: Words) -> None:
    """Write which sums, or cells, reach a limit."""
    for w in range(len(line)):
        some, word = sums[64 * w : 64 * (w + 1)], _NONE
        for k in range(64):
            word |= np.uint64(some[k] >= limit) << np.uint64(k)
        line[w] = word


@part
def _scale(cells: Floats, shift: float, factor: float, most: float, line: Shorts) -> bool:
    """Write scaled cells in steps; returns false if one of them has no room."""
    odd = 0
    for r in range(len(cells)):
        whole = np.rint((cells[r] - shift) * factor)
        odd |= not abs(whole) <= most
        line[r] = np.int16(np.int32(whole))
    return odd == 0


@part
def _are_whole(cells: Floats) -> bool:
    odd = 0
    for r in range(len(cells)):
        odd |= np.rint(cells[r]) != cells[r]
    return odd == 0


@part
def _encode_numbers(
    cells: Floats, is_text: Integers, values: Floats, step: float, most: float, numbers: Shorts
) -> bool:
    """Write the numbers of a column in steps; returns false if one of them has no room."""
    # The inverse of a power of two rounds nothing. What the forward pass clips has no room.
    inverse, has_room = 1.0 / step if step > 0.0 else 1.0, True
    for k in range(len(numbers)):
        line, first, second = numbers[k], values[k, 0], values[k, 1]
        if is_text[k]:
            off, on = np.int16(second * inverse), np.int16(values[k, 2] * inverse)
            for r in range(len(cells)):
                line[r] = on if cells[r] == first else off
        elif step > 0.0:
            has_room &= _scale(cells, first, second * inverse, most, line)
        else:
            has_room &= _scale(cells, 0.0, 1.0, most, line) and _are_whole(cells)
    return has_room


@part
def _pack_equal(cells: Floats, value: float, line: Words) -> None:
    """Write which cells are a value."""
    for w in range(len(line)):
        some, word = cells[64 * w : 64 * (w + 1)], _NONE
        for k in range(64):
            word |= np.uint64(some[k] == value) << np.uint64(k)
        line[w] = word


@part
def _pack_missing(cells: Floats, line: Words) -> None:
    """Write which cells are missing."""
    for w in range(len(line)):
        some, word = cells[64 * w : 64 * (w + 1)], _NONE
        for k in range(64):
            word |= np.uint64(some[k] != some[k]) << np.uint64(k)
        line[w] = word


@part
def _encode_bits(
    raw: Floats, cells: Floats, kinds: Integers, values: Floats, words: slice, lines: Words
) -> None:
    """Write the bits of a column for a part of a block; missing ones are seen in raw cells."""
    for i in range(len(lines)):
        if kinds[i] == GE:
            _pack(cells, values[i], lines[i, words])
        elif kinds[i] == IS:
            _pack_equal(cells, values[i], lines[i, words])
        else:
            _pack_missing(raw, lines[i, words])


@part
def _encode_part(
    X: Floats, fills: Floats, model: Sliced, piece: int, tile: Floats, numbers: Shorts, lines: Words
) -> bool:
    """Write numbers and bits of some rows; returns false if a cell or a number has no place."""
    n_rows, n_columns = X.shape
    odd = 0
    for x in X.reshape(-1):
        odd |= not abs(x) <= LARGEST_INPUT
    has_gaps = odd != 0
    if has_gaps:
        for r in range(n_rows):
            for j in range(n_columns):
                if is_refused(X[r, j], fills[j]):
                    return False
    filled, has_room = tile[_TILE], True
    for first in range(0, n_columns, _TILE):
        last = min(first + _TILE, n_columns)
        for j in range(first, last):
            line = tile[j - first]
            for r in range(n_rows):
                line[r] = X[r, j]
        for j in range(first, last):
            raw = cells = tile[j - first]
            if has_gaps:
                cells = filled
                for r in range(_PART):
                    cells[r] = raw[r] if raw[r] == raw[r] else fills[j]
            some = slice(model.number_starts[j], model.number_starts[j + 1])
            if some.start < some.stop:
                has_room &= _encode_numbers(
                    cells[:n_rows],
                    model.is_text[some],
                    model.values[some],
                    model.step,
                    model.most,
                    numbers[some],
                )
            some = slice(model.bit_starts[j], model.bit_starts[j + 1])
            if some.start < some.stop:
                seen = raw if model.is_apart[j] else cells
                kinds, values = model.bit_kinds[some], model.bit_values[some]
                own = lines[1 + some.start : 1 + some.stop]
                _encode_bits(raw, seen, kinds, values, _words(piece), own)
    return has_room


@part
def _sum_lines(
    numbers: Shorts, places: Integers, weights: Shorts, first: int, last: int, sums: Shorts
) -> None:
    """Sum some lines times their weights, four at once so that sums are seldom stored."""
    for r in range(_PART):
        sums[r] = 0
    whole = first + (last - first) // 4 * 4
    for i in range(first, whole, 4):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        line_a, line_b = numbers[places[i]], numbers[places[i + 1]]
        line_c, line_d = numbers[places[i + 2]], numbers[places[i + 3]]
        for r in range(_PART):
            sums[r] += a * line_a[r] + b * line_b[r] + c * line_c[r] + d * line_d[r]
    for i in range(whole, last):
        a, line_a = weights[i], numbers[places[i]]
        for r in range(_PART):
            sums[r] += a * line_a[r]


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
    """Write the classes of rows; returns the row that is refused, or the number of rows.

    The last two are what :func:`predict_row` takes.
    """
    widths, n_bits, fills = model.widths, len(model.bit_kinds), floats[1 : 1 + X.shape[1]]
    n_outputs, n_numbers = widths[-1], len(model.is_text)
    widest = max(n_bits, widths.max())
    before, after = _zeros(1 + widest, _WORDS), _zeros(1 + widest, _WORDS)
    planes, carry = _zeros(MOST_PLANES, _WORDS), _zeros(1, _WORDS)[0]
    numbers = _zeros(n_numbers, _PART // 4).view(np.int16)
    by_numbers = _zeros(1 + model.kept.max(), _ROWS // 4).view(np.int16)
    sums = _zeros(1, _ROWS // 4).view(np.int16)[0]
    some = _zeros(1, _PART // 4).view(np.int16)[0]
    tile = _zeros(_TILE + 1, _PART).view(np.float64)
    best, scores = np.zeros(_ROWS), np.zeros(n_outputs)
    is_odd = np.zeros(_ROWS // _PART, dtype=np.bool_)
    for start in range(0, len(X), _ROWS):
        block, told = X[start : start + _ROWS], found[start : start + _ROWS]
        for piece in range(-(-len(block) // _PART)):
            rows = slice(piece * _PART, (piece + 1) * _PART)
            is_odd[piece] = not _encode_part(
                block[rows], fills, model, piece, tile, numbers, before
            )
            for u in range(widths[0]):
                first, last = model.starts[u], model.starts[u + 1]
                if first < last:
                    _sum_lines(numbers, model.places, model.weights, first, last, some)
                    if model.kept[u] < 0:
                        _pack(some, model.limits[u], after[1 + u, _words(piece)])
                    else:
                        by_numbers[model.kept[u], rows] = some
        u = 0
        for layer in range(len(widths)):
            is_last = layer + 1 == len(widths)
            unit = model.step if layer == 0 and n_numbers and model.step > 0.0 else 1.0
            for i in range(widths[layer]):
                row, kept = model.units[u], model.kept[i] if layer == 0 else -1
                has_bits = row[2] > row[0]
                u += 1
                if has_bits:
                    _count(before, row, model.groups, planes, carry)
                if kept < 0 and not is_last:
                    if layer > 0 or model.starts[i] == model.starts[i + 1]:
                        _reaches(planes, row[4], row[5], after[1 + i])
                    continue
                for r in range(_ROWS):
                    sums[r] = 0
                if kept >= 0:
                    for r in range(_ROWS):
                        sums[r] = by_numbers[kept, r]
                if has_bits:
                    _add_counts(planes, row, model.worth if layer == 0 else 1, sums)
                if not is_last:
                    _pack(sums, model.limits[i], after[1 + i])
                    continue
                if i == 0:
                    best[:] = -np.inf
                _choose(sums, i, unit, model.thresholds[i], model.by_output, best, told)
            before, after = after, before
        for piece in range(-(-len(block) // _PART)):
            if is_odd[piece]:
                for r in range(piece * _PART, min((piece + 1) * _PART, len(block))):
                    told[r] = predict_row(block[r], integers, floats, scores)
                    if told[r] < 0:
                        return start + r
    return len(X)
