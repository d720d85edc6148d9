"""What an estimator asks of networks besides a small loss: sparsity, prices, constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import FloatArray
from bdnn.constraints.context import Context
from bdnn.constraints.problem import ConstrainedProblem, constrain
from bdnn.errors import ModelError
from bdnn.problem import TrainingProblem


def demanded(
    estimator: Any,
    problem: TrainingProblem,
    values: FloatArray,
    labels: NDArray[np.intp],
) -> TrainingProblem:
    """Put what is asked of networks on the problem; names and rows are those of ``fit``."""
    if not is_demanding(estimator):
        return problem
    context = Context.of_samples(
        problem,
        values,
        estimator.scaler_.transform(values),
        labels,
        names=estimator.input_names_,
        classes=estimator.classes_.tolist(),
    )
    if estimator.robust_radius is not None and estimator.robust_loss == "average":
        # A copy that happens to fall on a sample is still no sample.
        context = replace(context, lines=np.full_like(context.lines, -1))
    found = constrain(
        problem,
        context,
        sparsity=estimator.sparsity,
        regularizer=estimator.regularizer,
        constraints=estimator.constraints,
    )
    if isinstance(found, ConstrainedProblem) and type(problem) is not TrainingProblem:
        raise ModelError(
            f"robust_loss='{estimator.robust_loss}' cannot be combined with {found.demands}: use "
            "robust_loss='pattern', which keeps first-layer activations."
        )
    return found


def is_demanding(estimator: Any) -> bool:
    """Whether anything is asked of networks besides a small loss."""
    some = [estimator.sparsity, estimator.regularizer, estimator.constraints]
    return any(value is not None and value not in ((), []) for value in some)
