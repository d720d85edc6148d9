"""What a user gives: tables of numbers, objects and frames as codes; weights, labels and masks.

What cannot be is refused in one sentence.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from bdnn.encoding import (
    Encoder,
    Inputs,
    Table,
    check_codes,
    learn_columns,
    note_gaps,
    read_codes,
)
from bdnn.encoding.frames import frame_table, is_frame, object_table
from bdnn.errors import DataError
from bdnn.limits import LARGEST_INPUT
from bdnn.model import Model
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


def learn_table(
    estimator: Any,
    X: Any,
    inputs: Inputs,
    names: Sequence[str] | None,  # of columns that have none of their own
    encoder: Encoder | None,  # what the columns are, where ``X`` is codes already
) -> tuple[FloatArray, Encoder]:
    """Codes of training rows, and an encoder that knows what their columns are, and no more."""
    estimator._takes_codes = encoder is not None
    if encoder is not None:
        codes = _numbers(estimator, X, reset=True)
        check_codes(codes)
        _check_count(encoder.n_columns, codes.shape[1])
        estimator._columns_in = encoder.names
        return codes, encoder
    table = _table(estimator, X, reset=True)
    own = getattr(estimator, "feature_names_in_", None)
    if names is None and own is not None:
        names = own.tolist()
    codes = np.empty((0, 0)) if table is not None else _numbers(estimator, X, reset=True)
    check_codes(codes)
    n_columns = codes.shape[1] if table is None else table.n_columns
    called = _made_up(n_columns) if names is None else tuple(map(str, names))
    _check_count(len(called), n_columns)
    estimator._columns_in = called
    if table is None:
        if not inputs.drop and not inputs.categories:
            return codes, Encoder.of_features(codes.shape[1], None if names is None else called)
        table = Table.of_numbers("X", called, codes)
    table = replace(table, names=called, header=names is not None)
    columns, codes = learn_columns(table, inputs)
    return codes, Encoder(columns, header=table.header)


def known_codes(estimator: Any, X: Any, encoder: Encoder) -> FloatArray:
    """Codes of rows for an encoder, with a warning of what was not so in training.

    Numbers are codes for an estimator that was trained on codes, and raw values otherwise.
    """
    codes, is_checked = _codes(estimator, X, encoder)
    if not is_checked and not check_codes(codes):
        _warn(note_gaps(encoder, codes))
    return codes


def known_outcomes(estimator: Any, X: Any, model: Model) -> NDArray[np.intp]:
    """Index of every row's predicted class, with the warnings of :func:`known_codes`.

    Numbers are checked where classes are found: rows are read once.
    """
    codes, is_checked = _codes(estimator, X, model.encoder)
    outcomes, has_gaps = model.checked_outcomes(codes)
    if has_gaps and not is_checked:
        _warn(note_gaps(model.encoder, codes))
    return outcomes


def _codes(estimator: Any, X: Any, encoder: Encoder) -> tuple[FloatArray, bool]:
    """Codes of rows for an encoder, and whether their numbers are checked."""
    table = _table(estimator, X, reset=False)
    if table is None:
        codes = _numbers(estimator, X, reset=False)
        is_plain = all(column.kind == "number" for column in encoder.columns)
        is_plain |= estimator._takes_codes
        if is_plain and codes.shape[1] == encoder.n_columns:
            return codes, False
        check_codes(codes)
        table = Table.of_numbers("X", _made_up(codes.shape[1]), codes)
    if not is_frame(X) or not encoder.header:  # columns are known by their places
        table = replace(table, names=estimator._columns_in, header=encoder.header)
    codes, notes = read_codes(encoder, table)
    _warn([note for note in notes if not note.startswith("took ")], 1)
    return codes, True


def _warn(notes: Sequence[str], more: int = 0) -> None:
    """One warning where the user called a method: four calls up, or more."""
    if notes:
        warnings.warn("; ".join(notes) + ".", UserWarning, stacklevel=5 + more)


def _table(estimator: Any, X: Any, *, reset: bool) -> Table | None:
    """The table of a frame or of objects, None for numbers; scikit-learn looks at names only."""
    if is_frame(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        table = frame_table(X)
    elif _holds_objects(X):
        validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=reset)
        table = object_table(X)
    else:
        return None
    if not table.n_rows:
        raise DataError("X has 0 sample(s) while a minimum of 1 is required: give rows.")
    return table


def _holds_objects(X: Any) -> bool:
    """Whether an array or a list has texts or other objects in it."""
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:
            return False  # rows of different lengths, which scikit-learn says
    return isinstance(X, np.ndarray) and X.dtype.kind in "OUS"


def _numbers(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """An array of numbers, NaN where one is missing.

    scikit-learn checks shape and type; numbers are for :func:`check_codes`, because a user wants
    to know which column is wrong.
    """
    values = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
    return np.asarray(values)


def _made_up(n_columns: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(1, n_columns + 1))


def _check_count(n_names: int, n_columns: int) -> None:
    if n_names != n_columns:
        raise DataError(
            f"feature_names must name {n_columns} features, got {n_names}: give one name per "
            "column."
        )
