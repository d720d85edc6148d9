"""Networks of steps in place of networks whose units take other values than 0 and 1.

Two values a < b are a step in other numbers, a + (b - a) u. Where every unit has its own threshold
the layer above can take that up: ``W (a + (b - a) u) >= t`` iff ``W u >= (t - a sum W) / (b - a)``.
Such networks have a *twin* of steps with the same weights, and each of these is the twin of one.

More values are several steps of the same sum, v_0 + sum_l (v_l - v_{l-1}) u_l. *Unrolling* gives a
unit one step per threshold and weighs each by what it adds; v_0 becomes the weight of a unit that
is always on, so that no threshold changes and all sums and scores stay the same numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.errors import UnsupportedFeatureError
from bdnn.network.activation import Activation, FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network


def has_twin(shape: Architecture) -> bool:
    """Whether networks of this shape have twins of steps."""
    is_free = shape.thresholds == "neuron" and shape.output == "step"
    return is_free and all(len(a.values) == 2 for a in shape.activations)


def to_twin(network: Network) -> Network:
    """Make the network of steps with the same weights and answers."""
    shape = network.architecture
    thresholds = [
        (t - a * W.sum(axis=1, keepdims=True)) / (b - a)
        for W, t, (a, b) in zip(
            network.weights, network.thresholds, _values_below(shape), strict=True
        )
    ]
    return Network(replace(shape, activations=()), network.weights, tuple(thresholds))


def from_twin(twin: Network, shape: Architecture) -> Network:
    """Make the network of this shape of which a network of steps is the twin.

    Where units have more than two values they take the first and the last one, all thresholds of a
    unit being equal; where these lie at fixed distances, that is only so outside their span.
    """
    thresholds = []
    for k, (a, b) in enumerate(_values_below(shape)):
        W, t, rule = twin.weights[k], twin.thresholds[k], shape.activation_of(k)
        if k > 0 and shape.weights[k].integer:
            # Half-way between integers is where a threshold was meant to be, up to its last bits.
            halves = np.floor(t) + 0.5
            t = np.where(np.abs(t - halves) < 1e-9, halves, t)
        spread = np.zeros(rule.n_thresholds)
        if rule.thresholds is not None:
            spread = rule.offsets - rule.offsets.mean()
        thresholds.append((b - a) * t + a * W.sum(axis=1, keepdims=True) + spread)
    return Network(shape, twin.weights, tuple(thresholds))


def _values_below(shape: Architecture) -> list[tuple[int, int]]:
    """The two values that a layer's inputs take, (0, 1) for what is no unit."""
    rules = [(0, 1)] + [shape.activation_of(k).values for k in range(len(shape.hidden))]
    return [(values[0], values[-1]) for values in rules]


def unrolled(
    network: Network,
    purpose: str,  # what needs steps, for the message if there are none that do the same
) -> Network:
    """Make a network of steps with the same sums of outputs, bit by bit.

    Raises UnsupportedFeatureError if a layer above units of other values has continuous weights,
    whose sums round in another way when they have other terms.
    """
    shape = network.architecture
    if not shape.has_levels:
        return network
    weights, thresholds, sets = [], [], []
    below: Activation | None = None
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        kind, rule = shape.weights[k], shape.activation_of(k)
        if below is not None and not below.is_step and not kind.integer:
            raise UnsupportedFeatureError(
                f"{purpose} cannot handle activation '{below.name}' below a layer of continuous "
                "weights: use integer weights from the second layer on, or activation 'step'."
            )
        W, kind = _taking_steps(W, kind, below)
        W = np.repeat(W, rule.n_thresholds, axis=0)
        t = t.reshape(-1)
        if rule.values[0] != 0:
            W, t = np.vstack([W, np.zeros_like(W[:1])]), np.append(t, 0.0)
            kind = replace(kind, name="ternary", zero=True) if not kind.zero else kind
        weights.append(W)
        thresholds.append(t)
        sets.append(kind)
        below = rule
    widths = tuple(len(W) for W in weights[:-1])
    steps = replace(shape, hidden=widths, weights=tuple(sets), thresholds="neuron", activations=())
    return Network(steps, tuple(weights), tuple(thresholds))


def _taking_steps(
    W: FloatArray, kind: WeightSet, below: Activation | None
) -> tuple[FloatArray, WeightSet]:
    """Weights on the steps of the layer below, with the set they lie in."""
    if below is None or below.is_step:
        return W, kind
    wide = (W[:, :, None] * below.jumps).reshape(len(W), -1)
    if below.values[0] != 0:
        wide = np.column_stack([wide, below.values[0] * W.sum(axis=1)])
    limit = max(1, int(np.abs(wide).max(initial=1.0)))
    return wide, WeightSet(f"int:{limit}", limit, integer=True, zero=True)
