"""Training problems for perturbations of the samples: the worst of them, or their average.

Certified training guards against the worst perturbation of a ball. Where noise has no malice, as
that of a sensor or the paper's random attack, the average is what counts: every sample is replaced
by copies, each moved by the radius in a random direction, that share its weight. The result is a
training problem like any other, so that every method, bound and proof applies to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.norms import Norm, length
from bdnn.problem.create import classification
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.robustness.perturbation import PerturbationSet

# A power of two, by which weights can be divided without rounding.
_MOST_COPIES = 16
# Rows beyond which fewer copies do: noise averages out over the samples themselves.
_ENOUGH_ROWS = 16_000


def certified_problem(
    architecture: Architecture,
    scaler: Encoder,
    X: FloatArray,
    labels: NDArray[np.intp],
    radius: FloatArray,
    norm: str,
    sample_weight: FloatArray | None = None,
) -> Problem[CertifiedLoss]:
    """Put raw samples and their radii together; samples without weight are dropped."""
    samples = Samples.merge(scaler.transform(X), sample_weight, apart=True)
    rows = samples.rows
    # Regions are about inputs: the network that looks around is of no meaning.
    plain = classification(architecture, samples.inputs, labels[rows], merge=False)
    around = PerturbationSet.create(Model(scaler, plain.constant_network()), X[rows], norm=norm)
    regions = around.regions(radius[rows])
    loss = CertifiedLoss.of(samples, labels, regions, architecture.n_outputs)
    return Problem(architecture, samples, loss)


def average_problem(
    architecture: Architecture,
    scaler: Encoder,
    X: FloatArray,
    labels: NDArray[np.intp],
    radius: FloatArray,
    norm: Norm,
    weight: FloatArray | None = None,
    *,
    seed: int = 0,
) -> Problem[OutputLoss]:
    """Replace samples by moved copies.

    Parameters
    ----------
    architecture : Architecture
    scaler : Encoder
    X : array of shape (n_samples, n_features)
        Raw samples.
    labels : array of shape (n_samples,)
        Class indices.
    radius : array of shape (n_samples,)
        In units of scaled inputs: every feature of a copy moves up or down by the same amount, and
        the whole by the radius.
    norm : {"linf", "l1", "l2"}
    weight : array of shape (n_samples,), optional
    seed : int

    Returns
    -------
    Problem[OutputLoss]
        Its loss is the average over the copies.
    """
    n_copies = _MOST_COPIES
    while n_copies > 1 and n_copies * len(X) > _ENOUGH_ROWS:
        n_copies //= 2
    rng = np.random.default_rng(seed)
    copies = np.tile(X, (n_copies, 1))
    signs = rng.choice([-1.0, 1.0], size=copies.shape)
    move = np.tile(radius, n_copies) / length(norm, np.ones(X.shape[1]))
    copies += move[:, None] * signs / scaler.factor
    shares = np.ones(len(X)) if weight is None else weight
    return classification(
        architecture,
        scaler.transform(copies),
        np.tile(labels, n_copies),
        np.tile(shares / n_copies, n_copies),
    )
