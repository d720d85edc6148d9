"""What a model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bdnn.model import Model


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
