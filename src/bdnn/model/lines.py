"""Rows as lines: a bit per row of whatever is 0 or 1, and 16 bits per row of numbers.

A block has 4096 rows. Instructions on a line take hundreds of them.
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
NONE, ALL, ONE = np.uint64(0), np.uint64(2**64 - 1), np.uint64(1)
#: Kinds of bits.
GE, IS, MISSING = range(3)

WORDS = 64
ROWS = 64 * WORDS
# Rows whose numbers stay in cache from the table to the sums, and columns in a line of cache.
PART, TILE = 256, 8

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
def pack(sums: Shorts | Floats, limit: float, line: Words) -> None:
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
def _encode_bits(
    raw: Floats, cells: Floats, kinds: Integers, values: Floats, words: slice, lines: Words
) -> None:
    """Write the bits of a column for a part of a block; missing ones are seen in raw cells."""
    for i in range(len(lines)):
        if kinds[i] == GE:
            pack(cells, values[i], lines[i, words])
        elif kinds[i] == IS:
            _pack_equal(cells, values[i], lines[i, words])
        else:
            _pack_missing(raw, lines[i, words])


@part
def encode_part(
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
    filled, has_room = tile[TILE], True
    for first in range(0, n_columns, TILE):
        last = min(first + TILE, n_columns)
        for j in range(first, last):
            line = tile[j - first]
            for r in range(n_rows):
                line[r] = X[r, j]
        for j in range(first, last):
            raw = cells = tile[j - first]
            if has_gaps:
                cells = filled
                for r in range(PART):
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
                _encode_bits(raw, seen, kinds, values, words_of(piece), own)
    return has_room
