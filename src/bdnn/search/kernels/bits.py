"""Compiled sums over inputs that are bits, packed in bytes as :mod:`bdnn.network.packed` has them.

With whole weights no sum rounds, so that the share of eight inputs is looked up by their byte.
Other sums are formed in feature order, as :class:`bdnn.Network` forms them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import ByteArray, IntArray, LevelArray

# Rows that are gone over input by input while they are in cache.
BLOCK = 256
# Sums of weights of 32 bits.
_MOST = 2.0**31


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
    size = 0.0
    for j in range(n):
        size += abs(w[j])
    if are_whole(w) and size < _MOST:
        shares = byte_shares(bits.shape[1], w)
        for i in range(m):
            total = 0
            for b in range(len(shares)):
                total += shares[b, bits[i, b]]
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


@part
def byte_shares(n_bytes: int, w: FloatArray) -> NDArray[np.int32]:
    """What every byte adds to a sum, one line per place of a byte."""
    shares = np.zeros((n_bytes, 256), dtype=np.int32)
    for j in range(len(w)):
        # All bytes whose highest bit is this input: those without it, and its weight.
        b, bit = j >> 3, 1 << (j & 7)
        for rest in range(bit):
            shares[b, bit + rest] = shares[b, rest] + int(w[j])
    return shares
