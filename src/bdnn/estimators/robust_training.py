"""What an estimator's ``robust_radius`` asks of training: which problem, and which method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.problem import TrainingProblem
from bdnn.robustness.norms import Norm, check_norm, check_radius
from bdnn.scaling import Scaler
from bdnn.training import Auto, Exact
from bdnn.training.average import average_problem
from bdnn.training.base import AbstractMethod
from bdnn.training.certified import Certified, CertifiedProblem
from bdnn.training.robust_auto import RobustAuto

RobustLoss = Literal["pattern", "certified", "average"]


@dataclass(frozen=True, eq=False)
class RobustTraining:
    """Radii of samples and what must hold within them.

    Parameters
    ----------
    radius : array of shape (n_samples,)
        In units of scaled inputs.
    norm : {"linf", "l1", "l2"}
    loss : {"pattern", "certified", "average"}
        Every first-layer activation of every sample must hold (the paper's model), a sample counts
        as right only if its class holds, or it counts by random perturbations of that length.
    seed : int
        Of the random perturbations.
    """

    radius: FloatArray
    norm: Norm
    loss: RobustLoss
    seed: int = 0

    @classmethod
    def create(
        cls, radius: Any, norm: str, loss: str, n_samples: int, seed: int = 0
    ) -> RobustTraining | None:
        """Check what a user asks for; None where no radius is given."""
        norm = check_norm(norm, name="robust_norm")
        if loss not in get_args(RobustLoss):
            raise ModelError(
                f"robust_loss must be 'certified', 'average' or 'pattern', got {loss!r}: choose "
                "one of these."
            )
        if radius is None:
            return None
        radii = check_radius(radius, n_samples, name="robust_radius")
        return cls(radii, norm, loss, seed)  # type: ignore[arg-type]

    def method(self, chosen: AbstractMethod) -> AbstractMethod:
        """The method that can do it, or a sentence that says why the chosen one cannot."""
        if self.loss == "average":
            return chosen  # moved copies are samples like any others
        if self.loss == "certified":
            if type(chosen) is Exact:
                return Certified(search=False, eps=chosen.eps)
            if type(chosen) is Auto:
                return Certified(patience=chosen.patience, eps=chosen.eps)
            if isinstance(chosen, Certified):
                return chosen
            raise ModelError(
                f"method '{chosen.name}' does not train with robust_loss='certified': use 'auto', "
                f"'exact' or 'certified', or robust_loss={self._other_loss(chosen)}."
            )
        if type(chosen) is Auto:
            return RobustAuto(reductions=chosen.reductions, eps=chosen.eps)
        if not hasattr(chosen, "robust_radius"):
            raise ModelError(
                f"method '{chosen.name}' cannot hold activations within a radius: use 'exact', "
                "'local_search' or 'data_splitting', or robust_loss='certified'."
            )
        return chosen

    @staticmethod
    def _other_loss(chosen: AbstractMethod) -> str:
        return "'pattern' or 'average'" if hasattr(chosen, "robust_radius") else "'average'"

    def problem(
        self,
        architecture: Architecture,
        scaler: Scaler,
        X: FloatArray,
        labels: NDArray[np.intp],
        weight: FloatArray | None,
        part: BoolArray,
    ) -> TrainingProblem:
        """The training problem of a part of the samples."""
        X, labels = X[part], labels[part]
        weight = None if weight is None else weight[part]
        if self.loss == "certified":
            return CertifiedProblem.create(
                architecture, scaler, X, labels, self.radius[part], self.norm, weight
            )
        if self.loss == "average":
            return average_problem(
                architecture, scaler, X, labels, self.radius[part], self.norm, weight,
                seed=self.seed,
            )  # fmt: skip
        return TrainingProblem.from_samples(architecture, scaler.transform(X), labels, weight)

    def with_radii(
        self, method: AbstractMethod, problem: TrainingProblem, inputs: FloatArray, part: BoolArray
    ) -> AbstractMethod:
        """Hand the radii of the problem's inputs to the method: of equal samples the largest."""
        if self.loss != "pattern":
            return method
        radii = np.zeros(len(problem.inputs))
        lines = problem.lines_of(inputs[part])
        used = lines >= 0  # samples without weight are no part of the problem
        np.maximum.at(radii, lines[used], self.radius[part][used])
        return replace(method, robust_radius=tuple(radii.tolist()), robust_norm=self.norm)  # type: ignore[call-arg]
