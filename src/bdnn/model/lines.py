"""Rows as lines: a bit per row of whatever is 0 or 1, and 16 bits per row of numbers.

A block has up to 8192 rows. Instructions on a line take hundreds of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import part
from bdnn.limits import LARGEST_INPUT
from bdnn.model.kernels import Floats, Integers, Shorts, is_refused

#: Lines that a group of :class:`Sliced` adds at once.
GROUP = 8
#: Digits that a count of bits may have.
MOST_PLANES = 16
NONE, ONE, TWO, ALL = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(2**64 - 1)
#: Where a group takes the complement of its digits.
FLIP_BEFORE, FLIP_AFTER = np.uint64(1), np.uint64(2)
#: Kinds of bits.
GE, IS, MISSING = range(3)

WORDS = 128
ROWS = 64 * WORDS
# Rows whose numbers stay in cache from the table to the sums, and columns in a line of cache.
PART, TILE = 512, 8

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
    #: Per unit of all layers: first group, end, planes, where its count begins, and what it has to
    #: reach.
    units: Integers
    #: Per group: its first plane, the line that it carries, whether it flips, and eight lines, of
    #: which 0 has no bits. What is carried has lines after those of bits and units.
    groups: Words
    n_lines: int
    #: Per unit of the first layer: first group of numbers, first one that is taken off, end.
    sums: Integers
    #: Per group: eight lines of numbers, of which 0 has none; those of the next digit follow all of
    #: the one before, and are twice as large.
    sum_groups: Integers
    n_digits: int
    #: Where sums of numbers wait for bits, or for the other outputs; -1 where they do not.
    kept: Integers
    #: What sums with numbers have to reach, and what a bit of the first layer adds, in steps.
    limits: Integers
    worth: int
    thresholds: Floats
    by_output: bool


@part
def words_of(piece: int) -> slice:
    """Words of a part of a block in its lines."""
    return slice(piece * (PART // 64), (piece + 1) * (PART // 64))


@part
def zeros(n_lines: int, n_words: int) -> Words:
    """Lines of words that begin where lines of cache do: vectors across two are twice as slow."""
    found = np.zeros(n_lines * n_words + 8, dtype=np.uint64)
    first = -(found.ctypes.data // 8) % 8
    return found[first : first + n_lines * n_words].reshape(n_lines, n_words)


@part
def pack(sums: Shorts | Floats, limit: float | np.int16, line: Words) -> None:
    """Write which sums, or cells, reach a limit."""
    for w in range(len(line)):
        some, word = sums[64 * w : 64 * (w + 1)], NONE
        for k in range(64):
            word |= np.uint64(some[k] >= limit) << np.uint64(k)
        line[w] = word


@part
def _pack_equal(cells: Floats, value: float, line: Words) -> None:
    """Write which cells are a value."""
    for w in range(len(line)):
        some, word = cells[64 * w : 64 * (w + 1)], NONE
        for k in range(64):
            word |= np.uint64(some[k] == value) << np.uint64(k)
        line[w] = word


@part
def _pack_missing(cells: Floats, line: Words) -> None:
    """Write which cells are missing."""
    for w in range(len(line)):
        some, word = cells[64 * w : 64 * (w + 1)], NONE
        for k in range(64):
            word |= np.uint64(some[k] != some[k]) << np.uint64(k)
        line[w] = word


@part
def _scale(cells: Floats, shift: float, factor: float, most: float, line: Shorts) -> bool:
    """Write scaled cells in steps; returns false if one of them has no room.

    What the forward pass clips has none.
    """
    odd = 0
    for r in range(PART):
        whole = np.rint((cells[r] - shift) * factor)
        odd |= not abs(whole) <= most
        line[r] = np.int16(np.int32(whole))
    return odd == 0


@part
def _are_whole(cells: Floats) -> bool:
    odd = 0
    for r in range(PART):
        odd |= np.rint(cells[r]) != cells[r]
    return odd == 0


@part
def _choose_text(cells: Floats, values: Floats, unit: float, line: Shorts) -> None:
    """Write in steps what cells of one text, and all others, stand for."""
    text, off, on = values[0], np.int16(values[1] / unit), np.int16(values[2] / unit)
    for r in range(PART):
        line[r] = on if cells[r] == text else off


@part
def _has_odd(cells: Floats) -> bool:
    """Whether a cell is missing or too large."""
    odd = 0
    for i in range(len(cells)):
        odd |= not abs(cells[i]) <= LARGEST_INPUT
    return odd != 0


@part
def _read_tile(rows: Floats, tile: Floats) -> None:
    """Turn columns of some rows into lines."""
    if rows.shape[1] == TILE:
        a, b, c, d = tile[0], tile[1], tile[2], tile[3]
        e, f, g, h = tile[4], tile[5], tile[6], tile[7]
        for r in range(len(rows)):
            row = rows[r]
            a[r], b[r], c[r], d[r] = row[0], row[1], row[2], row[3]
            e[r], f[r], g[r], h[r] = row[4], row[5], row[6], row[7]
        return
    for q in range(rows.shape[1]):
        line = tile[q]
        for r in range(len(rows)):
            line[r] = rows[r, q]


@part
def encode_part(
    X: Floats,
    start: int,
    n_rows: int,
    fills: Floats,
    model: Sliced,
    piece: int,
    tile: Floats,
    numbers: Shorts,
    lines: Words,
) -> tuple[bool, bool]:
    """Write numbers and bits of some rows.

    Returns false if a cell or a number has no place, and whether a cell is missing or has none.
    """
    n_columns, n_numbers = X.shape[1], len(model.is_text)
    # By names of their own: what is taken out of a tuple in a loop is counted each time.
    number_starts, is_text, values = model.number_starts, model.is_text, model.values
    bit_starts, kinds, bounds = model.bit_starts, model.bit_kinds, model.bit_values
    is_apart, step, most = model.is_apart, model.step, model.most
    unit = step if step > 0.0 else 1.0  # a power of two, by which division rounds nothing
    filled, has_room, last_row = tile[TILE], True, start + n_rows
    # Rows are read in their order first, which is what brings them into cache fast.
    has_gaps = _has_odd(X.reshape(-1)[start * n_columns : last_row * n_columns])
    for first in range(0, n_columns, TILE):
        last = min(first + TILE, n_columns)
        _read_tile(X[start:last_row, first:last], tile)
        for j in range(first, last):
            raw = cells = tile[j - first]
            if has_gaps:
                cells = filled
                for r in range(n_rows):
                    if is_refused(raw[r], fills[j]):
                        return False, True
                    cells[r] = raw[r] if raw[r] == raw[r] else fills[j]
            for k in range(number_starts[j], number_starts[j + 1]):
                line, shift, factor = numbers[1 + k], values[k, 0], values[k, 1]
                if is_text[k]:
                    _choose_text(cells, values[k], unit, line)
                elif step > 0.0:
                    has_room &= _scale(cells, shift, factor / unit, most, line)
                else:
                    has_room &= _scale(cells, 0.0, 1.0, most, line)
                    has_room &= _are_whole(cells)
            seen = raw if is_apart[j] else cells
            for k in range(bit_starts[j], bit_starts[j + 1]):
                line = lines[1 + k, words_of(piece)]
                if kinds[k] == GE:
                    pack(seen, bounds[k], line)
                elif kinds[k] == IS:
                    _pack_equal(seen, bounds[k], line)
                else:
                    _pack_missing(raw, line)
    for k in range(1 + n_numbers, 1 + model.n_digits * n_numbers):
        line, half = numbers[k], numbers[k - n_numbers]
        for r in range(PART):
            line[r] = half[r] + half[r]
    return has_room, has_gaps
