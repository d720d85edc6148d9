"""A network inside a larger one: the same outputs from more units, more layers or more values.

New layers go between the last hidden layer and the outputs. Each passes the units below it on: unit
``u`` has weight 1 on unit ``u`` and threshold 1/2. Where thresholds are zero, a spare unit without
weights is always on, and ``h_u - 1 >= 0`` does the same. Spare units have no weights to them that
matter and none from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.expansion import from_twin
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import AnyLoss, Problem


def embed(network: Network, architecture: Architecture) -> Network:
    """Copy a network into a wider or deeper architecture, keeping its outputs on every input.

    Parameters
    ----------
    network : Network
    architecture : Architecture
        As many features and outputs, at least as many layers and units, weight sets that hold the
        network's weights and 0 and 1, and thresholds that are at least as free.

    Returns
    -------
    Network
    """
    old = network.architecture
    _check(old, architecture)
    weights, thresholds = list(network.weights), list(network.thresholds)
    extra = len(architecture.hidden) - len(old.hidden)
    outputs = [weights.pop()], [thresholds.pop()]
    if extra and not old.hidden:
        # Inputs cannot be passed on, but outputs can: they become the first hidden layer.
        weights.append(outputs[0][0])
        thresholds.append(outputs[1][0])
        outputs = _identity(old.n_outputs, architecture)
        extra -= 1
    for _ in range(extra):
        copied = _identity(len(weights[-1]), architecture)
        weights += copied[0]
        thresholds += copied[1]
    weights += outputs[0]
    thresholds += outputs[1]
    return Network(architecture, *_widen(weights, thresholds, network, architecture))


def shallow_problem(problem: Problem[OutputLoss]) -> Problem[OutputLoss] | None:
    """The same problem with one hidden layer, as wide as a deep network can copy it."""
    shape = problem.architecture
    if len(shape.hidden) < 2 or shape.has_levels or not all(kind.zero for kind in shape.weights):
        return None
    # Without thresholds a copy needs a unit that is always on.
    width = min(shape.hidden) - (shape.thresholds == "zero")
    if width == 0:
        return None
    weights = (shape.weights[0], shape.weights[-1])
    shallow = replace(shape, hidden=(width,), weights=weights, activations=())
    return Problem(shallow, problem.samples, problem.loss)


def of_steps(problem: Problem[AnyLoss]) -> Problem[AnyLoss]:
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


def _identity(units: int, shape: Architecture) -> tuple[list[FloatArray], list[FloatArray]]:
    if shape.thresholds == "zero":
        # The last column stands for a unit that is always on, see `_widen`.
        W = np.column_stack((np.eye(units), np.full(units, -1.0)))
        return [W], [np.zeros((units, 1))]
    return [np.eye(units)], [np.full((units, 1), 0.5)]


def _widen(
    weights: list[FloatArray],
    thresholds: list[FloatArray],
    network: Network,
    shape: Architecture,
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    wide_weights, wide_thresholds = [], []
    for k, (W, t) in enumerate(zip(weights, thresholds, strict=True)):
        units, inputs = shape.widths[k + 1], shape.widths[k]
        if units < len(W) or inputs < W.shape[1]:
            need = "one unit more than it copies" if shape.thresholds == "zero" else "more units"
            raise ModelError(
                f"layer {k + 1} of {shape} is too narrow for a network of widths "
                f"{network.architecture.widths}: give it {need}."
            )
        W, t = _rescaled(W, t, shape.weights[k].limit, integer=shape.weights[k].integer)
        # Beside shared thresholds, or several at fixed distances, spare units get these too.
        is_like = shape.thresholds == "layer" or t.shape[1] > 1
        spare = t[:1] if is_like else 0.5 * (shape.thresholds == "neuron")
        wide = np.zeros((units, inputs))
        wide[: len(W), : W.shape[1]] = W
        if not shape.weights[k].contains(wide):
            raise ModelError(
                f"layer {k + 1} takes weights from the set '{shape.weights[k].name}', which lacks "
                "0 or a weight of the network: choose a larger weight set."
            )
        wide_weights.append(wide)
        wide_thresholds.append(
            np.concatenate((t, np.broadcast_to(spare, (units - len(t), t.shape[1]))))
        )
    return tuple(wide_weights), tuple(wide_thresholds)


def _rescaled(
    W: FloatArray, t: FloatArray, limit: int, *, integer: bool
) -> tuple[FloatArray, FloatArray]:
    """Scale weights that exceed a continuous set by a power of two, which is free of rounding."""
    largest = np.abs(W).max(initial=0.0)
    if integer or largest <= limit:
        return W, t
    factor = 2.0 ** -np.ceil(np.log2(largest / limit))
    return W * factor, t * factor


def _check(old: Architecture, new: Architecture) -> None:
    if (old.n_features, old.n_outputs) != (new.n_features, new.n_outputs):
        raise ModelError(
            f"a network with {old.n_features} features and {old.n_outputs} outputs cannot be "
            f"copied into one with {new.n_features} and {new.n_outputs}: keep both numbers."
        )
    if len(new.hidden) < len(old.hidden):
        raise ModelError(
            f"a network of {old.n_layers} layers cannot be copied into one of {new.n_layers}: "
            "give it at least as many layers."
        )
    freedom = ("zero", "layer", "neuron")
    if freedom.index(new.thresholds) < freedom.index(old.thresholds):
        raise ModelError(
            f"thresholds per {old.thresholds} cannot be copied into thresholds='{new.thresholds}': "
            "use the same kind or a freer one."
        )
