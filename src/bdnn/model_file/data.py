"""What a model file holds, as plain data: its record, its checksum, and what it says of its data.

Numbers are written by Python's shortest exact notation, so that reading gives the same bits. The
checksum makes an accidental or careless edit visible; it is no signature. Which rows a model was
trained on is told by short hashes of a bounded number: where rows are many, of those whose hashes
are small, which says of a part of any rows, drawn as if by chance, whether they were among them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bdnn import limits
from bdnn.model import Model
from bdnn.network.activation import BoolArray, FloatArray

FORMAT = "bdnn-model"
VERSION = 3


@dataclass(frozen=True)
class ModelRecord:
    """A model with all that is kept of its training.

    Parameters
    ----------
    model : Model
    settings : dict
        The estimator's parameters at training time.
    result : dict
        The training result as plain data.
    extra : dict
        Whatever else the writer wants back, as plain data.
    certificate : dict
        What ``bdnn check`` needs beside the result: ``data`` (the training data's hash and ranges)
        and ``promises``; and ``seen``, which rows were trained on. Empty in files written without
        it.
    """

    model: Model
    settings: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> SeenRows | None:
        """The rows that the model was trained on, if the file tells them."""
        kept = self.certificate.get("seen")
        return None if kept is None else SeenRows.from_dict(kept)


def encode(value: Any) -> Any:
    """Plain data with infinite numbers as ``{"float": "inf"}``, which JSON has no notation for."""
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def decode(value: Any) -> Any:
    """Read what :func:`encode` wrote."""
    if isinstance(value, dict):
        if set(value) == {"float"} and value["float"] in ("inf", "-inf", "nan"):
            return float(value["float"])
        return {key: decode(item) for key, item in value.items()}
    return [decode(item) for item in value] if isinstance(value, list) else value


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content, whatever the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_widths(widths: Sequence[int]) -> None:
    """Refuse shapes beyond the limits, before anything of that size is made."""
    n_weights = sum(a * b for a, b in pairwise(widths))
    for is_beyond, what in (
        (len(widths) - 1 > limits.LAYERS, f"{limits.LAYERS} layers"),
        (max(widths) > limits.WIDTH, f"{limits.WIDTH} units in a layer"),
        (widths[-1] > limits.CLASSES, f"{limits.CLASSES} outputs"),
        (n_weights > limits.WEIGHTS, f"{limits.WEIGHTS} weights"),
    ):
        if is_beyond:
            raise ValueError(f"more than {what}")


# Samples that rule out most units of most features.
_FEW_ROWS = 1000
# More would be most of the file.
_MOST_WEIGHTS = 100_000
# Units that measurements come in; a feature of none of them has no common unit.
_UNITS: tuple[int, ...] = (1, 10, 100, 1000, 10**4, 10**5, *(2**e for e in range(1, 11)))


def describe_data(
    # (n_samples, n_features): codes of the raw columns, NaN where a value is missing.
    X: FloatArray,
    labels: NDArray[np.intp],  # index of every sample's class
    *,
    used: BoolArray,  # which samples the loss counts
    class_weight: Sequence[float] | None,  # weight of a sample of every class, if not 1
    # Weight of every sample, classes included, if samples have weights of their own.
    sample_weight: FloatArray | None,
) -> dict[str, Any]:
    """Describe training data: hash, ranges, units."""
    rows = None if used.all() else format_rows(np.flatnonzero(used))
    X, labels = X[used] + 0.0, labels[used]  # + 0.0 turns -0.0 into 0.0
    gaps = np.isnan(X)
    if gaps.any():
        X[gaps] = np.nan  # all by the same bits
    return {
        "rows": len(X),
        "used": rows,
        "sha256": fingerprint(X, labels),
        "class_weight": None if class_weight is None else [float(w) for w in class_weight],
        "sample_weight": False if sample_weight is None else _weights(sample_weight[used]),
        **describe_ranges(X),
    }


def describe_ranges(X: FloatArray) -> dict[str, Any]:
    """Least and largest values of columns, and units that they are whole counts of."""
    is_empty = np.isnan(X).all(axis=0)
    return {
        "low": np.where(is_empty, 0.0, np.fmin.reduce(X, axis=0)).tolist(),
        "high": np.where(is_empty, 0.0, np.fmax.reduce(X, axis=0)).tolist(),
        "per_unit": _units(X),
    }


def _weights(weight: FloatArray) -> list[float] | bool:
    """Weights as they are written; of very many samples only that there are some."""
    return weight.tolist() if len(weight) <= _MOST_WEIGHTS else True


def fingerprint(X: FloatArray, labels: NDArray[np.intp]) -> str:
    """SHA-256 over the sorted records of a data set, so that the order of rows does not matter.

    A record is the features as little-endian doubles and the class as a little-endian 64-bit
    integer.
    """
    width = 8 * (X.shape[1] + 1)
    table = np.empty((len(X), width), dtype=np.uint8)
    table[:, :-8] = np.ascontiguousarray(X, dtype="<f8").view(np.uint8)
    table[:, -8:] = labels.astype("<i8")[:, None].view(np.uint8)
    records = table.view(f"V{width}").ravel()
    records.sort()
    return hashlib.sha256(records.data).hexdigest()


def format_rows(rows: NDArray[np.intp]) -> str:
    """Write ascending row numbers from 0 as text that counts from 1, such as ``1-4,6``."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    runs = np.split(rows + 1, breaks) if len(rows) else []
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _units(X: FloatArray) -> list[int | None]:
    """Smallest numbers of counts per unit that make whole counts of features, None without one."""
    found: list[int | None] = [None] * X.shape[1]
    left = np.arange(X.shape[1])
    X = np.where(np.isnan(X), 0.0, X) if np.isnan(X).any() else X  # a whole count of any unit
    largest = np.abs(X).max(axis=0, initial=0.0)
    for unit in _UNITS:  # smallest first, decimal before binary
        fits = largest[left] * unit < 2.0**31
        # The first samples already tell most features that are no whole counts.
        for part in (X[:_FEW_ROWS], X):
            tried = left[fits]
            fits[fits] = (np.rint(part[:, tried] * unit) / unit == part[:, tried]).all(axis=0)
        for feature in left[fits].tolist():
            found[feature] = unit
        left = left[~fits]
        if not left.size:
            break
    return found


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
