"""Where a search begins: random planes, a linear model, straight-through gradients, a network."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.kernels.arrays import IntArray
from bdnn.search.starts.levels import as_levels, of_steps, random_levels

StartName = Literal["random", "linear", "straight_through"]
Start = Network | StartName

# Share of the weights that are zero in random integer units.
_ZEROS = 1.0 / 3.0


def make_start(
    problem: Problem[OutputLoss], start: Start, rng: np.random.Generator, *, slot: Slot
) -> Network:
    """Make the network a search begins with; the slot limits what takes long."""
    if isinstance(start, Network):
        if start.architecture != problem.architecture:
            raise ModelError(
                f"the start has architecture {start.architecture}, the problem has "
                f"{problem.architecture}: use bdnn.search.embed for a smaller network."
            )
        return start
    if start == "random":
        return random_start(problem, rng)
    if start == "linear":
        return linear_start(problem, rng)
    if start == "straight_through":
        from bdnn.search.starts.straight_through import straight_through

        return straight_through(problem, rng=rng, slot=slot)
    raise ModelError(
        f"start must be a network or one of {', '.join(get_args(StartName))}, got {start!r}: "
        "choose one of these."
    )


def random_start(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network:
    """Draw every unit at random, its plane between two inputs of different classes."""
    shape = problem.architecture
    if shape.has_levels:
        return random_levels(random_start(of_steps(problem), rng), problem, rng)
    weights: list[FloatArray] = []
    thresholds: list[FloatArray] = []
    widths = shape.widths
    for fan_in, units, kind in zip(widths[:-1], widths[1:], shape.weights, strict=True):
        W, t = _random_weights((units, fan_in), kind, rng), np.zeros(units)
        if shape.thresholds == "neuron":
            pairs = np.array(_opposite_pairs(problem, units, rng))
            values = problem.inputs[pairs.reshape(-1)]
            for earlier, limits in zip(weights, thresholds, strict=True):
                values = (weighted_sums(values, earlier) >= limits).astype(float)
            one, two = weighted_sums(values, W).reshape(2, units, units)
            t = 0.5 * (np.diagonal(one) + np.diagonal(two))
        weights.append(W)
        thresholds.append(t)
    return Network(shape, tuple(weights), tuple(thresholds))


def linear_start(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network:
    """Begin with noisy copies of least-squares planes in the first layer, the rest at random.

    Every unit regresses one class on the inputs of a random half of the data, so that the units
    differ as those of a bagged ensemble do.
    """
    shape = problem.architecture
    if shape.has_levels:
        return as_levels(linear_start(of_steps(problem), rng), shape)
    network = random_start(problem, rng)
    X, mass = problem.inputs, problem.loss.label_weight
    total = mass.sum(axis=1)
    W, t = network.weights[0].copy(), network.thresholds[0].copy()
    for j in range(len(W)):
        rows = np.flatnonzero(rng.random(len(X)) < 0.5)
        wanted = mass[rows, j % mass.shape[1]] / np.maximum(total[rows], 1e-300) - 0.5
        root = np.sqrt(total[rows])
        design = np.column_stack((X[rows], np.ones(len(rows)))) * root[:, None]
        plane = np.linalg.lstsq(design, wanted * root, rcond=None)[0] if len(rows) else 0.0 * X[0]
        largest = np.abs(plane[:-1]).max(initial=0.0)
        if largest > 0.0:
            W[j] = nearest_weights(plane[:-1] / largest, shape.weights[0])
            if shape.thresholds == "neuron":
                t[j] = np.median(weighted_sums(X, W[j : j + 1]))
    return Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))


def _random_weights(size: tuple[int, int], kind: WeightSet, rng: np.random.Generator) -> FloatArray:
    if not kind.integer:
        return rng.uniform(-1.0, 1.0, size)
    W = rng.choice(kind.values[kind.values != 0], size)
    if kind.zero:
        W[rng.random(size) < _ZEROS] = 0.0
    return np.asarray(W)


def _opposite_pairs(
    problem: Problem[OutputLoss], n_pairs: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Pairs of inputs whose leading classes differ, or any where all lead to the same class."""
    leading = problem.loss.label_weight.argmax(axis=1)
    one = rng.integers(len(leading), size=n_pairs)
    two = rng.integers(len(leading), size=n_pairs)
    for _ in range(20):
        same = leading[one] == leading[two]
        if not same.any():
            break
        two[same] = rng.integers(len(leading), size=int(same.sum()))
    return one, two


def nearest_weights(weights: FloatArray, kind: WeightSet) -> FloatArray:
    """Nearest weights of a set to weights in [-1, 1]."""
    if not kind.integer:
        return np.clip(weights, -1.0, 1.0)
    scaled = weights * kind.limit
    if not kind.zero:  # the set {-1, 1}
        return np.where(scaled > 0.0, 1.0, -1.0).astype(weights.dtype)
    return np.rint(np.clip(scaled, -kind.limit, kind.limit))
