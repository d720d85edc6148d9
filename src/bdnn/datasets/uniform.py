"""The random data of the paper's first experiments."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from bdnn.datasets.dataset import Dataset
from bdnn.errors import DataError


def make_uniform(n_samples: int = 200, n_features: int = 100, random_state: int = 0) -> Dataset:
    """Draw the paper's uniform data.

    Every third row has entries in [0, 10] and label 1, every third has entries in [-10, 0] and
    label 0, and every third has entries in [-1, 1] and a random label. The three kinds take turns,
    as in the files of the paper's authors, so that any first part of the rows is a fair sample.

    Parameters
    ----------
    n_samples, n_features : int
    random_state : int
        Seed; equal seeds give equal data.
    """
    n_samples = _count("n_samples", n_samples)
    n_features = _count("n_features", n_features)
    rng = np.random.default_rng(random_state)
    kind = np.arange(n_samples) % 3
    lower = np.array([0.0, -10.0, -1.0])[kind, None]
    upper = np.array([10.0, 0.0, 1.0])[kind, None]
    X = rng.uniform(lower, upper, size=(n_samples, n_features))
    y = np.where(kind == 2, rng.integers(0, 2, size=n_samples), 1 - kind)
    return Dataset(
        "uniform",
        X,
        y,
        tuple(f"x{j}" for j in range(1, n_features + 1)),
        "label",
        "Uniform random points around three centres: one third of them positive with label 1, one "
        "third negative with label 0, one third near the origin with random labels.",
    )


def _count(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise DataError(f"{name} must be a whole number of at least 1, got {value!r}: give one.")
    return number
