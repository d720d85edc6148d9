"""Tiny random models with few inputs, and their nearest counter-examples by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.robustness import Domain, PerturbationSet
from tests.encoding.encoders import make_encoder

NORMS = ("linf", "l1", "l2")
WEIGHTS = ("ternary", "binary", "int:3", "continuous")


def random_network(rng, n_features, weights, activation="step"):
    """A network of any depth, thresholds and tie rule, with sums near its thresholds."""
    shape = Architecture.create(
        n_features,
        int(rng.integers(2, 4)),
        hidden=tuple(rng.integers(1, 7, rng.integers(activation != "step", 3))),
        weights=weights,
        activation=activation,
        thresholds=str(rng.choice(["neuron", "neuron", "layer", "zero"])),
        ties=str(rng.choice(["score", "first"])),
    )
    layers, levels = [], []
    for k, (inputs, units, kind) in enumerate(
        zip(shape.widths, shape.widths[1:], shape.weights, strict=False)
    ):
        size, rule = (units, inputs), shape.activation_of(k)
        W = rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
        draws = (rule.n_thresholds, inputs)
        below = rng.random(draws) if k == 0 else rng.integers(0, 2, draws)
        t = np.sort(np.round(W @ below.T * 8) / 8 - 1 / 16, axis=1)
        if shape.thresholds != "neuron":
            t = np.tile(t[0] if shape.thresholds == "layer" else rule.offsets, (units, 1))
        layers.append(W)
        levels.append(t)
    return Network(shape, tuple(layers), tuple(levels))


def random_scaler(rng, n_features, step=0.125):
    return make_encoder(rng.normal(size=n_features), rng.uniform(0.3, 3.0, n_features), step)


def unit_box(scaler):
    """The domain of raw inputs that are scaled to [0, 1]."""
    ends = np.array([scaler.shift, scaler.shift + 1.0 / scaler.factor])
    return {"lower": ends[0], "upper": ends[1]}


def random_case(
    seed,
    *,
    n_features=None,
    norm="linf",
    units="scaled",
    weights=None,
    samples=3,
    activation="step",
):
    """Samples of a random model whose inputs are grid points between 0 and 1."""
    rng = np.random.default_rng(seed)
    n_features = n_features or int(rng.integers(1, 4))
    network = random_network(rng, n_features, weights or str(rng.choice(WEIGHTS)), activation)
    scaler = random_scaler(rng, n_features)
    X = scaler.shift + rng.random((samples, n_features)) / scaler.factor
    domain = Domain.create(n_features, **unit_box(scaler))
    model = Model(scaler, network)
    return PerturbationSet.create(model, X, norm=norm, units=units, domain=domain)


def enumerated(around, row):
    """Squared (for l2) distance of the nearest counter-example, as a fraction; None without one.

    All points of the domain are tried; a grid point is reached at the edge of its cell.
    """
    step = Fraction(around.scaler.step)
    n_features = around.X.shape[1]
    ends = np.rint(
        around.scaler.transform(np.stack([around.domain.lower, around.domain.upper])) / float(step)
    ).astype(int)
    points = np.array(list(product(*(range(a, b + 1) for a, b in ends.T))), dtype=float)
    changed = points[around.network.predict(points * float(step)) != around.classes[row]]
    best = None
    for point in changed.tolist():
        moves = []
        for j in range(n_features):
            factor = Fraction(around.scaler.factor[j])
            s = (Fraction(around.X[row, j]) - Fraction(around.scaler.shift[j])) * factor
            move = max(Fraction(0), abs(Fraction(point[j]) * step - s) - step / 2)
            moves.append(move / (factor if around.units == "raw" else 1))
        length = {"linf": max, "l1": sum, "l2": lambda m: sum(v * v for v in m)}[around.norm](moves)
        best = length if best is None else min(best, length)
    return best


def as_length(around, value):
    if value is None:
        return np.inf
    return float(value) ** (0.5 if around.norm == "l2" else 1.0)
