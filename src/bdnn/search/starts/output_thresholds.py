"""Thresholds of outputs whose scores were trained to be ranked only."""

from __future__ import annotations

import numpy as np

from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem


def lower_outputs(problem: Problem[OutputLoss], network: Network) -> Network:
    """Shift all output thresholds alike to where the loss is least; the ranking of scores stays.

    Cross entropy only sees differences of scores, the loss also sees which of them reach 0.
    """
    kind = problem.architecture.thresholds
    if kind == "zero":
        return network
    scores = network.values(problem.inputs)
    order = np.argsort(scores, axis=None)
    levels = scores.ravel()[order]
    gains = (problem.loss.cost_off - problem.loss.cost_on).ravel()[order]
    # Entry p is the merit of switching on everything from position p upwards.
    merits = np.concatenate((np.cumsum(gains[::-1])[::-1], [0.0]))
    possible = np.concatenate(([True], levels[1:] > levels[:-1], [True]))
    below = np.concatenate(([levels[0] - 1.0], levels))
    above = np.concatenate((levels, [levels[-1] + 1.0]))
    shifts = 0.5 * below + 0.5 * above
    if kind == "layer" and not problem.architecture.weights[-1].integer:
        possible &= np.abs(network.output_thresholds[0] + shifts) <= 1.0
    if not possible.any():
        return network
    shift = shifts[np.argmax(np.where(possible, merits, -np.inf))]
    thresholds = (*network.thresholds[:-1], network.thresholds[-1] + shift)
    return Network(network.architecture, network.weights, thresholds)
