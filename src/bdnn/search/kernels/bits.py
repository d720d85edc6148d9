"""Compiled sums over inputs that are bits, packed in bytes as :mod:`bdnn.network.packed` has them.

With whole weights no sum rounds, so that the inputs of equal digits of weights are counted under
masks. Other sums are formed in feature order, as :class:`bdnn.Network` forms them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.network.packed import Words
from bdnn.search.kernels.arrays import ByteArray, IntArray, LevelArray

# Rows that are gone over input by input while they are in cache.
BLOCK = 256
# Whole weights below it have sums that do not round.
_MOST = 2.0**31
_U = np.uint64


@part
def are_whole(values: FloatArray) -> bool:
    """Whether all numbers are whole; infinite ones are."""
    found = True
    for i in range(len(values)):
        found = found and values[i] == np.floor(values[i])
    return found


@part
def unpack(bits: ByteArray, chosen: IntArray, first: int, codes: LevelArray) -> None:
    """Write inputs from the ``first`` on of some rows, one line per input."""
    n, p = codes.shape
    column = np.empty(p, dtype=np.uint8)
    for j in range(n):
        # The byte of eight inputs is gathered once.
        if j == 0 or (first + j) & 7 == 0:
            for q in range(p):
                column[q] = bits[chosen[q], (first + j) >> 3]
        mask = np.uint8(1 << ((first + j) & 7))
        for q in range(p):
            codes[j, q] = 1 if column[q] & mask else 0


@part
def sum_bits(bits: ByteArray, w: FloatArray, sums: FloatArray) -> None:
    """Write the weighted sums of all rows."""
    m, n = len(sums), len(w)
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(w[j]))
    if are_whole(w) and largest < _MOST:
        words = bits.view(np.uint64)
        above, below = digit_masks(words.shape[1], w, int(largest))
        for i in range(m):
            total = 0
            for p in range(len(above)):
                count = 0
                for b in range(words.shape[1]):
                    count += ones(words[i, b] & above[p, b]) - ones(words[i, b] & below[p, b])
                total += count << p
            sums[i] = total
        return
    for first in range(0, m, BLOCK):
        block = np.arange(first, min(m, first + BLOCK))
        codes = np.empty((n, len(block)), dtype=np.uint8)
        unpack(bits, block, 0, codes)
        for q in range(len(block)):
            sums[first + q] = 0.0
        for j in range(n):
            if w[j] != 0.0:
                for q in range(len(block)):
                    sums[first + q] += w[j] * codes[j, q]


def ones(word: np.uint64) -> int:
    """Count the bits of a word that are 1."""
    return int(word).bit_count()


@intrinsic  # type: ignore[untyped-decorator]
def _population(context: Any, word: Any) -> Any:
    """One instruction, which numba has no name for."""
    return types.int64(types.uint64), lambda _, builder, __, words: builder.ctpop(words[0])


@overload(ones)
def _compiled_ones(word):  # type: ignore[no-untyped-def]  # names and types are compared
    return lambda word: _population(word)


@part
def digit_masks(n_words: int, w: FloatArray, largest: int) -> tuple[Words, Words]:
    """Inputs of positive and of negative weights with a binary digit, one line per digit."""
    n_digits = 0
    while largest >> n_digits:
        n_digits += 1
    masks = np.zeros((2, n_digits, n_words), dtype=np.uint64)
    for j in range(len(w)):
        for p in range(n_digits):
            if int(abs(w[j])) >> p & 1:
                masks[0 if w[j] > 0.0 else 1, p, j >> 6] |= _U(1) << _U(j & 63)
    return masks[0], masks[1]
