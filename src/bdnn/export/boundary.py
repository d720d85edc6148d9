"""Inputs on which a network is about to change its mind, to test exports with.

From random samples one feature is moved until a unit of the first layer or the class switches;
bisection over the representable numbers gives the last input before and the first input after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.export.inputs import InputFormat
from bdnn.limits import LARGEST_INPUT
from bdnn.model import Model
from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.network import Network

Places = NDArray[np.int64]


def random_inputs(
    scaler: Encoder, inputs: InputFormat, count: int, rng: np.random.Generator
) -> FloatArray:
    """Draw inputs as a function of this format takes them, most of them of ordinary size."""
    n_features = len(scaler.shift)
    usual = rng.normal(0.0, 1.5, (count, n_features))
    if inputs.kind == "scaled":
        X = usual / (scaler.step or 1.0)
    else:
        X = (usual / scaler.factor + scaler.shift) * np.array(inputs.per_unit)
    if not inputs.is_integer:
        X *= 10.0 ** np.where(rng.random((count, 1)) < 0.1, rng.uniform(0, 12, (count, 1)), 0.0)
        np.clip(X, -inputs.largest, inputs.largest, out=X)
        return X.astype(inputs.reals.dtype).astype(float)
    low = np.array([ends[0] for ends in inputs.ranges])
    high = np.array([ends[1] for ends in inputs.ranges])
    anywhere = rng.integers(low, high + 1, (count, n_features))
    X = np.where(rng.random((count, 1)) < 0.5, anywhere, np.rint(X))
    return np.asarray(np.clip(X, low, high))


def extreme_inputs(
    scaler: Encoder, inputs: InputFormat, count: int, rng: np.random.Generator
) -> FloatArray:
    """Draw inputs with features at the ends of their type: largest and smallest numbers, zeros."""
    X = random_inputs(scaler, inputs, count, rng)
    ends = np.array(inputs.ranges, dtype=float).reshape(-1, 2)
    if not inputs.is_integer:
        kind = inputs.reals
        inner = np.nextafter(kind.dtype.type(inputs.largest), kind.dtype.type(0))
        sizes = [
            float(size) for size in (0, kind.smallest_subnormal, kind.tiny, inner, inputs.largest)
        ]
        ends = np.tile(np.concatenate([np.negative(sizes), sizes]), (X.shape[1], 1))
    chosen = ends[np.arange(X.shape[1]), rng.integers(0, ends.shape[1], X.shape)]
    return np.asarray(np.where(rng.random(X.shape) < 0.7, chosen, X))


def boundary_inputs(
    network: Network,
    scaler: Encoder,
    inputs: InputFormat,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Find pairs of neighbouring inputs between which a first unit or the class switches."""
    X = random_inputs(scaler, inputs, count, rng)
    limits = network.thresholds[0]
    place = rng.integers(0, limits.size + 1, count)
    # Outputs right on the features decide where their scores cross, and not at their thresholds.
    by_class = place == limits.size
    unit, level = np.divmod(np.where(by_class, 0, place), limits.shape[1])
    feature = rng.integers(0, X.shape[1], count)
    rows = np.arange(count)
    ends = np.array([feature_ends(inputs, j) for j in range(X.shape[1])], dtype=np.int64)

    def state(places: Places) -> NDArray[np.intp]:
        moved = X.copy()
        moved[rows, feature] = numbers(places, inputs)
        scaled = inputs.scaled(moved, scaler)
        sums = weighted_sums(scaled, network.weights[0])[rows, unit]
        return np.where(by_class, network.predict(scaled), sums >= limits[unit, level])

    low, high = ends[feature].T
    switches = state(high) != state(low)
    pairs = []
    for places in bisected(low, high, state):
        found = X.copy()
        found[rows, feature] = numbers(places, inputs)
        pairs.append(found[switches])
    return np.concatenate(pairs)


def bisected(
    low: Places, high: Places, state: Callable[[Places], NDArray[Any]]
) -> tuple[Places, Places]:
    """Neighbours of which the higher ones, but not the lower ones, are in the state of ``high``."""
    goal = state(high)
    while True:
        # The floor of the mean, without a sum or difference that 64 bits would not hold.
        middle = (low & high) + ((low ^ high) >> 1)
        if (middle == low).all():
            return low, high
        is_high = state(middle) == goal
        high, low = np.where(is_high, middle, high), np.where(is_high, low, middle)


def feature_ends(inputs: InputFormat, feature: int) -> tuple[int, int]:
    """Places of the least and the largest input of a feature."""
    if inputs.is_integer:
        return inputs.ranges[feature]
    largest = np.array(inputs.largest, dtype=inputs.reals.dtype)
    top = int(largest.view(np.int32 if inputs.kind == "float" else np.int64))
    return -top, top


def numbers(places: Places, inputs: InputFormat) -> FloatArray:
    """Inputs by their places: neighbours differ by one, 0 is 0, and a count is its own place."""
    if inputs.is_integer:
        return places.astype(float)
    if inputs.kind == "float":
        size = np.abs(places).astype(np.int32).view(np.float32).astype(float)
    else:
        size = np.abs(places).view(np.float64)
    return np.asarray(np.copysign(size, places))


def compared_inputs(
    model: Model,
    inputs: InputFormat,
    count: int,
    at_boundaries: int | None = None,
    *,
    rng: int | np.random.Generator = 0,
) -> FloatArray:
    """Inputs to compare an export with Python on: random ones, at boundaries, and extreme ones."""
    scaler, rng = model.encoder, np.random.default_rng(rng)
    if not scaler.is_plain:
        return column_inputs(model, inputs, 3 * count, rng)
    near = count if at_boundaries is None else at_boundaries
    return np.concatenate(
        [
            random_inputs(scaler, inputs, count, rng),
            boundary_inputs(model.network, scaler, inputs, near, rng),
            extreme_inputs(scaler, inputs, count, rng),
        ]
    )


def answers(model: Model, inputs: InputFormat, X: FloatArray) -> NDArray[Any]:
    """What Python makes of inputs of an exported function: classes, or numbers in lines."""
    values = inputs.scaled(X, model.encoder)
    if model.targets is None:
        return model.network.predict(values)
    return model.targets.inverse(model.network.values(values))


def column_inputs(
    model: Model, inputs: InputFormat, count: int, rng: np.random.Generator
) -> FloatArray:
    """Rows to compare an export with Python on: near cuts, at random, missing and unknown."""
    encoder = model.encoder
    X = np.empty((count, encoder.n_columns))
    for j, column in enumerate(encoder.columns):
        unit = inputs.per_unit[j]
        if column.kind == "category":
            X[:, j] = rng.integers(0, len(column.values) + 1, count)
            if not (inputs.is_integer and inputs.ranges[j][0] >= 0):
                X[rng.random(count) < 0.1, j] = -1
        else:
            cuts = [float(b.value or 0.0) for b in encoder.bits if b.column == j and b.kind == "ge"]
            own = [n for n in encoder.numbers if n.column == j]
            cuts += [n.shift for n in own]
            spread = 1.0 / float(encoder.units[j])
            near = rng.choice(cuts or [0.0], count) * unit
            X[:, j] = near + np.where(rng.random(count) < 0.5, 0, rng.normal(size=count) * spread)
            X[:, j] = _neighbour(inputs, X[:, j], rng)
        if inputs.may_be_missing:
            gap = np.nan if inputs.missing is None else float(inputs.missing)
            X[rng.random(count) < 0.15, j] = gap
    if inputs.is_integer:
        return np.clip(np.rint(X), inputs.ranges[0][0], inputs.ranges[0][1])
    return X


def _neighbour(inputs: InputFormat, values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Values, or what is next to them in their type."""
    if inputs.is_integer:
        return np.rint(values) + rng.integers(-1, 2, len(values))
    kind = inputs.reals.dtype.type
    typed = np.clip(values, -LARGEST_INPUT, LARGEST_INPUT).astype(kind)
    side = rng.integers(-1, 2, len(values))
    moved = np.where(
        side == 0, typed, np.nextafter(typed, np.where(side > 0, np.inf, -np.inf).astype(kind))
    )
    return moved.astype(float)
