"""Rows of inputs that are 0 or 1, packed in words of 64: a 64th of what they take as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import FloatArray, row_blocks

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows of bits. A part of them, by ``rows[part]``, is an array of numbers.

    Parameters
    ----------
    packed : array of shape (n_rows, bytes)
        Input ``j`` is bit ``j % 8`` of byte ``j // 8``; bits beyond the last input are 0. Bytes are
        whole words of eight.
    n_columns : int
    """

    packed: NDArray[np.uint8]
    n_columns: int

    @classmethod
    def of(cls, X: NDArray[Any]) -> PackedRows | None:
        """Pack an array of any type, None where it holds another number than 0 and 1."""
        packed = np.empty((len(X), 8 * -(-X.shape[1] // 64)), dtype=np.uint8)
        for rows in row_blocks(X.shape):
            block = X[rows]
            is_on = block == 1
            if not (is_on | (block == 0)).all():
                return None
            packed[rows] = pack(is_on).view(np.uint8)
        return cls(packed, X.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.packed), self.n_columns

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> FloatArray:
        count, part = self.n_columns, self.packed[rows]
        return np.unpackbits(part, axis=1, count=count, bitorder="little").astype(float)

    def take(self, rows: NDArray[np.integer]) -> PackedRows:
        """Some of the rows, packed."""
        return PackedRows(self.packed[rows], self.n_columns)


def pack(bits: NDArray[np.bool_]) -> Words:
    """Bits of every line in words of 64."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 64)), dtype=np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words
