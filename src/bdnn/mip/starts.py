"""Networks as starts: the columns of layers and switches from weights and thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.blocks.input_sets import InputSets
from bdnn.network.activation import Activation, BoolArray, FloatArray, step
from bdnn.network.network import Network

if TYPE_CHECKING:
    from bdnn.mip.model import NetworkModel


def lift_points(
    model: NetworkModel[Any],
    x: FloatArray,
    network: Network,
    weights: list[FloatArray],
    thresholds: list[FloatArray],
) -> bool:
    """Fill in layers that keep the network's activations with the full margin."""
    on = switches_of(network, model.problem.inputs)
    first = np.unique(model.groups, return_index=True)[1]
    if not (on[0] == on[0][first][model.groups]).all():
        return False
    on = [layer[first] for layer in on]
    if model.reductions.one_output:
        weights[-1], thresholds[-1], on[-1] = _better_output(model.loss, network, on[-1])
    if model.reductions.signed:
        rule = model.problem.architecture.activation_of(len(model.layers) - 2)
        on[-2] = turn_round(weights, thresholds, on[-2], rule)
    (inputs,) = model.input_sets(model.problem)
    rigid, products = model.problem.scale_dependent, iter(model.products)
    for k, (layer, switches) in enumerate(zip(model.layers, model.steps, strict=False)):
        if k not in model.given.layers:
            sums = inputs.sums(weights[k])
            kept = on[k][inputs.groups(model.groups)] if k == 0 else on[k]
            if not layer.lift(x, weights[k], thresholds[k], sums, kept, rigid=rigid):
                return False
        inputs = InputSets(switches.lift(x, on[k]))
        if k == 0 and model.dual_norms is not None:
            model.dual_norms.lift(x)
        elif k not in model.given.layers:
            next(products).lift(x)
    return True


def lift_sets(
    model: NetworkModel[Any], x: FloatArray, weights: list[FloatArray], thresholds: list[FloatArray]
) -> bool:
    """Fill in layers, and what is sure of their activations at the program's thresholds."""
    rigid = model.problem.scale_dependent
    for layer, W, t in zip(model.layers[:-1], weights, thresholds, strict=False):
        if not layer.lift(x, W, t, rigid=rigid):
            return False
    fill_switches(model, x)
    return True


def fill_switches(model: NetworkModel[Any], x: FloatArray) -> None:
    """Fill in what is sure of activations, by the weights and thresholds that a start has."""
    for k, (layer, switches) in enumerate(zip(model.layers, model.steps, strict=False)):
        if k > 0:
            product = model.products[k - 1]
            product.lift(x)
            unit = layer.bounds.unit
            sums = [(x[s.columns] * s.coefficients).sum(axis=-1) for s in product.sums(unit)]
            switches.lift(x, *layer.certain(x, *sums))
            continue
        model.dual_norms.lift(x)  # type: ignore[union-attr]
        found, sets = [], model.input_sets(model.problem)
        for way, around in zip(model.ways or (switches,), sets, strict=True):
            sums = [part / layer.bounds.unit for part in around.sums(x[layer.W])]
            found.append(layer.certain(x, *sums))
            way.lift(x, *found[-1])
        on, possible = (np.stack(part) for part in zip(*found, strict=True))
        switches.lift(x, np.logical_or.reduce(on), np.logical_and.reduce(possible))


def _better_output(
    loss: Any, network: Network, on: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Of two outputs keep the second, or the first turned round if that costs less."""
    W, t = network.weights[-1], network.thresholds[-1]
    on_second, on_first = on[:, 1:], ~on[:, :1]
    if loss.value(on_second) <= loss.value(on_first):
        return W[1:], t[1:], on_second
    return -W[:1], -t[:1], on_first


def switches_of(network: Network, inputs: FloatArray) -> list[BoolArray]:
    """Which thresholds are reached, for every layer of shape (lines, units x levels)."""
    return [
        step(sums[:, :, None], t).reshape(len(sums), -1)
        for sums, t in zip(network.preactivations(inputs), network.thresholds, strict=True)
    ]


def turn_round(
    weights: list[FloatArray],
    thresholds: list[FloatArray],
    on: BoolArray,
    rule: Activation,
) -> BoolArray:
    """Make the single output's weights non-negative by turning round units below it.

    A unit turned round reaches its thresholds from the other end: its value v becomes
    v_0 + v_L - v, which the output's threshold takes up. Weights and thresholds are changed in
    their lists; the switches of the last hidden layer are returned.
    """
    flip = (weights[-1][0] < 0)[:, None]
    total = rule.values[0] + rule.values[-1]
    negative = np.minimum(weights[-1], 0.0).sum(axis=1, keepdims=True)
    thresholds[-1] = thresholds[-1] - total * negative
    weights[-1] = np.abs(weights[-1])
    weights[-2] = np.where(flip, -weights[-2], weights[-2])
    thresholds[-2] = np.where(flip, -thresholds[-2][:, ::-1], thresholds[-2])
    reached = on.reshape(len(on), *thresholds[-2].shape)
    return np.where(flip, ~reached[..., ::-1], reached).reshape(on.shape)
