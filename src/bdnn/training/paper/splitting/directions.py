"""Directions in a weight set: real vectors made to fit it."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet


def fit_to_set(W: FloatArray, weights: WeightSet, rng: np.random.Generator) -> FloatArray:
    """Turn directions into weights of a set, the small entries of an integer set into zeros."""
    largest = np.abs(W).max(axis=1, keepdims=True, initial=0.0)
    W = W / np.where(largest > 0, largest, 1.0)
    if not weights.integer:
        return W
    if not weights.zero:
        return np.asarray(
            np.where(W > 0, 1.0, np.where(W < 0, -1.0, rng.choice([-1.0, 1.0], size=W.shape)))
        )
    if weights.limit == 1:
        cutoff = rng.uniform(0.1, 0.7, size=(len(W), 1))
        return np.asarray(np.where(np.abs(W) > cutoff, np.sign(W), 0.0))
    return np.asarray(np.rint(W * weights.limit))
