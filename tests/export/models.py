"""Random models to export: networks whose units really switch, with their scalers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.encoding import Encoder, Inputs
from bdnn.model import Model, TargetScaler
from bdnn.network.activation import Activation
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network

WEIGHTS = ("continuous", "ternary", "binary", "int:2", "int:9", "int:300")
WIDTHS = (1, 2, 3, 5, 7, 12, 25, 40)
MANY_FEATURES = (16, 33, 70)


def make_model(
    rng,
    *,
    n_features=4,
    n_outputs=3,
    hidden=(3,),
    weights="ternary",
    thresholds="neuron",
    ties="score",
    scale="standard",
    activation="step",
    names=None,
    **fields,
):
    """A model with thresholds taken from sums that occur, so that sums meet them."""
    shape = Architecture.create(
        n_features,
        n_outputs,
        hidden=hidden,
        weights=weights,
        thresholds=thresholds,
        ties=ties,
        activation=activation,
    )
    whole = rng.random() < 0.5
    X = rng.integers(0, 10, (50, n_features)).astype(float)
    X = X if whole else np.round(rng.normal(3, 2, (50, n_features)), 1)
    plain = Encoder.of_features(n_features, names)
    scaler = Encoder.learn(
        X,
        plain.columns,
        Inputs(scale=scale),
        weights=shape.weights[0],
        header=plain.header,
    )
    values = scaler.transform(X)
    matrices, limits = [], []
    for k, (inputs, units, kind) in enumerate(
        zip(shape.widths, shape.widths[1:], shape.weights, strict=False)
    ):
        size, rule = (units, inputs), shape.activation_of(k)
        W = rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
        sums = values @ W.T
        t = sums[rng.integers(0, len(sums), (rule.n_thresholds, units)), np.arange(units)].T
        t = np.sort(t - rng.random(t.shape) * (0.5 if rng.random() < 0.3 else 0.0), axis=1)
        if rule.thresholds is not None:
            t = t[:, :1] + rule.offsets
        fixed = np.tile(rule.offsets, (units, 1))
        t = {"neuron": t, "layer": np.tile(t[0], (units, 1)), "zero": fixed}[thresholds]
        matrices.append(W)
        limits.append(t)
        values = rule(sums, limits[-1]).astype(float)
    network = Network(shape, tuple(matrices), tuple(limits))
    return Model(scaler, network, **{"classes": tuple(range(n_outputs))} | fields)


def any_model(rng):
    """A model of any kind."""
    depth = int(rng.integers(0, 4))
    names = [str(rng.choice(WEIGHTS)) for _ in range(depth + 1)]
    few = rng.random() < 0.9
    return make_model(
        rng,
        n_features=int(rng.integers(1, 9) if few else rng.choice(MANY_FEATURES)),
        n_outputs=int(rng.integers(2, 6)),
        hidden=tuple(int(width) for width in rng.choice(WIDTHS, depth)),
        weights=names if rng.random() < 0.5 else names[0],
        thresholds=str(rng.choice(["neuron", "neuron", "layer", "zero"])),
        ties=str(rng.choice(["score", "first"])),
        scale=[None, "standard", "minmax", "common"][rng.integers(4)],
    )


def level_model(rng):
    """A model whose hidden units take other values than 0 and 1."""
    depth = int(rng.integers(1, 3))
    rules = ("sign", "ternary", "levels:4", Activation((-2, 0, 5), (-0.5, 1.0)), "step")
    return make_model(
        rng,
        n_features=int(rng.integers(1, 6)),
        n_outputs=int(rng.integers(2, 5)),
        hidden=tuple(int(width) for width in rng.integers(1, 6, depth)),
        weights=[str(rng.choice(WEIGHTS)), *rng.choice(WEIGHTS[1:5], depth).tolist()],
        thresholds=str(rng.choice(["neuron", "neuron", "layer", "zero"])),
        ties=str(rng.choice(["score", "first"])),
        scale=[None, "standard", "minmax", "common"][rng.integers(4)],
        activation=[rules[rng.integers(4)], *(rules[rng.integers(5)] for _ in range(depth - 1))],
    )


def number_model(rng):
    """A regressor."""
    n_outputs = int(rng.integers(1, 3))
    model = make_model(
        rng,
        n_features=int(rng.integers(1, 6)),
        n_outputs=n_outputs,
        hidden=tuple(int(width) for width in rng.choice(WIDTHS, rng.integers(0, 3))),
        weights=str(rng.choice(WEIGHTS)),
        scale=[None, "standard", "minmax", "common"][rng.integers(4)],
        classes=(),
    )
    shape = replace(model.network.architecture, output="identity")
    targets = TargetScaler(*rng.normal(size=(3, n_outputs)))
    return replace(model, network=replace(model.network, architecture=shape), targets=targets)


def any_format(rng):
    """Options of a C export that fit together."""
    kind = str(
        rng.choice(["uint8", "int8", "int16", "uint16", "int32", "double", "float", "scaled"])
    )
    options = {"input": kind}
    if kind not in ("double", "float"):
        if rng.random() < 0.4 and kind != "scaled":
            options["per_unit"] = int(rng.choice([2, 10, 100]))
        if rng.random() < 0.4 or kind == "int32":
            largest = [9, 20, 100, *([900_000] if kind == "int32" else [])]
            options["limits"] = (0, int(rng.choice(largest)))
    return options | {"optimise": str(rng.choice(["size", "speed"]))}
