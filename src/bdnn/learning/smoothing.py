"""A smooth fit of the targets, so that a network need not learn their noise.

Kernel ridge regression with a Gaussian kernel on at most a few hundred of the samples; its width
and its penalty are those of the smallest leave-one-out error, which has a closed form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem

_MOST_CENTRES = 400
# Samples that are fitted, and samples predicted at once.
_MOST_ROWS, _CHUNK = 2000, 4096
# Widths as multiples of the number of features, penalties as multiples of the mean weight.
_WIDTHS = (0.03, 0.1, 0.3, 1.0)
_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def smoothed(
    problem: Problem[DistanceLoss], share: float, rng: np.random.Generator
) -> Problem[DistanceLoss]:
    """Replace a share of every target by the smooth fit; for squared losses."""
    if not np.ptp(problem.loss.targets, axis=0).any():
        return problem
    fit = smooth_targets(problem.inputs, problem.loss.targets, problem.loss.weight, rng)
    targets = (1.0 - share) * problem.loss.targets + share * fit
    offset = (1.0 - share) ** 2 * problem.loss.offset
    return problem.with_loss(replace(problem.loss, targets=targets, offset=offset))


def smooth_targets(
    X: FloatArray,  # (n_samples, n_features): distinct inputs
    targets: FloatArray,  # (n_samples, n_outputs)
    weight: FloatArray,  # (n_samples,)
    rng: np.random.Generator,
) -> FloatArray:
    """Fitted targets of every sample."""
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    mean = np.average(targets, axis=0, weights=weight)
    deviation = targets - mean
    relative_weight = weight / weight.mean()
    rows = rng.permutation(len(X))[:_MOST_ROWS]
    centres = X[rows[:_MOST_CENTRES]]
    best = (np.inf, _WIDTHS[0] / X.shape[1], _PENALTIES[0])
    for width in _WIDTHS:
        gamma = width / X.shape[1]
        features = _kernel(X[rows], centres, gamma) @ _root(centres, gamma)
        for penalty, error in _errors(features, deviation[rows], relative_weight[rows]):
            best = min(best, (error, gamma, penalty))
    _, gamma, penalty = best
    root = _root(centres, gamma)
    features = _kernel(X[rows], centres, gamma) @ root
    slopes = root @ _ridge(features, deviation[rows], relative_weight[rows], penalty)
    fitted = [
        _kernel(X[first : first + _CHUNK], centres, gamma) @ slopes
        for first in range(0, len(X), _CHUNK)
    ]
    return np.asarray(mean + np.concatenate(fitted))


def _root(centres: FloatArray, gamma: float) -> FloatArray:
    """Turn kernels with the centres into features whose products are the kernel (Nystroem)."""
    values, vectors = np.linalg.eigh(_kernel(centres, centres, gamma))
    keep = values > 1e-8 * values[-1]
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))


def _kernel(A: FloatArray, B: FloatArray, gamma: float) -> FloatArray:
    squares = (A**2).sum(axis=1)[:, None] - 2.0 * A @ B.T + (B**2).sum(axis=1)
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


def _errors(
    features: FloatArray, targets: FloatArray, relative_weight: FloatArray
) -> list[tuple[float, float]]:
    """Leave-one-out error of every penalty."""
    root = np.sqrt(relative_weight)[:, None]
    features, wanted = features * root, targets * root
    squares, turn = np.linalg.eigh(features.T @ features)
    squares = np.maximum(squares, 1e-12 * squares[-1])
    left = features @ (turn / np.sqrt(squares))
    parts = left.T @ wanted
    found = []
    for penalty in _PENALTIES:
        shrink = squares / (squares + penalty)
        fitted = left @ (shrink[:, None] * parts)
        influence = np.minimum((left**2) @ shrink, 1.0 - 1e-9)
        errors = (wanted - fitted) / (1.0 - influence)[:, None]
        found.append((penalty, float((errors**2).sum())))
    return found


def _ridge(
    features: FloatArray, targets: FloatArray, relative_weight: FloatArray, penalty: float
) -> FloatArray:
    weighted = features * relative_weight[:, None]
    gram = weighted.T @ features
    gram[np.diag_indices_from(gram)] += penalty
    return np.asarray(np.linalg.solve(gram, weighted.T @ targets))
