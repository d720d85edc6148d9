"""What follows the first layer, on packed bits: a table of all patterns, or counts under masks.

A hidden layer is a pattern of bits. If it is narrow, the classes of all patterns are tabled once;
if it is wide and the weights are -1, 0 and 1, a sum is the number of bits under one mask minus that
under another. Both give exactly what the forward pass gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray, step, weighted_sums

# The table of a wider layer would take longer to fill than it saves.
_WIDEST_TABLE = 10
_HAS_BIT_COUNT = int(np.__version__.split(".")[0]) >= 2
# Rows are handled in blocks of about this many sums, which stay in cache.
_BLOCK = 1 << 17

Words = NDArray[np.uint64]
Classes = NDArray[np.intp]


class PackedTail:
    """The layers after the first one."""

    def __init__(
        self,
        # Of these layers, the outputs last.
        weights: Sequence[FloatArray],
        thresholds: Sequence[FloatArray],
        # Makes classes of the outputs' sums and 0/1 values.
        choose: Callable[[FloatArray, BoolArray], Classes],
    ) -> None:
        self._layers = [(W, _masks(W), t) for W, t in zip(weights, thresholds, strict=True)]
        self._choose = choose
        width = weights[0].shape[1]
        self._table: Classes | None = None
        if width <= _WIDEST_TABLE:
            patterns = (np.arange(2**width)[:, None] >> np.arange(width)) & 1
            self._table = self._walk(patterns.astype(bool))

    def classes(self, on: BoolArray) -> Classes:
        """Classes of the first layer's 0/1 values, one sample per line."""
        if self._table is None:
            return self._walk(on)
        packed = np.packbits(on, axis=1, bitorder="little")
        codes = packed[:, 0].astype(np.intp)
        if packed.shape[1] > 1:
            codes |= packed[:, 1].astype(np.intp) << 8
        return self._table[codes]

    def _walk(self, on: BoolArray) -> Classes:
        for W, masks, t in self._layers:
            sums = weighted_sums(on.astype(float), W) if masks is None else _count(on, *masks)
            on = step(sums, t)
        return self._choose(sums, on)


def _masks(W: FloatArray) -> tuple[Words, Words] | None:
    """Masks of the weights 1 and -1, None if there are others."""
    if not _HAS_BIT_COUNT or not np.isin(W, (-1.0, 0.0, 1.0)).all():
        return None
    return _pack(W > 0), _pack(W < 0)


def _pack(bits: BoolArray) -> Words:
    """Bits of every line in words of 64."""
    width = -(-bits.shape[1] // 64) * 64
    padded = np.zeros((len(bits), width // 8), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def _count(on: BoolArray, plus: Words, minus: Words) -> FloatArray:
    """Sums of weights -1, 0 and 1, whole numbers."""
    sums = np.empty((len(on), len(plus)))
    block = max(1, _BLOCK // max(1, plus.size))
    for first in range(0, len(on), block):
        rows = slice(first, first + block)
        words = _pack(on[rows])[:, None, :]
        above = np.bitwise_count(words & plus).sum(axis=2, dtype=np.int64)
        sums[rows] = above - np.bitwise_count(words & minus).sum(axis=2, dtype=np.int64)
    return sums
