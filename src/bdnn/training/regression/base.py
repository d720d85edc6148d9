"""What the methods of regression share: the type of their problem, and the fit of outputs."""

from __future__ import annotations

from dataclasses import dataclass

from bdnn.regression_problem import RegressionProblem
from bdnn.training.base import Method, RunRecord

RegressionRecord = RunRecord[RegressionProblem]


@dataclass(frozen=True)
class RegressionMethod(Method[RegressionProblem]):
    """A way to train regressors."""
