"""The training methods of regression by name."""

from __future__ import annotations

from bdnn.errors import ModelError
from bdnn.training.regression.auto import RegressionAuto
from bdnn.training.regression.base import RegressionMethod
from bdnn.training.regression.descent import RegressionDescent
from bdnn.training.regression.exact import RegressionExact

METHODS: dict[str, type[RegressionMethod]] = {
    method.name: method for method in (RegressionAuto, RegressionExact, RegressionDescent)
}


def get_regression_method(method: str | RegressionMethod) -> RegressionMethod:
    """Turn a name into a method with its default settings; a method is returned as it is."""
    if isinstance(method, RegressionMethod):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(
            f"method of a regressor must be one of {', '.join(map(repr, METHODS))}, got "
            f"{method!r}: choose one of these."
        )
    return METHODS[method]()
