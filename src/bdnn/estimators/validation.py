"""Checks of samples that all estimators share, each failing in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from bdnn.activation import FloatArray
from bdnn.errors import DataError

# Squares of larger numbers overflow; no measurement needs them.
_LARGEST_INPUT = 1e100
# Whole numbers up to here add up without rounding, and solvers take larger costs for infinite.
_LARGEST_WEIGHT = 1e15


def check_features(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """Turn features into a float array, refusing what cannot be used.

    scikit-learn checks shape, type and feature names; numbers are checked here, because a user
    wants to know which column is wrong.
    """
    try:
        values = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise DataError(f"X must hold numbers, got text ({error}): encode or drop it.") from error
    # Comparisons with NaN are false, so that one look at the extremes settles the usual case.
    if values.size and values.min() >= -_LARGEST_INPUT and values.max() <= _LARGEST_INPUT:
        return np.asarray(values)
    for is_bad, what in (
        (np.isnan(values), "NaN"),
        (np.isinf(values), "inf"),
        (np.abs(values) > _LARGEST_INPUT, f"a value beyond {_LARGEST_INPUT:g}"),
    ):
        if is_bad.any():
            row, column = np.argwhere(is_bad)[0]
            raise DataError(
                f"X must hold finite numbers of ordinary size, got {what} in row {row}, column "
                f"{column}: remove, fill or rescale it."
            )
    return np.asarray(values)


def check_weights(
    sample_weight: Any, n_samples: int, *, name: str = "sample_weight"
) -> FloatArray | None:
    """Turn sample weights into a float array that has a positive entry."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise DataError(
            f"{name} must be one number per sample, got shape {weight.shape} for "
            f"{n_samples} samples: check its length."
        )
    if not (weight >= 0).all() or not 0 < weight.sum() < _LARGEST_WEIGHT:
        raise DataError(
            f"{name} must be finite, not negative and not all zero, and add up to less than "
            f"{_LARGEST_WEIGHT:.0e}: check or rescale its values."
        )
    return weight
