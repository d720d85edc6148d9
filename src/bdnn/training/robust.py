"""Certified training guards against the worst perturbation of a ball around every raw sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.problem.problem import Problem
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.robustness.perturbation import PerturbationSet

#: What a radius of 1 is: a name, or the length of a raw move of every column.
RadiusUnits = str | Mapping[Any, float] | Sequence[float]


@dataclass(frozen=True, eq=False)
class Surrounded:
    """Raw samples with a ball around each.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    radius : array of shape (n_samples,)
    norm : {"linf", "l1", "l2"}
    units : {"scaled", "raw"} or mapping
        What a radius of 1 is, see :class:`~bdnn.robustness.perturbation.PerturbationSet`.
    """

    X: FloatArray
    radius: FloatArray
    norm: str
    units: RadiusUnits = "scaled"

    def around(self, rows: NDArray[np.intp], encoder: Encoder) -> PerturbationSet:
        """What surrounds some samples. The network that looks around is of no meaning."""
        shape = Architecture.create(encoder.n_inputs, 2, hidden=())
        network = Network(shape, (np.zeros((2, encoder.n_inputs)),), (np.zeros(2),))
        return PerturbationSet.create(
            Model(encoder, network), self.X[rows], norm=self.norm, units=self.units
        )

    def reach(self, rows: NDArray[np.intp], encoder: Encoder) -> FloatArray:
        """How far every raw value may move."""
        around = self.around(rows[:1], encoder)
        far = self.radius[rows][:, None] / around.weight
        return np.where(around.domain.fixed, 0.0, far)

    def regions(self, rows: NDArray[np.intp], encoder: Encoder, wider: float = 1.0) -> Regions:
        """Inputs that samples may become within so many times their radius."""
        return self.around(rows, encoder).regions(wider * self.radius[rows])


def certified_problem(
    architecture: Architecture,
    encoder: Encoder,
    inputs: FloatArray,
    labels: NDArray[np.intp],
    surrounded: Surrounded,
    sample_weight: FloatArray | None = None,
) -> Problem[CertifiedLoss]:
    """Put raw samples, scaled ones and balls together; samples without weight are dropped."""
    samples = Samples.merge(inputs, sample_weight, apart=True)
    regions = surrounded.regions(samples.rows, encoder)
    loss = CertifiedLoss.of(samples, labels, regions, architecture.n_outputs)
    return Problem(architecture, samples, loss)
