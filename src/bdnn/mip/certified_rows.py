"""Variables and rows that the layers of certified training share."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.program import IndexArray, Program, interleave


def add_weights(
    program: Program, name: str, shape: tuple[int, int], weights: WeightSet
) -> tuple[IndexArray, IndexArray | None]:
    """Weights of a set, and where 0 is none of them what chooses between -1 and 1."""
    limit = float(weights.limit)
    W = program.add_variables(name, shape, lower=-limit, upper=limit, integer=weights.integer)
    if weights.zero:
        return W, None
    v = program.add_variables(f"{name}_sign", shape, integer=True)
    program.add_rows(
        f"binary_{name}", np.stack([W, v], axis=-1), [1.0, -2.0], lower=-1.0, upper=-1.0
    )
    return W, v


def add_thresholds(
    program: Program, name: str, shape: Architecture, count: int, span: float, *, integer: bool
) -> IndexArray | None:
    """Thresholds per unit or shared; None where there are none."""
    if shape.thresholds == "zero":
        return None
    size = (count,) if shape.thresholds == "neuron" else (1,)
    columns = program.add_variables(name, size, lower=-span, upper=span, integer=integer)
    return np.broadcast_to(columns, (count,))


def add_least(
    program: Program,
    name: str,
    product: IndexArray,
    factor: list[tuple[IndexArray, float]],
    on: IndexArray,
    possible: IndexArray,
    K: float,
) -> None:
    """Rows that hold a product to the least of a sum of weights times an uncertain state."""
    program.add_rows(f"least_on{name}", np.stack([product, on], axis=-1), [1.0, -K], upper=0.0)
    columns = np.stack([product, *(part for part, _ in factor), possible], axis=-1)
    values = [1.0, *(-sign for _, sign in factor), K]
    program.add_rows(f"least_off{name}", columns, values, upper=K)


def clean(W: FloatArray, weights: WeightSet) -> FloatArray:
    """Weights of a solution without what tolerances leave."""
    W = np.rint(W) if weights.integer else np.where(np.abs(W) < 1e-9, 0.0, W)
    return np.asarray(np.clip(W, -weights.limit, weights.limit))


def read_thresholds(
    x: FloatArray, t: IndexArray | None, count: int, margin: float, *, exact: bool
) -> FloatArray:
    """Thresholds in the middle of the margin."""
    if t is None:
        return np.zeros(count)
    return np.asarray((np.rint(x[t]) if exact else x[t]) - 0.5 * margin)


def lift_thresholds(
    x: FloatArray, columns: IndexArray | None, t: FloatArray, margin: float, *, exact: bool
) -> FloatArray:
    """The lowest thresholds that switch the same sums, up to half a margin."""
    if columns is None:
        return np.zeros(len(t))
    levels = np.ceil(t) if exact else t + 0.5 * margin
    x[columns] = levels
    return np.asarray(levels)


def lift_states(
    x: FloatArray,
    columns: tuple[IndexArray, IndexArray],
    lower: FloatArray,
    upper: FloatArray,
    t: FloatArray,
    margin: float,
) -> tuple[BoolArray, BoolArray]:
    """Fill in what bounds of sums say of units: surely on, and possibly on."""
    tolerance = 1e-9 * (1.0 + np.abs(t))
    on = lower >= t - tolerance
    possible = (upper > t - margin + tolerance) | on
    x[columns[0]], x[columns[1]] = on, possible
    return on, possible


def add_states(
    program: Program, name: str, shape: tuple[int, int]
) -> tuple[IndexArray, IndexArray]:
    """Whether units are surely on, and whether they are possibly on."""
    on, possible = (
        program.add_variables(f"{way}{name}", shape, integer=True) for way in ("a", "b")
    )
    return on, possible


def add_dual_norms(
    program: Program, p: IndexArray, q: IndexArray, norm: str, limit: float
) -> IndexArray:
    """What a perturbation of length 1 changes a sum by at most, or more."""
    units, n_features = p.shape
    most = limit if norm == "l1" else limit * np.sqrt(2.0 * n_features)
    n = program.add_variables("n", (units,), upper=most)
    if norm == "l1":
        columns = np.stack([np.broadcast_to(n[:, None], p.shape), p, q], axis=-1)
        program.add_rows("norm", columns, [1.0, -1.0, -1.0], lower=0.0)
    else:
        program.add_cones("norm", np.concatenate([p, q], axis=1), n)
    return n


def add_switches(
    program: Program,
    name: str,
    weights: IndexArray,
    least: list[FloatArray],
    largest: list[FloatArray],
    t: IndexArray | None,
    states: tuple[IndexArray, IndexArray],
    M: FloatArray,
    margin: float,
) -> None:
    """Rows that let a unit be surely on, or off, only if its least or largest sum says so."""
    for way, values, state in (("on", least, states[0]), ("off", largest, states[1])):
        columns = [np.broadcast_to(weights, (*state.shape, weights.shape[-1])), state[..., None]]
        row = np.concatenate(values, axis=1)[:, None, :]
        shape = (*state.shape, 1)
        parts = [
            np.broadcast_to(row, (*state.shape, row.shape[-1])),
            np.broadcast_to(-M[..., None], shape),
        ]
        if t is not None:
            columns.append(np.broadcast_to(t[None, :, None], shape))
            parts.append(np.full(shape, -1.0))
        side = {"lower": -M} if way == "on" else {"upper": -margin}
        program.add_rows(
            f"{name}_{way}", interleave(*columns), np.concatenate(parts, axis=-1), **side
        )
    on, possible = states
    program.add_rows(f"{name}_order", np.stack([possible, on], axis=-1), [1.0, -1.0], lower=0.0)
