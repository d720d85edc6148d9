"""Balls around samples in training: patterns that hold in them, their worst points, or an average.

*Pattern* (the paper): no perturbation changes a first-layer activation. Along a unit's weights the
ball of every input covers an interval of sums. A threshold between these intervals is one that no
perturbation crosses, and there always is one below all of them.

*Certified* training guards against the worst perturbation of a ball. Where noise has no malice, as
that of a sensor or the paper's random attack, the *average* is what counts: every sample is
replaced by copies, each moved by the radius in a random direction, that share its weight. The
result is a training problem like any other, so that every method, bound and proof applies to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.mip import Robust
from bdnn.model import Model
from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.norms import Norm, length
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.problem.problem import Problem
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.program import Program
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver

#: What a radius of 1 is: a name, or the length of a raw move of every column.
RadiusUnits = str | Mapping[Any, float] | Sequence[float]

# Gaps must be wide enough to survive rounding, relative to the sums beside them.
_SMALLEST_GAP = 1e-9


def promised(
    problem: Problem[Any],
    radius: float | Sequence[float] | None,
    norm: str,
    solver: str | AbstractSolver,
) -> Robust | None:
    """What perturbations must not change, None where nothing is asked."""
    if radius is None:
        return None
    robust = Robust.create(radius, norm, len(problem.inputs))
    if not robust.radius.any():
        return None
    if norm == "l2":
        _check_cones(solver)
    return robust


def settled(network: Network, robust: Robust, inputs: FloatArray) -> Network | None:
    """Move first-layer thresholds to the nearest ones that no perturbation of an input crosses.

    Where thresholds are zero, units that are crossed lose their weights; None where weights cannot
    be zero either.
    """
    if robust.holds(network, inputs).all():
        return network
    shape = network.architecture
    W, t = network.weights[0], network.thresholds[0]
    sums = weighted_sums(inputs, W)
    reach = robust.radius[:, None] * robust.dual_norms(W)
    # Thresholds at fixed distances move together: none of them may lie in an interval.
    is_fixed = shape.activation_of(0).thresholds is not None
    span = t - t[:, :1] if is_fixed else np.zeros((len(t), 1))
    low, high = (
        (ends.T[:, None] - span[:, :, None]).reshape(len(t), -1)
        for ends in (sums - reach, sums + reach)
    )
    moving = t[:, :1] if is_fixed else t
    if shape.thresholds == "layer":
        low, high, moving = low.reshape(1, -1), high.reshape(1, -1), moving[:1]
    if shape.thresholds != "zero":
        gaps = np.stack([_nearest_gaps(low, high, level) for level in moving.T], axis=1)
        t = np.broadcast_to(np.sort(gaps, axis=1) + span, t.shape)
    elif shape.weights[0].zero:
        is_crossed = ((low < t[:, :1]) & (high >= t[:, :1])).any(axis=1, keepdims=True)
        W = np.where(is_crossed, 0.0, W)
    moved = Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))
    return moved if robust.holds(moved, inputs).all() else None


def _nearest_gaps(low: FloatArray, high: FloatArray, t: FloatArray) -> FloatArray:
    """For every line of intervals the threshold itself, or the middle of the gap next to it."""
    order = np.argsort(low, axis=1, kind="stable")
    ends = np.full((len(t), 1), np.inf)
    covered = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    left = np.hstack([-ends, covered])
    right = np.hstack([np.take_along_axis(low, order, axis=1), ends])
    spread = high.max(axis=1, keepdims=True) - low.min(axis=1, keepdims=True)
    # The outer gaps have no middle.
    middle = np.where(np.isinf(left), right - spread / 2, left + spread / 2)
    inner = np.isfinite(left) & np.isfinite(right)
    middle[inner] = 0.5 * (left[inner] + right[inner])
    is_gap = ~inner
    is_gap[inner] = (right - left)[inner] > _SMALLEST_GAP * (1.0 + np.abs(left[inner]))
    level = t[:, None]
    distance = np.where(is_gap, np.maximum(left - level, level - right), np.inf)
    nearest = distance.argmin(axis=1)
    lines = np.arange(len(t))
    is_inside = (left[lines, nearest] < t) & (t <= right[lines, nearest])
    return np.asarray(np.where(is_inside, t, middle[lines, nearest]))


def _check_cones(solver: str | AbstractSolver) -> None:
    """Say before any work that a solver knows no cones."""
    program = Program()
    program.add_cones("norm1", *np.split(program.add_variables("norm1", (1, 2)), 2, axis=1))
    engine = choose_solver(program) if solver == "auto" else get_solver(solver)
    engine.check_supports(program)


# A power of two, by which weights can be divided without rounding.
_MOST_COPIES = 16
# Rows beyond which fewer copies do: noise averages out over the samples themselves.
_ENOUGH_ROWS = 16_000


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
    *,
    has_bins: bool = False,
) -> Problem[CertifiedLoss]:
    """Put raw samples, scaled ones and balls together; samples without weight are dropped.

    Searches and programs let all bits move on their own, which is more than they can. With
    ``has_bins`` those of a column move together.
    """
    samples = Samples.merge(inputs, sample_weight, apart=True)
    regions = surrounded.regions(samples.rows, encoder)
    if regions.bins and not has_bins:
        regions = regions.boxes()
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
    """Replace raw samples by moved copies, over which a loss is an average.

    Every feature of a copy moves up or down by the same amount, and the whole by the radius, in
    units of scaled inputs. Returns the copies' inputs, the sample of each, and their weights.
    """
    n_copies = _MOST_COPIES
    while n_copies > 1 and n_copies * len(X) > _ENOUGH_ROWS:
        n_copies //= 2
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(len(X)), n_copies)
    signs = rng.choice([-1.0, 1.0], size=(len(rows), X.shape[1]))
    signs[:, [column.kind == "category" for column in scaler.columns]] = 0.0
    move = radius[rows] / length(norm, np.ones(X.shape[1]))
    copies = X[rows] + move[:, None] * signs / scaler.units
    return scaler.transform(copies), rows, weight[rows] / n_copies
