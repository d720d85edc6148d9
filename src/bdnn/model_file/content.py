"""What a model file holds, as plain data, and the checksum over all of it.

Numbers are written by Python's shortest exact notation, so that reading gives the same bits. The
checksum makes an accidental or careless edit visible; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from bdnn import limits
from bdnn.model import Model

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
        and ``promises``. Empty in files written without it.
    """

    model: Model
    settings: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)


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
