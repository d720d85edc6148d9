"""What the estimators share: checks of parameters, names, plain settings, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bdnn.activation import Activation
from bdnn.architecture import WeightSet
from bdnn.constraints.base import AbstractConstraint
from bdnn.errors import DataError, ModelError
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.regression.base import RegressionMethod
from bdnn.training.result import TrainingResult

_LIMITS = ("time limit", "node limit", "interrupted")


def check_calls(n_jobs: object, callback: object) -> None:
    """Refuse a number of jobs or a callback that cannot be one."""
    if n_jobs == 0 or not (callback is None or callable(callback)):
        raise ModelError(
            f"n_jobs must not be 0 and callback must be callable, got {n_jobs!r} and "
            f"{callback!r}: give for example n_jobs=1 and callback=None."
        )


def choose_names(estimator: Any, feature_names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Take the names given to ``fit``, or the columns' own, or none."""
    if feature_names is None:
        found = getattr(estimator, "feature_names_in_", None)
        return None if found is None else tuple(map(str, found))
    if len(feature_names) != estimator.n_features_in_:
        raise DataError(
            f"feature_names must name {estimator.n_features_in_} features, got "
            f"{len(feature_names)}: give one name per column."
        )
    return tuple(map(str, feature_names))


def plain_parameter(value: Any) -> Any:
    """Parameter as JSON: names of methods and solvers, nothing for networks and functions."""
    named = AbstractMethod | RegressionMethod | AbstractSolver | WeightSet | Activation
    if isinstance(value, named):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        # Constraints are about the data and live on as promises; a list without some of them would
        # be another one.
        kept = () if any(isinstance(item, AbstractConstraint) for item in value) else value
        return [plain_parameter(item) for item in kept]
    if isinstance(value, Mapping):
        # JSON turns keys into strings, so a class weight per label is kept as readable text only.
        return None
    return value if isinstance(value, str | int | float | bool | None) else None


def warn_if_stopped(result: TrainingResult, *, stacklevel: int = 3) -> None:
    """Warn of a run that a limit ended, so many calls up, where the user called ``fit``."""
    if result.status in _LIMITS:
        remedy = "run longer" if result.status != "interrupted" else "let it finish"
        warnings.warn(
            f"training was ended ({result.status}) after {result.seconds:.1f} s with loss "
            f"{result.minimised:g} and bound {result.bound:g}: {remedy} for a better network or "
            "a proof.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
