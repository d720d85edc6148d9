"""Networks that say the same for every input: the first incumbent of every run."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.limits import WeightLimits


def idle_layers(
    architecture: Architecture, inputs: FloatArray, limits: WeightLimits | None = None
) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
    """Make hidden units that take their last value, whatever the input is.

    Weights are 0 where the sets have it and as near to that as limits allow. Thresholds lie below
    all sums; where they are all 0, units without weights take the value of a sum of 0, and with
    weights that cannot be 0 no unit is constant.

    Returns
    -------
    weights, thresholds : lists
        Of all layers; the outputs' thresholds are 0.
    fed : array of shape (n_lines or 1, units)
        What the outputs get to weigh.
    """
    weights = [
        np.full((units, n), 0.0 if kind.zero else 1.0)
        for n, units, kind in zip(
            architecture.widths, architecture.widths[1:], architecture.weights, strict=False
        )
    ]
    if limits is not None:
        weights = [limits.clipped(k, W) for k, W in enumerate(weights)]
    thresholds: list[FloatArray] = []
    fed = inputs
    for W, rule in zip(weights, map(architecture.activation_of, range(len(weights))), strict=True):
        if len(thresholds) == len(weights) - 1:
            thresholds.append(np.zeros((len(W), 1)))
            break
        lowest, reached = 0.0, int((rule.offsets <= 0.0).sum())
        if architecture.thresholds != "zero":
            largest = float(np.abs(fed).max(initial=1.0))
            lowest = -float(np.abs(W).sum(axis=1).max()) * largest - rule.offsets[-1]
            reached = rule.n_thresholds
        thresholds.append(np.tile(rule.offsets + lowest, (len(W), 1)))
        fed = np.full((1, len(W)), float(rule.values[reached]))
    return weights, thresholds, fed


def constant_classifier(
    architecture: Architecture,
    inputs: FloatArray,
    cost: FloatArray,
    limits: WeightLimits | None = None,
) -> Network:
    """Make a network whose outputs are on where that costs less than nothing.

    Thresholds of zero leave no choice: single layers are all on, and with binary weights, which
    cannot ignore an input, no network is constant and this is just one.
    """
    weights, thresholds, fed = idle_layers(architecture, inputs, limits)
    W, is_on = weights[-1], cost < 0.0
    reach = np.abs(W).sum(axis=1) * float(np.abs(fed).max(initial=1.0)) + 0.5
    if architecture.thresholds == "neuron":
        thresholds[-1] = (np.where(is_on, -1.0, 1.0) * reach)[:, None]
    elif architecture.hidden:
        # What all hidden units say is a constant to weigh.
        sign = np.where(is_on == (fed[0, 0] > 0), 1.0, -1.0)[:, None]
        if fed[0, 0]:
            W[:] = np.where(W == 0.0, 0.0, sign)
            W[:, :1] = sign
            weights[-1] = W if limits is None else limits.clipped(-1, W)
    elif architecture.thresholds == "layer":
        shared = -reach.max() if cost.sum() < 0.0 else reach.max()
        thresholds[-1] = np.full((len(W), 1), shared)
    return Network(architecture, tuple(weights), tuple(thresholds))
