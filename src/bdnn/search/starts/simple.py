"""Where a search begins: random planes, a linear model, single features, gradients, a network.

Trees begin with units of one feature, and half-spaces of random weights rarely find them. A
threshold on one feature needs no other feature's unit and no spread, so that features of different
kinds, some of them with outliers, do not blur each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import as_levels, of_steps
from bdnn.search.kernels.arrays import IntArray

StartName = Literal["random", "linear", "straight_through"]
Start = Network | StartName

# Share of the weights that are zero in random integer units.
_ZEROS = 1.0 / 3.0
# Numbers in the inputs beyond which least squares are no longer a matter of milliseconds.
_LARGEST_TABLE = 1_000_000


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
            values = problem.lines[pairs.reshape(-1)]
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
    X, label_weight = problem.inputs, problem.loss.label_weight
    total = label_weight.sum(axis=1)
    W, t = network.weights[0].copy(), network.thresholds[0].copy()
    for j in range(len(W)):
        rows = np.flatnonzero(rng.random(len(X)) < 0.5)
        own = label_weight[rows, j % label_weight.shape[1]]
        wanted = own / np.maximum(total[rows], 1e-300) - 0.5
        root = np.sqrt(total[rows])
        design = np.column_stack((X[rows], np.ones(len(rows)))) * root[:, None]
        plane = np.linalg.lstsq(design, wanted * root, rcond=None)[0] if len(rows) else 0.0 * X[0]
        largest = np.abs(plane[:-1]).max(initial=0.0)
        if largest > 0.0:
            W[j] = _nearest(plane[:-1] / largest, shape.weights[0])
            if shape.thresholds == "neuron":
                t[j] = np.median(weighted_sums(X, W[j : j + 1]))
    return Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))


def separating_start(problem: Problem[OutputLoss]) -> Network | None:
    """Put every class on one side of a least-squares plane of its own.

    With more features than samples that is a network without errors. None where the architecture
    is not one hidden layer with a unit per class and weights that can be zero.
    """
    shape, X = problem.architecture, problem.inputs
    n_classes = shape.n_outputs
    if (
        len(shape.hidden) != 1
        or shape.has_levels
        or shape.hidden[0] < n_classes
        or not all(kind.zero for kind in shape.weights)
        or not 0 < X.size <= _LARGEST_TABLE
    ):
        return None
    wanted = np.where(problem.loss.label_weight > problem.loss.cost_on, 1.0, -1.0)
    has_biases = shape.thresholds == "neuron"
    design = np.column_stack([X, np.ones(len(X))]) if has_biases else X
    planes = np.linalg.lstsq(design, wanted, rcond=None)[0].T
    size = np.maximum(np.abs(planes[:, : X.shape[1]]).max(axis=1, keepdims=True), 1e-300)
    W = np.zeros((shape.hidden[0], X.shape[1]))
    W[:n_classes] = _nearest(planes[:, : X.shape[1]] / size, shape.weights[0])
    V = np.eye(n_classes, shape.hidden[0])
    t, T = np.zeros(len(W)), np.zeros(n_classes)
    if has_biases:
        t[:n_classes] = _between(weighted_sums(X, W[:n_classes]), wanted > 0)
    if shape.thresholds == "zero":
        # An output at threshold 0 is on unless something speaks against it.
        W[:n_classes], V = -W[:n_classes], -V
    else:
        T[:] = 0.5
    return Network(shape, (W, V * shape.weights[1].limit), (t, T))


def _between(sums: FloatArray, above: BoolArray) -> FloatArray:
    """Half-way between the sums that should be above a threshold and those below."""
    least = np.where(above, sums, np.inf).min(axis=0)
    most = np.where(above, -np.inf, sums).max(axis=0)
    # A class that is everywhere or nowhere has sums on one side only.
    least = np.where(np.isinf(least), most + 1.0, least)
    most = np.where(np.isinf(most), least - 1.0, most)
    return np.asarray(0.5 * (least + most))


def random_levels(
    network: Network, problem: Problem[OutputLoss], rng: np.random.Generator
) -> Network:
    """Give the weights of a network of steps thresholds at random sums of the problem's inputs."""
    shape = problem.architecture
    values, thresholds = problem.inputs, []
    for k in range(len(shape.hidden)):
        rule, W = shape.activation_of(k), network.weights[k]
        sums = weighted_sums(values, W)
        thresholds.append(drawn_thresholds(sums, shape, k, rng))
        values = rule(sums, thresholds[-1]).astype(float)
    outputs = network.thresholds[-1]
    if shape.thresholds == "neuron":
        outputs = np.median(weighted_sums(values, network.weights[-1]), axis=0)[:, None]
    return Network(shape, network.weights, (*thresholds, outputs))


def drawn_thresholds(
    sums: FloatArray, shape: Architecture, k: int, rng: np.random.Generator
) -> FloatArray:
    """Thresholds of layer ``k`` at random sums of shape (n_inputs, units)."""
    rule, units = shape.activation_of(k), sums.shape[1]
    if shape.thresholds == "zero":
        return np.tile(rule.offsets, (units, 1))
    rows = rng.integers(len(sums), size=(2, units, rule.n_thresholds))
    drawn = np.sort(0.5 * sums[rows, np.arange(units)[:, None]].sum(axis=0), axis=1)
    if rule.thresholds is not None:
        drawn = drawn[:, :1] + (rule.offsets - rule.offsets[0])
    if shape.thresholds == "layer":
        if not shape.weights[k].integer and rule.thresholds is None:
            drawn = np.clip(drawn, -1.0, 1.0)
        drawn = np.tile(drawn[0], (units, 1))
    return np.asarray(drawn)


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


def _nearest(shares: FloatArray, kind: WeightSet) -> FloatArray:
    """Nearest weights of a set to shares of its largest one."""
    return kind.nearest(shares * kind.limit)


# Numbers that are looked through for thresholds, in some tenth of a second, and inputs that are
# enough for them.
_MOST_NUMBERS, _ENOUGH_INPUTS = 1_000_000, 1000


def allows_single_features(shape: Architecture) -> bool:
    """Whether units of the first layer can look at one feature, with a threshold of their own."""
    return shape.thresholds == "neuron" and shape.weights[0].zero and not shape.has_levels


def single_feature_start(
    problem: Problem[OutputLoss], rng: np.random.Generator, *, share: float
) -> Network:
    """Draw a share of the first layer's units on single features, all else at random.

    Every feature has its turn, with thresholds between neighbouring values, drawn by rank. The
    architecture must allow such units.
    """
    network = random_start(problem, rng)
    shape = problem.architecture
    W, t = network.weights[0].copy(), network.thresholds[0].copy()
    inputs = problem.inputs[_some_lines(problem, rng)]
    features = np.resize(rng.permutation(shape.n_features), round(share * len(W)))
    for unit, feature in enumerate(features):
        values = inputs[:, feature]
        drawn = values[rng.integers(len(values))]
        below, above = values[values < drawn], values[values > drawn]
        if not len(below) and not len(above):
            continue  # a constant feature tells nothing
        weight = rng.choice((-1.0, 1.0)) * shape.weights[0].limit
        lower = below.max() if len(below) else drawn
        threshold = weight * _threshold(lower, drawn if len(below) else above.min(), weight)
        if np.isfinite(threshold):
            W[unit] = 0.0
            W[unit, feature], t[unit] = weight, threshold
    return Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))


def best_single_features(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network | None:
    """Make the network without hidden units whose every output looks at one feature, if any can.

    Each output has the feature, direction and threshold of the least loss, or is always on or off.
    """
    shape = problem.architecture
    if not allows_single_features(shape) or not len(problem.inputs):
        return None
    lines = _some_lines(problem, rng)
    inputs, label_weight = problem.inputs[lines], problem.loss.label_weight[lines]
    gains = 2.0 * label_weight - label_weight.sum(axis=1, keepdims=True)
    W = np.zeros((shape.n_outputs, shape.n_features))
    best = np.maximum(gains.sum(axis=0), 0.0)
    t = np.where(best > 0.0, -1.0, 1.0)
    for feature in range(shape.n_features):
        order = np.argsort(inputs[:, feature])
        values = inputs[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1])
        if not len(cuts):
            continue
        below = np.cumsum(gains[order], axis=0)
        for sign, merits in ((1.0, below[-1] - below[cuts]), (-1.0, below[cuts])):
            chosen = merits.argmax(axis=0)
            for output in np.flatnonzero(merits.max(axis=0) > best):
                cut = cuts[chosen[output]]
                best[output] = merits[chosen[output], output]
                W[output] = 0.0
                W[output, feature] = sign
                t[output] = sign * _threshold(values[cut], values[cut + 1], sign)
    single = replace(shape, hidden=(), weights=shape.weights[:1], activations=())
    return Network(single, (W,), (t,))


def _threshold(lower: float, upper: float, weight: float) -> float:
    """Find a threshold that tells two values apart; neighbouring numbers have no middle."""
    middle = 0.5 * lower + 0.5 * upper
    if weight > 0:
        return middle if middle > lower else upper
    return middle if middle < upper else lower


def _some_lines(problem: Problem[OutputLoss], rng: np.random.Generator) -> IntArray:
    n_inputs, n_numbers = (
        len(problem.inputs),
        problem.inputs.shape[1] * problem.loss.label_weight.shape[1],
    )
    most = max(_ENOUGH_INPUTS, _MOST_NUMBERS // n_numbers)
    return np.asarray(rng.choice(n_inputs, min(n_inputs, most), replace=False))
