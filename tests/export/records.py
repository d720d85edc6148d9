"""Random models to export: networks whose units really switch, with their scalers."""

from __future__ import annotations

import numpy as np

from bdnn.architecture import Architecture
from bdnn.export import ModelRecord
from bdnn.network import Network
from bdnn.scaling import Scaler

WEIGHTS = ("continuous", "ternary", "binary", "int:2", "int:9", "int:300")
WIDTHS = (1, 2, 3, 5, 7, 12, 25, 40)


def make_record(
    rng,
    *,
    n_features=4,
    n_outputs=3,
    hidden=(3,),
    weights="ternary",
    thresholds="neuron",
    ties="score",
    scale="standard",
    **fields,
):
    """A model with thresholds taken from sums that occur, so that sums meet them."""
    shape = Architecture.create(
        n_features, n_outputs, hidden=hidden, weights=weights, thresholds=thresholds, ties=ties
    )
    whole = rng.random() < 0.5
    X = rng.integers(0, 10, (50, n_features)).astype(float)
    X = X if whole else np.round(rng.normal(3, 2, (50, n_features)), 1)
    scaler = Scaler.fit(X, scale, weights=shape.weights[0])
    values = scaler.transform(X)
    matrices, limits = [], []
    for inputs, units, kind in zip(shape.widths, shape.widths[1:], shape.weights, strict=False):
        size = (units, inputs)
        W = rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
        sums = values @ W.T
        t = sums[rng.integers(0, len(sums), units), np.arange(units)]
        t = t - rng.random(units) * (0.5 if rng.random() < 0.3 else 0.0)
        t = {"neuron": t, "layer": np.full(units, t[0]), "zero": np.zeros(units)}[thresholds]
        matrices.append(W)
        limits.append(t)
        values = (sums >= t).astype(float)
    network = Network(shape, tuple(matrices), tuple(limits))
    fields = {"classes": tuple(range(n_outputs)), "feature_names": None} | fields
    return ModelRecord("classifier", network, scaler, **fields)


def any_record(rng):
    """A model of any kind."""
    depth = int(rng.integers(0, 4))
    names = [str(rng.choice(WEIGHTS)) for _ in range(depth + 1)]
    return make_record(
        rng,
        n_features=int(rng.integers(1, 9)),
        n_outputs=int(rng.integers(2, 6)),
        hidden=tuple(int(width) for width in rng.choice(WIDTHS, depth)),
        weights=names if rng.random() < 0.5 else names[0],
        thresholds=str(rng.choice(["neuron", "neuron", "layer", "zero"])),
        ties=str(rng.choice(["score", "first"])),
        scale=[None, "standard", "minmax"][rng.integers(3)],
    )


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
            options["limits"] = (0, int(rng.choice([9, 20, 100])))
    return options
