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


def moved_copies(
    scaler: Encoder,
    X: FloatArray,
    radius: FloatArray,
    norm: Norm,
    weight: FloatArray,
    *,
    seed: int = 0,
) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Replace samples by moved copies, over which a loss is an average.

    Parameters
    ----------
    scaler : Encoder
    X : array of shape (n_samples, n_features)
        Raw samples.
    radius : array of shape (n_samples,)
        In units of scaled inputs: every feature of a copy moves up or down by the same amount, and
        the whole by the radius.
    norm : {"linf", "l1", "l2"}
    weight : array of shape (n_samples,)
    seed : int

    Returns
    -------
    inputs : array of shape (n_copies, n_features)
    rows : array of int
        Sample of every copy.
    weight : array of shape (n_copies,)
    """
    n_copies = _MOST_COPIES
    while n_copies > 1 and n_copies * len(X) > _ENOUGH_ROWS:
        n_copies //= 2
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(len(X)), n_copies)
    signs = rng.choice([-1.0, 1.0], size=(len(rows), X.shape[1]))
    move = radius[rows] / length(norm, np.ones(X.shape[1]))
    copies = X[rows] + move[:, None] * signs / scaler.factor
    return scaler.transform(copies), rows, weight[rows] / n_copies
