"""Inputs on which a network is about to change its mind, to test exports with.

From random samples one feature is moved until a unit of the first layer switches; bisection over
the representable numbers gives the last input before and the first input after the switch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import FloatArray
from bdnn.export.inputs import InputFormat
from bdnn.network import Network
from bdnn.scaling import Scaler
from bdnn.stepwise import unrolled


def random_inputs(
    scaler: Scaler, inputs: InputFormat, count: int, rng: np.random.Generator
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
        return X.astype(np.float32).astype(float) if inputs.kind == "float" else X
    low = np.array([ends[0] for ends in inputs.ranges])
    high = np.array([ends[1] for ends in inputs.ranges])
    anywhere = rng.integers(low, high + 1, (count, n_features))
    X = np.where(rng.random((count, 1)) < 0.5, anywhere, np.rint(X))
    return np.asarray(np.clip(X, low, high))


def boundary_inputs(
    network: Network,
    scaler: Scaler,
    inputs: InputFormat,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Find pairs of neighbouring inputs between which a unit of the first layer switches."""
    X = random_inputs(scaler, inputs, count, rng)
    network = unrolled(network, "export")
    unit = rng.integers(0, len(network.weights[0]), count)
    feature = rng.integers(0, X.shape[1], count)
    rows = np.arange(count)
    if inputs.is_integer:
        low, high = (
            np.array([ends[side] for ends in inputs.ranges], dtype=np.int64)[feature]
            for side in (0, 1)
        )
    else:
        largest = 1e30 if inputs.kind == "float" else 1e90
        high = _places(np.full(count, largest), inputs)
        low = -high

    def is_on(places: NDArray[np.int64]) -> NDArray[np.bool_]:
        moved = X.copy()
        moved[rows, feature] = _numbers(places, inputs)
        return network.activations(inputs.scaled(moved, scaler))[0][rows, unit]

    goal = is_on(high)
    switches = goal != is_on(low)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        is_high = is_on(middle) == goal
        high, low = np.where(is_high, middle, high), np.where(is_high, low, middle)
    pairs = []
    for places in (low, high):
        found = X.copy()
        found[rows, feature] = _numbers(places, inputs)
        pairs.append(found[switches])
    return np.concatenate(pairs)


def _places(values: FloatArray, inputs: InputFormat) -> NDArray[np.int64]:
    """Number floating-point numbers that are not negative so that neighbours differ by one."""
    if inputs.kind == "float":
        return values.astype(np.float32).view(np.int32).astype(np.int64)
    return values.view(np.int64)


def _numbers(places: NDArray[np.int64], inputs: InputFormat) -> FloatArray:
    if inputs.is_integer:
        return places.astype(float)
    if inputs.kind == "float":
        size = np.abs(places).astype(np.int32).view(np.float32).astype(float)
    else:
        size = np.abs(places).view(np.float64)
    return np.asarray(np.copysign(size, places))
