"""Compiled sums over inputs that are bits, packed in bytes as :mod:`bdnn.network.packed` has them.

With whole weights no sum rounds, so that the share of eight inputs is looked up by their byte.
Other sums are formed in feature order, as :class:`bdnn.Network` forms them.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import part
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import ByteArray

# Rows that are gone over input by input while they are in cache.
BLOCK = 256
# Sums below this are exact.
_EXACT = 2.0**52


@part
def are_whole(values: FloatArray) -> bool:
    """Whether all numbers are whole; infinite ones are."""
    found = True
    for i in range(len(values)):
        found = found and values[i] == np.floor(values[i])
    return found


@part
def bit_of(bits: ByteArray, i: int, j: int) -> int:
    """Input ``j`` of row ``i``."""
    return int((bits[i, j >> 3] >> (j & 7)) & 1)


@part
def sum_bits(bits: ByteArray, w: FloatArray, sums: FloatArray) -> None:
    """Write the weighted sums of all rows."""
    m, n = len(sums), len(w)
    size = 0.0
    for j in range(n):
        size += abs(w[j])
    if are_whole(w) and size < _EXACT:
        shares = byte_shares(bits.shape[1], w)
        for i in range(m):
            total = 0.0
            for b in range(len(shares)):
                total += shares[b, bits[i, b]]
            sums[i] = total
        return
    for first in range(0, m, BLOCK):
        last = min(m, first + BLOCK)
        for i in range(first, last):
            sums[i] = 0.0
        for j in range(n):
            if w[j] != 0.0:
                for i in range(first, last):
                    sums[i] += w[j] * bit_of(bits, i, j)


@part
def byte_shares(n_bytes: int, w: FloatArray) -> FloatArray:
    """What every byte adds to a sum, one line per place of a byte."""
    shares = np.zeros((n_bytes, 256))
    for j in range(len(w)):
        # All bytes whose highest bit is this input: those without it, and its weight.
        b, bit = j >> 3, 1 << (j & 7)
        for rest in range(bit):
            shares[b, bit + rest] = shares[b, rest] + w[j]
    return shares
