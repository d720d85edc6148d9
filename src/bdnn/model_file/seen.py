"""Which rows a model was trained on: short hashes of them, of a bounded number.

Where rows are many, those are kept whose hashes are small, which says of a part of any rows, drawn
as if by chance, whether they were among them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray

_BYTES = 6
_ALL = 1 << (8 * _BYTES)
_MOST = 8192


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Hashes of the raw columns of rows, the labels left out.

    Parameters
    ----------
    below : int
        Hashes below this number are kept, out of 2**48.
    hashes : array of int
        In ascending order.
    """

    below: int
    hashes: NDArray[np.int64]

    @classmethod
    def of(cls, codes: FloatArray) -> Self:
        """Take note of rows."""
        hashes = np.unique(_hashes(codes))
        below = _ALL if len(hashes) <= _MOST else int(hashes[_MOST])
        return cls(below, hashes[:_MOST])

    def tell(self, codes: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Which rows were among them, and which can be told at all."""
        found = _hashes(codes)
        return np.isin(found, self.hashes), found < self.below

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        held = self.hashes.astype(">i8").view(np.uint8).reshape(-1, 8)[:, -_BYTES:]
        return {"below": self.below, "hashes": base64.b64encode(held.tobytes()).decode()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`; raises a ``ValueError`` or the like."""
        below = data["below"]
        held = np.frombuffer(base64.b64decode(data["hashes"], validate=True), dtype=np.uint8)
        if type(below) is not int or not 0 < below <= _ALL or len(held) > _MOST * _BYTES:
            raise ValueError("the rows that were trained on make no sense")
        wide = np.zeros((len(held) // _BYTES, 8), dtype=np.uint8)
        wide[:, -_BYTES:] = held.reshape(-1, _BYTES)
        return cls(below, wide.view(">i8").ravel().astype(np.int64))


def is_among(codes: FloatArray, known: FloatArray) -> BoolArray:
    """Which rows are equal to one of the known ones."""
    return np.isin(_hashes(codes), _hashes(known))


def _hashes(codes: FloatArray) -> NDArray[np.int64]:
    """A number below 2**48 of every row; equal rows have equal ones."""
    plain = np.where(np.isnan(codes), np.nan, codes) + 0.0  # one NaN, and no -0.0
    table = np.ascontiguousarray(plain, dtype="<f8")
    width, data = 8 * table.shape[1], table.tobytes()
    digests = (
        hashlib.blake2b(data[first : first + width], digest_size=_BYTES).digest()
        for first in range(0, len(data), width)
    )
    return np.fromiter((int.from_bytes(d) for d in digests), dtype=np.int64, count=len(table))
