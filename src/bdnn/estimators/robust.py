"""Training for balls around the samples: what a user asks, and which problem and method that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.estimators.samples import LabelledSamples
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.norms import check_norm, check_radius
from bdnn.problem.problem import Problem
from bdnn.training.base import AbstractMethod
from bdnn.training.perturbed import certified_problem, moved_copies

RobustLoss = Literal["pattern", "certified", "average"]


@dataclass(frozen=True)
class Robust:
    """Balls around the training samples, and what holds in them.

    Parameters
    ----------
    radius : float or None, default None
        Of all balls, in units of scaled inputs. ``fit`` takes one per sample instead.
    norm : {"linf", "l1", "l2"}, default "linf"
    loss : {"certified", "average", "pattern"}, default "certified"
        What holds in the balls: the classes of as many samples as possible, so that the loss counts
        the others; the loss for random perturbations, on average; or every first-layer activation
        of every sample, as in the paper.
    """

    radius: float | None = None
    norm: str = "linf"
    loss: str = "certified"

    def __post_init__(self) -> None:
        check_norm(self.norm, name="robust: norm")
        if self.loss not in get_args(RobustLoss):
            raise ModelError(
                f"robust: loss must be 'certified', 'average' or 'pattern', got {self.loss!r}: "
                "choose one of these."
            )
        if self.radius is not None and check_radius(self.radius, name="robust: radius").ndim:
            raise ModelError("robust: radius must be one number, got several: give them to fit.")

    def put_on(self, samples: LabelledSamples) -> LabelledSamples:
        """Samples with one radius each, as given to ``fit`` or the same for all."""
        if samples.radius is not None:
            return samples
        if self.radius is None:
            raise ModelError(
                "robust needs a radius, got none: give for example Robust(0.1), or a radius per "
                "sample to fit."
            )
        return replace(samples, radius=check_radius(self.radius, len(samples.labels)))

    def describe(self, samples: LabelledSamples) -> dict[str, Any]:
        """What the certificate of a model file says: the radius of all, or one per row."""
        assert samples.radius is not None
        same = bool((samples.radius == samples.radius[0]).all())
        radius = float(samples.radius[0]) if same else samples.radius.tolist()
        return {"radius": radius, "norm": self.norm, "loss": self.loss}

    def certified_problem(
        self,
        samples: LabelledSamples,
        architecture: Architecture,
        encoder: Encoder,
        part: BoolArray,
    ) -> Problem[Any]:
        """The problem of what holds in all balls around a part of the samples."""
        assert samples.radius is not None
        return certified_problem(
            architecture,
            encoder,
            samples.values,
            samples.labels,
            samples.radius,
            check_norm(self.norm),
            samples.weight_in(part),
        )

    def with_radii(
        self, method: AbstractMethod, problem: Problem[Any], samples: LabelledSamples
    ) -> AbstractMethod:
        """Hand the radii of the problem's inputs to the method: of equal samples the largest."""
        if self.loss != "pattern":
            return method
        assert samples.radius is not None
        radii = np.zeros(len(problem.inputs))
        rows = problem.samples.rows  # samples without weight are no part of the problem
        np.maximum.at(radii, problem.samples.line[rows], samples.radius[rows])
        return replace(method, robust_radius=tuple(radii.tolist()), robust_norm=self.norm)


class Seen(NamedTuple):
    """What a loss sees of samples: inputs, which sample each is, and weights."""

    inputs: FloatArray
    rows: NDArray[np.intp]
    weight: FloatArray


def seen(
    robust: Robust | None, samples: LabelledSamples, encoder: Encoder, part: BoolArray, seed: int
) -> Seen:
    """A part of the samples as they are, or moved copies of them, drawn by the seed."""
    weight = samples.weight_in(part)
    if robust is None or robust.loss != "average":
        return Seen(encoder.transform(samples.values), np.arange(len(weight)), weight)
    assert samples.radius is not None
    norm = check_norm(robust.norm)
    return Seen(*moved_copies(encoder, samples.values, samples.radius, norm, weight, seed=seed))


def with_radii(samples: LabelledSamples, robust: object) -> LabelledSamples:
    """Check what is asked of balls, and give every sample its radius."""
    if robust is not None and not isinstance(robust, Robust):
        raise ModelError(
            f"robust must be a Robust or None, got {robust!r}: give for example Robust(0.1)."
        )
    if robust is None and samples.radius is not None:
        raise ModelError(
            "radius is for training with robust, got a radius per sample without: give for example "
            "robust=Robust()."
        )
    return samples if robust is None else robust.put_on(samples)
