"""Starts for networks of several values: those of steps, in other numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.architecture import Architecture
from bdnn.network.expansion import from_twin
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem


def of_steps(problem: Problem[OutputLoss]) -> Problem[OutputLoss]:
    """The same problem for networks of steps."""
    return replace(problem, architecture=replace(problem.architecture, activations=()))


def as_levels(network: Network, shape: Architecture) -> Network:
    """Make a network of several values of one of steps.

    Units take their first value where they were off and their last one where they were on. With a
    threshold per unit and free distances that gives the same answers; where thresholds are shared
    or fixed the layers above cannot take it up, and only the weights are the same.
    """
    if shape.thresholds == "neuron":
        return from_twin(network, shape)
    thresholds = []
    for k, t in enumerate(network.thresholds[:-1]):
        rule = shape.activation_of(k)
        spread = rule.offsets - rule.offsets.mean() if rule.thresholds is not None else 0.0
        spread = rule.offsets if shape.thresholds == "zero" else spread
        thresholds.append(np.tile(t, rule.n_thresholds) + spread)
    return Network(shape, network.weights, (*thresholds, network.thresholds[-1]))


def random_levels(
    network: Network, problem: Problem[OutputLoss], rng: np.random.Generator
) -> Network:
    """Give the weights of a network of steps thresholds at random sums of the problem's inputs."""
    shape = problem.architecture
    values, thresholds = problem.inputs, []
    for k in range(len(shape.hidden)):
        rule, W = shape.activation_of(k), network.weights[k]
        sums = weighted_sums(values, W)
        thresholds.append(_drawn(sums, shape, k, rng))
        values = rule(sums, thresholds[-1]).astype(float)
    outputs = network.thresholds[-1]
    if shape.thresholds == "neuron":
        outputs = np.median(weighted_sums(values, network.weights[-1]), axis=0)[:, None]
    return Network(shape, network.weights, (*thresholds, outputs))


def _drawn(sums: FloatArray, shape: Architecture, k: int, rng: np.random.Generator) -> FloatArray:
    rule, units = shape.activation_of(k), sums.shape[1]
    if shape.thresholds == "zero":
        return np.tile(rule.offsets, (units, 1))
    rows = rng.integers(len(sums), size=(2, units, rule.n_thresholds))
    drawn = np.sort(0.5 * sums[rows, np.arange(units)[:, None]].sum(axis=0), axis=1)
    if rule.thresholds is not None:
        drawn = drawn[:, :1] + (rule.offsets - rule.offsets[0])
    if shape.thresholds == "layer":
        if not shape.weights[k].integer and rule.thresholds is None:
            drawn = np.clip(drawn, -1.0, 1.0)
        drawn = np.tile(drawn[0], (units, 1))
    return np.asarray(drawn)
