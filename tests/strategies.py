"""Hypothesis strategies for architectures, networks and data."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from bdnn.network.activation import Activation
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification

WEIGHT_SETS = ("continuous", "ternary", "binary", "int:2", "int:5")
THRESHOLDS = ("neuron", "layer", "zero")
TIES = ("score", "first")

# Exact numbers: sums of a few of them, multiplied by weights on the same grid, do not round.
dyadic = st.integers(-64, 64).map(lambda k: k / 16)
bits = st.sampled_from([0.0, 1.0])
small_integers = st.integers(-3, 3).map(float)
few = st.integers(1, 3)
any_weights = st.sampled_from(WEIGHT_SETS)
any_thresholds = st.sampled_from(THRESHOLDS)
steps = st.just("step")
# Two and more values, from 0 or not, free thresholds and fixed ones.
any_activation = st.sampled_from(
    [
        "step",
        "sign",
        "ternary",
        "levels:4",
        Activation((-2, 3)),
        Activation((-3, 0, 1), (-0.25, 1.5)),
        Activation((1, 2, 5), (0.0, 1.0)),
    ]
)


def arrays(shape, elements):
    size = int(np.prod(shape))
    return st.lists(elements, min_size=size, max_size=size).map(
        lambda values: np.array(values, dtype=float).reshape(shape)
    )


@st.composite
def architectures(
    draw,
    *,
    n_features=few,
    n_outputs=few,
    max_hidden=3,
    weights=any_weights,
    thresholds=any_thresholds,
    activation=steps,
    min_hidden=0,
):
    hidden = draw(st.lists(few, min_size=min_hidden, max_size=max_hidden))
    return Architecture.create(
        draw(n_features),
        draw(n_outputs),
        hidden=tuple(hidden),
        weights=[draw(weights) for _ in range(len(hidden) + 1)],
        thresholds=draw(thresholds),
        ties=draw(st.sampled_from(TIES)),
        activation=[draw(activation) for _ in hidden],
    )


def weight_arrays(kind, shape):
    if kind.integer:
        return arrays(shape, st.sampled_from(kind.values.tolist()))
    return arrays(shape, st.integers(-16, 16).map(lambda k: k / 16))


@st.composite
def networks(draw, shapes=None, *, levels=dyadic):
    shape = draw(architectures() if shapes is None else shapes)
    weights, thresholds = [], []
    for k, (n_inputs, units, kind) in enumerate(
        zip(shape.widths, shape.widths[1:], shape.weights, strict=False)
    ):
        weights.append(draw(weight_arrays(kind, (units, n_inputs))))
        rule = shape.activation_of(k)
        lines = {"neuron": units, "layer": 1, "zero": 0}[shape.thresholds]
        if not lines:
            t = rule.offsets[None]
        elif rule.thresholds is not None:
            t = draw(arrays((lines, 1), levels)) + rule.offsets
        else:
            t = np.sort(draw(arrays((lines, rule.n_thresholds), levels)), axis=1)
        t = np.broadcast_to(t, (units, rule.n_thresholds))
        thresholds.append(t[:, 0] if rule.n_thresholds == 1 else t)
    return Network(shape, tuple(weights), tuple(thresholds))


@st.composite
def samples(draw, n_features, n_classes, *, elements=small_integers, max_samples=8):
    """Inputs, labels and weights, with equal inputs among them."""
    n_samples = draw(st.integers(1, max_samples))
    X = draw(arrays((n_samples, n_features), elements))
    labels = np.array(
        draw(st.lists(st.integers(0, n_classes - 1), min_size=n_samples, max_size=n_samples))
    )
    weight = draw(arrays((n_samples,), st.integers(0, 8).map(lambda k: k / 4)))
    return X, labels, weight


@st.composite
def problems(draw, shapes=None, *, elements=small_integers):
    shape = draw(architectures() if shapes is None else shapes)
    X, labels, _ = draw(samples(shape.n_features, shape.n_outputs, elements=elements))
    weight = draw(arrays((len(X),), st.integers(1, 3).map(float)))
    return classification(shape, X, labels, weight)


@st.composite
def problems_with_networks(draw, shapes=None, *, elements=small_integers):
    problem = draw(problems(shapes, elements=elements))
    return problem, draw(networks(st.just(problem.architecture)))
