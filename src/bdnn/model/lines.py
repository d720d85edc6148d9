"""Rows as lines: a bit per row of whatever is 0 or 1, and 16 bits per row of numbers.

A block has up to 8192 rows. Instructions on a line take hundreds of them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import part
from bdnn.limits import LARGEST_INPUT
from bdnn.model.kernels import Floats, Integers, Shorts, is_refused
from bdnn.model.vectors import TILE, at_least, equal, turn

#: Lines that a group of :class:`Sliced` adds at once.
GROUP = 8
#: Digits that a count of bits may have.
MOST_PLANES = 16
_SIGN, _ALL_BUT_SIGN = np.int64(63), np.int64(2**63 - 1)
NONE, ONE, TWO, ALL = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(2**64 - 1)
#: Where a group takes the complement of its digits.
FLIP_BEFORE, FLIP_AFTER = np.uint64(1), np.uint64(2)
#: Kinds of bits.
GE, IS, MISSING = range(3)

WORDS = 128
ROWS = 64 * WORDS
# Rows whose numbers stay in cache from the table to the sums.
PART = 512
#: Largest number of 16 bits with a larger one, which it never reaches.
MOST_SHORT = 2**15 - 2
# So many bits of a column are sooner compared as 16 bits, if its cells are such numbers.
_MANY_BITS = 3
# Columns that are sooner turned as blocks than read one by one.
_FEWEST_TURNED = 4

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
def zeros(n_lines: int, n_words: int) -> Words:
    """Lines of words that begin where lines of cache do: vectors across two are twice as slow."""
    found = np.zeros(n_lines * n_words + 8, dtype=np.uint64)
    first = -(found.ctypes.data // 8) % 8
    return found[first : first + n_lines * n_words].reshape(n_lines, n_words)


@partial(part, is_apart=True)
def pack(
    sums: Shorts | Floats, row: int, limit: float | np.int16, lines: Words, line: int, first: int
) -> None:
    """Write which sums, or cells, of a row reach a limit, into words of a line."""
    for w in range(PART // 64):
        lines[line, first + w] = at_least(sums, row * sums.shape[1] + 64 * w, limit)


@partial(part, is_apart=True)
def _pack_equal(cells: Floats, row: int, value: float, lines: Words, line: int, first: int) -> None:
    """Write which cells are a value."""
    for w in range(PART // 64):
        lines[line, first + w] = equal(cells, row * cells.shape[1] + 64 * w, value)


@partial(part, is_apart=True)
def _pack_missing(cells: Floats, row: int, lines: Words, line: int, first: int) -> None:
    """Write which cells are missing."""
    for w in range(PART // 64):
        word = NONE
        for k in range(64):
            cell = cells[row, 64 * w + k]
            word |= np.uint64(cell != cell) << np.uint64(k)
        lines[line, first + w] = word


@partial(part, is_apart=True)
def _scale(
    cells: Floats, row: int, shift: float, factor: float, numbers: Shorts, line: int
) -> None:
    """Write scaled cells in steps."""
    for r in range(PART):
        whole = np.rint((cells[row, r] - shift) * factor)
        numbers[line, r] = np.int16(np.int32(whole))


@partial(part, is_apart=True)
def _are_whole(cells: Floats, row: int) -> bool:
    odd = 0
    for r in range(PART):
        odd |= np.rint(cells[row, r]) != cells[row, r]
    return odd == 0


@partial(part, is_apart=True)
def _choose_text(
    cells: Floats, row: int, values: Floats, k: int, unit: float, numbers: Shorts
) -> None:
    """Write in steps what cells of one text, and all others, stand for."""
    text, off, on = values[k, 0], np.int16(values[k, 1] / unit), np.int16(values[k, 2] / unit)
    for r in range(PART):
        numbers[1 + k, r] = on if cells[row, r] == text else off


@partial(part, is_apart=True)
def _extremes(bits: Integers, row: int, n_rows: int) -> tuple[float, float]:
    """Find the least and the largest cell, of which one is missing if any cell is.

    Bits of cells are compared, those of negative ones turned over: they are in the order of the
    cells, with what is missing at both ends, and compilers find the instructions.
    """
    low, high = _ALL_BUT_SIGN, ~_ALL_BUT_SIGN
    for r in range(n_rows):
        cell = bits[row, r]
        place = cell ^ (cell >> _SIGN & _ALL_BUT_SIGN)
        low, high = min(low, place), max(high, place)
    low, high = low ^ (low >> _SIGN & _ALL_BUT_SIGN), high ^ (high >> _SIGN & _ALL_BUT_SIGN)
    return np.int64(low).view(np.float64), np.int64(high).view(np.float64)


@partial(part, is_apart=True)
def _read_tile(cells: Floats, first: int, n_columns: int, n_rows: int, tile: Floats) -> None:
    """Turn columns of some rows into lines, as many as there are or as a tile has.

    ``first`` is the place of the first cell.
    """
    width, done = min(TILE, n_columns - first % n_columns), 0
    if width >= _FEWEST_TURNED:
        # A block may reach into the row after its last one, but not beyond all rows.
        done = min(n_rows, (len(cells) - first - TILE) // n_columns + 1) // TILE * TILE
        for r in range(0, done, TILE):
            turn(cells, first + r * n_columns, n_columns, tile, r, tile.shape[1])
    for q in range(width):
        for r in range(np.uint64(done), np.uint64(n_rows)):
            tile[q, r] = cells[np.uint64(first + q) + r * np.uint64(n_columns)]


@partial(part, is_apart=True)
def _fill(tile: Floats, row: int, n_rows: int, fill: float) -> bool:
    """Write cells with their gaps filled after all others; returns false if one is refused."""
    odd = 0
    for r in range(n_rows):
        cell = tile[row, r]
        odd |= is_refused(cell, fill)
        tile[TILE, r] = cell if cell == cell else fill
    return odd == 0


@partial(part, is_apart=True)
def encode_part(
    cells: Floats,
    first: int,
    n_rows: int,
    fills: Floats,
    model: Sliced,
    piece: int,
    tile: Floats,
    numbers: Shorts,
    lines: Words,
) -> tuple[bool, bool]:
    """Write numbers and bits of some rows, of which ``first`` is the place of the first cell.

    Returns false if a cell or a number has no place, and whether a cell is missing or has none.
    """
    n_columns, n_numbers, word = len(fills), len(model.is_text), piece * (PART // 64)
    number_starts, is_text, values = model.number_starts, model.is_text, model.values
    bit_starts, kinds, bounds = model.bit_starts, model.bit_kinds, model.bit_values
    is_apart, step, most = model.is_apart, model.step, model.most
    unit = step if step > 0.0 else 1.0  # a power of two, by which division rounds nothing
    has_room, has_gaps, bits = True, False, tile.view(np.int64)
    short = len(numbers) - 1
    for j in range(n_columns):
        raw = filled = j % TILE
        if raw == 0:
            _read_tile(cells, first + j, n_columns, n_rows, tile)
        low, high = _extremes(bits, raw, n_rows)
        if not (low >= -LARGEST_INPUT and high <= LARGEST_INPUT):
            filled, has_gaps = TILE, True
            if not _fill(tile, raw, n_rows, fills[j]):
                return False, True
            low, high = _extremes(bits, filled, n_rows)
        for k in range(number_starts[j], number_starts[j + 1]):
            if is_text[k]:
                _choose_text(tile, filled, values, k, unit, numbers)
                continue
            shift, factor = (values[k, 0], values[k, 1] / unit) if step > 0.0 else (0.0, 1.0)
            # Scaling keeps the order of cells. What the forward pass clips has no room.
            has_room &= abs(np.rint((low - shift) * factor)) <= most
            has_room &= abs(np.rint((high - shift) * factor)) <= most
            has_room &= step > 0.0 or _are_whole(tile, filled)
            _scale(tile, filled, shift, factor, numbers, 1 + k)
        seen = raw if is_apart[j] else filled
        is_short = seen == filled and bit_starts[j + 1] - bit_starts[j] >= _MANY_BITS
        is_short = is_short and max(-low, high) <= MOST_SHORT and _are_whole(tile, filled)
        if is_short:
            _scale(tile, filled, 0.0, 1.0, numbers, short)
        for k in range(bit_starts[j], bit_starts[j + 1]):
            if kinds[k] == GE and is_short:
                bound = np.int16(min(max(np.ceil(bounds[k]), -MOST_SHORT), MOST_SHORT + 1))
                pack(numbers, short, bound, lines, 1 + k, word)
            elif kinds[k] == GE:
                pack(tile, seen, bounds[k], lines, 1 + k, word)
            elif kinds[k] == IS:
                _pack_equal(tile, seen, bounds[k], lines, 1 + k, word)
            else:
                _pack_missing(tile, raw, lines, 1 + k, word)
    for k in range(1 + n_numbers, 1 + model.n_digits * n_numbers):
        _double(numbers, k - n_numbers, k)
    return has_room, has_gaps


@partial(part, is_apart=True)
def _double(numbers: Shorts, line: int, twice: int) -> None:
    for r in range(PART):
        numbers[twice, r] = numbers[line, r] + numbers[line, r]
