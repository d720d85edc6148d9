"""Units of a single feature: what trees begin with, and half-spaces of random weights rarely find.

A threshold on one feature needs no other feature's unit and no spread, so that features of
different kinds, some of them with outliers, do not blur each other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.kernels.arrays import IntArray
from bdnn.search.starts.simple import random_start

# Numbers that are looked through for thresholds, in some tenth of a second, and inputs that are
# enough for them.
_MOST_NUMBERS, _ENOUGH_INPUTS = 1_000_000, 1000


def allows_single_features(shape: Architecture) -> bool:
    """Whether units of the first layer can look at one feature, with a threshold of their own."""
    return shape.thresholds == "neuron" and shape.weights[0].zero and not shape.has_levels


def single_feature_start(
    problem: Problem[OutputLoss], rng: np.random.Generator, *, share: float
) -> Network:
    """Draw a share of the first layer's units on single features, all else at random.

    Every feature has its turn, with thresholds between neighbouring values, drawn by rank. The
    architecture must allow such units.
    """
    network = random_start(problem, rng)
    shape = problem.architecture
    W, t = network.weights[0].copy(), network.thresholds[0].copy()
    inputs = problem.inputs[_some_lines(problem, rng)]
    features = np.resize(rng.permutation(shape.n_features), round(share * len(W)))
    for unit, feature in enumerate(features):
        values = inputs[:, feature]
        drawn = values[rng.integers(len(values))]
        below, above = values[values < drawn], values[values > drawn]
        if not len(below) and not len(above):
            continue  # a constant feature tells nothing
        weight = rng.choice((-1.0, 1.0)) * shape.weights[0].limit
        lower = below.max() if len(below) else drawn
        threshold = weight * _between(lower, drawn if len(below) else above.min(), weight)
        if np.isfinite(threshold):
            W[unit] = 0.0
            W[unit, feature], t[unit] = weight, threshold
    return Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))


def best_single_features(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network | None:
    """Make the network without hidden units whose every output looks at one feature, if any can.

    Each output has the feature, direction and threshold of the least loss, or is always on or off.
    """
    shape = problem.architecture
    if not allows_single_features(shape) or not len(problem.inputs):
        return None
    lines = _some_lines(problem, rng)
    inputs, mass = problem.inputs[lines], problem.loss.label_weight[lines]
    gains = 2.0 * mass - mass.sum(axis=1, keepdims=True)
    W = np.zeros((shape.n_outputs, shape.n_features))
    best = np.maximum(gains.sum(axis=0), 0.0)
    t = np.where(best > 0.0, -1.0, 1.0)
    for feature in range(shape.n_features):
        order = np.argsort(inputs[:, feature])
        values = inputs[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1])
        if not len(cuts):
            continue
        below = np.cumsum(gains[order], axis=0)
        for sign, merits in ((1.0, below[-1] - below[cuts]), (-1.0, below[cuts])):
            chosen = merits.argmax(axis=0)
            for output in np.flatnonzero(merits.max(axis=0) > best):
                cut = cuts[chosen[output]]
                best[output] = merits[chosen[output], output]
                W[output] = 0.0
                W[output, feature] = sign
                t[output] = sign * _between(values[cut], values[cut + 1], sign)
    single = replace(shape, hidden=(), weights=shape.weights[:1], activations=())
    return Network(single, (W,), (t,))


def _between(lower: float, upper: float, weight: float) -> float:
    """Find a threshold that tells two values apart; neighbouring numbers have no middle."""
    middle = 0.5 * lower + 0.5 * upper
    if weight > 0:
        return middle if middle > lower else upper
    return middle if middle < upper else lower


def _some_lines(problem: Problem[OutputLoss], rng: np.random.Generator) -> IntArray:
    n_inputs, n_numbers = (
        len(problem.inputs),
        problem.inputs.shape[1] * problem.loss.label_weight.shape[1],
    )
    most = max(_ENOUGH_INPUTS, _MOST_NUMBERS // n_numbers)
    return np.asarray(rng.choice(n_inputs, min(n_inputs, most), replace=False))
