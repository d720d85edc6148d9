"""Training methods of regression: ``auto``, ``exact`` and ``descent``."""

from bdnn.training.regression.auto import RegressionAuto
from bdnn.training.regression.base import RegressionMethod
from bdnn.training.regression.descent import RegressionDescent
from bdnn.training.regression.exact import RegressionExact
from bdnn.training.regression.registry import METHODS, get_regression_method

__all__ = [
    "METHODS",
    "RegressionAuto",
    "RegressionDescent",
    "RegressionExact",
    "RegressionMethod",
    "get_regression_method",
]
