"""A smooth fit of the targets, so that a network need not learn their noise.

Kernel ridge regression with a Gaussian kernel on at most a few hundred of the samples; its width
and its penalty are those of the smallest leave-one-out error, which has a closed form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.activation import FloatArray
from bdnn.regression_problem import RegressionProblem

_MOST_CENTRES = 400
# Samples on which the width and the penalty are chosen.
_MOST_ROWS = 2000
# Widths as multiples of the number of features, penalties as multiples of the mean weight.
_WIDTHS = (0.03, 0.1, 0.3, 1.0)
_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def smoothed(
    problem: RegressionProblem, share: float, rng: np.random.Generator
) -> RegressionProblem:
    """Replace a share of every target by the smooth fit; for squared losses."""
    if not np.ptp(problem.targets, axis=0).any():
        return problem
    fit = smooth_targets(problem.inputs, problem.targets, problem.weight, rng)
    targets = (1.0 - share) * problem.targets + share * fit
    return replace(problem, targets=targets, offset=(1.0 - share) ** 2 * problem.offset)


def smooth_targets(
    X: FloatArray, targets: FloatArray, weight: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Fitted targets of every sample.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Distinct inputs.
    targets : array of shape (n_samples, n_outputs)
    weight : array of shape (n_samples,)
    rng : numpy.random.Generator
    """
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    mean = np.average(targets, axis=0, weights=weight)
    deviation = targets - mean
    mass = weight / weight.mean()
    rows = rng.permutation(len(X))[:_MOST_ROWS]
    centres = X[rows[:_MOST_CENTRES]]
    best = (np.inf, _WIDTHS[0], _PENALTIES[0])
    for width in _WIDTHS:
        features = _features(X[rows], centres, width)
        for penalty, error in _errors(features, deviation[rows], mass[rows]):
            best = min(best, (error, width, penalty))
    _, width, penalty = best
    features = _features(X, centres, width)
    slopes = _ridge(features, deviation, mass, penalty)
    return np.asarray(mean + features @ slopes)


def _features(X: FloatArray, centres: FloatArray, width: float) -> FloatArray:
    """Features whose products are the kernel, exactly so among the centres (Nystroem)."""
    gamma = width / X.shape[1]
    values, vectors = np.linalg.eigh(_kernel(centres, centres, gamma))
    keep = values > 1e-8 * values[-1]
    return np.asarray(_kernel(X, centres, gamma) @ (vectors[:, keep] / np.sqrt(values[keep])))


def _kernel(A: FloatArray, B: FloatArray, gamma: float) -> FloatArray:
    squares = (A**2).sum(axis=1)[:, None] - 2.0 * A @ B.T + (B**2).sum(axis=1)
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


def _errors(
    features: FloatArray, targets: FloatArray, mass: FloatArray
) -> list[tuple[float, float]]:
    """Leave-one-out error of every penalty."""
    root = np.sqrt(mass)[:, None]
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
    features: FloatArray, targets: FloatArray, mass: FloatArray, penalty: float
) -> FloatArray:
    weighted = features * mass[:, None]
    gram = weighted.T @ features
    gram[np.diag_indices_from(gram)] += penalty
    return np.asarray(np.linalg.solve(gram, weighted.T @ targets))
