"""Directions along which the clusters of an epoch may be told apart."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.training.paper.splitting.directions import fit_to_set
from bdnn.training.paper.splitting.epoch import EpochProblem

# Penalties of the regressions, relative to the inputs' variance.
_PENALTIES = (1e-6, 1e-2, 1.0)


def propose_directions(
    epoch: EpochProblem, weights: WeightSet, count: int, rng: np.random.Generator
) -> FloatArray:
    """Directions along which clusters may be told apart, in the box of a weight set.

    A part is sparse and random; the others regress a dichotomy of the clusters on the inputs: a
    class against the rest, some classes against the others, or clusters at random.
    """
    X = epoch.problem.inputs
    n = X.shape[1]
    sparse = np.zeros((count // 3, n))
    terms = rng.integers(1, min(n, 4) + 1, size=len(sparse))
    ranks = rng.random(sparse.shape).argsort(axis=1)
    chosen = ranks < terms[:, None]
    sparse[chosen] = rng.choice([-1.0, 1.0], size=int(chosen.sum())) * rng.uniform(
        0.5, 1.0, size=int(chosen.sum())
    )
    planes = _regressions(epoch, count - len(sparse), rng)
    return fit_to_set(np.vstack([np.eye(n), sparse, planes]), weights, rng)


def _regressions(epoch: EpochProblem, count: int, rng: np.random.Generator) -> FloatArray:
    X, p = epoch.problem.inputs, epoch.n_clusters
    leading = epoch.mass.argmax(axis=1)
    n_classes = epoch.mass.shape[1]
    kind = rng.integers(0, 3, size=count)
    sides = rng.random((count, n_classes)) < 0.5
    sides[kind == 0] = np.eye(n_classes, dtype=bool)[rng.integers(0, n_classes, (kind == 0).sum())]
    side = sides[:, leading]
    side[kind == 2] = rng.random((int((kind == 2).sum()), p)) < 0.5
    wanted = np.where(side, 1.0, -1.0)[:, epoch.groups]
    centred = X - X.mean(axis=0)
    wanted = wanted - wanted.mean(axis=1, keepdims=True)
    gram, moments = centred.T @ centred, wanted @ centred
    scale = max(float(np.trace(gram)) / max(1, X.shape[1]), 1e-300)
    planes: FloatArray = np.empty_like(moments)
    for place, penalty in enumerate(_PENALTIES):
        rows = slice(place, None, len(_PENALTIES))
        damped = gram + penalty * scale * np.eye(len(gram))
        planes[rows] = np.linalg.solve(damped, moments[rows].T).T
    return planes
