"""Checks of what is given of samples, each failing in one sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from bdnn.errors import DataError
from bdnn.limits import LARGEST_INPUT
from bdnn.network.activation import BoolArray, FloatArray

# Whole numbers up to here add up without rounding, and solvers take larger costs for infinite.
_LARGEST_WEIGHT = 1e15


def check_targets(y: Any, n_samples: int) -> FloatArray:
    """Turn the targets of a regression into a float array of one or two dimensions."""
    if y is None:
        raise DataError("requires y to be passed, but the target y is None: give the targets.")
    array = np.asarray(y)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: y must hold real numbers.")
    try:
        targets = array.astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"y must hold numbers, got something else ({error}): use a classifier for labels, or "
            "another target."
        ) from error
    if targets.ndim == 2 and targets.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=3,
        )
        targets = targets[:, 0]
    if targets.ndim not in (1, 2) or targets.size == 0:
        raise DataError(
            f"y must be one number per sample, or one row of numbers, got shape {targets.shape}: "
            "check the target."
        )
    check_consistent_length(np.empty(n_samples), targets)
    if not (np.abs(targets) <= LARGEST_INPUT).all():
        raise DataError(
            f"y must hold finite numbers of ordinary size, got NaN, inf or a value beyond "
            f"{LARGEST_INPUT:g}: remove or rescale it."
        )
    return np.asarray(targets)


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


def check_labels(y: ArrayLike, n_samples: int) -> NDArray[Any]:
    """Turn labels into an array, refusing what cannot be classes."""
    if y is None:
        raise DataError("requires y to be passed, but the target y is None: give the labels.")
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("y must hold class labels, got NaN or inf: remove these rows.")
    check_classification_targets(labels)
    check_consistent_length(np.empty(n_samples), labels)
    return np.asarray(labels)


def known_labels(y: ArrayLike, n_samples: int, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Indices of labels among the classes."""
    labels = check_labels(y, n_samples)
    is_new = ~np.isin(labels, classes)
    if is_new.any():
        raise DataError(
            f"y must hold classes of {classes.tolist()}, got "
            f"{labels[is_new][:1].tolist()[0]!r} too: fit a new model with all samples."
        )
    return np.asarray(np.searchsorted(classes, labels))


def check_rows(values: ArrayLike, n_samples: int, name: str) -> NDArray[Any]:
    """One value per sample, of any type."""
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise DataError(
            f"{name} must be one value per sample, got shape {array.shape} for {n_samples} "
            "samples: check its length."
        )
    return array


def check_mask(must: ArrayLike, n_samples: int) -> BoolArray:
    """One truth value per sample."""
    array = check_rows(must, n_samples, "must")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise DataError(
            "must has to be True or False for every sample, got other values: give a mask such as "
            "y == 'ill'."
        )
    return array.astype(bool)


def check_classes(given: ArrayLike | None, known: NDArray[Any] | None) -> NDArray[Any] | None:
    """Classes of samples that come in parts: all in the first call, then the same or none."""
    classes = None if given is None else np.unique(np.asarray(given))
    if known is None and (classes is None or len(classes) < 2):
        got = None if classes is None else classes.tolist()
        raise DataError(
            "classes must be given in the first call of partial_fit and be at least two, got "
            f"{got}: list all labels that will come."
        )
    if known is not None and classes is not None and not np.array_equal(classes, known):
        raise DataError(
            f"classes must stay {known.tolist()}, got {classes.tolist()}: leave them out after the "
            "first call."
        )
    return classes
