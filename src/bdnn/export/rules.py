"""A small network as readable rules over scaled features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bdnn.model import Model, TargetScaler
from bdnn.network.activation import Activation, FloatArray
from bdnn.network.network import Network

# Rules for more than this many weights are no easier to read than the numbers.
MOST_WEIGHTS = 60


def is_small(network: Network) -> bool:
    """Whether a network has few enough weights for rules."""
    return sum(int(np.count_nonzero(W)) for W in network.weights) <= MOST_WEIGHTS


def to_rules(model: Model) -> str:
    """Write a network as rules, one per unit."""
    shape = model.network.architecture
    names: Sequence[str] = model.encoder.input_names
    scaler = model.encoder
    lines = []
    if scaler.step:
        lines.append("z(feature) is the scaled feature, (value - shift) * factor:")
        weights = model.network.weights[0][:, : scaler.n_numbers]
        used = np.flatnonzero(weights.any(axis=0)).tolist()
        lines += [
            f"  z({names[j]}) = ({names[j]} - {scaler.shift[j]:.6g}) * {scaler.factor[j]:.6g}"
            for j in used
        ]
        scaled = [f"z({name})" for name in names[: scaler.n_numbers]]
        names = [*scaled, *names[scaler.n_numbers :]]
    for k, (W, t) in enumerate(
        zip(model.network.weights, model.network.thresholds, strict=True), start=1
    ):
        is_last = k == shape.n_layers
        if is_last and model.targets is not None:
            lines += _numbers(model.targets, W, t[:, 0], names)
            return "\n".join(lines)
        units = (
            [f"class {label}" for label in model.classes]
            if is_last
            else [_unit(k, i, shape.n_layers) for i in range(len(W))]
        )
        rule = shape.activation_of(k - 1)
        lines += [
            f"{unit} if {_sum(row, names)} >= {limits[0]:.10g}"
            if rule.is_step
            else f"{unit} = {_values(rule, limits)}, of {_sum(row, names)}"
            for unit, row, limits in zip(units, W, t, strict=True)
        ]
        names = units
    if shape.ties == "score":
        lines.append("several or no class: the one whose sum is farthest above its threshold")
    else:
        lines.append("several classes: the first one; none: the first of all")
    return "\n".join(lines)


def _numbers(
    targets: TargetScaler, W: FloatArray, t: FloatArray, names: Sequence[str]
) -> list[str]:
    """Identity outputs in units of the targets."""
    return [
        f"{'value' if len(W) == 1 else f'value {place}'} = {bias:.6g} + ({_sum(row, names)})"
        for place, (bias, row) in enumerate(
            zip(targets.inverse(-t), W * targets.factor[:, None], strict=True), start=1
        )
    ]


def _unit(layer: int, place: int, n_layers: int) -> str:
    """Name a hidden unit; with one hidden layer a letter less."""
    return f"h{place + 1}" if n_layers == 2 else f"h{layer}.{place + 1}"


def _values(rule: Activation, limits: FloatArray) -> str:
    """What a unit of several values is, and from which sum on."""
    starts = [
        f"{value} from {limit:.10g}"
        for value, limit in zip(rule.values[1:], limits.tolist(), strict=True)
    ]
    return ", ".join([f"{rule.values[0]} below", *starts])


def _sum(row: FloatArray, names: Sequence[str]) -> str:
    text = ""
    for w, name in zip(row.tolist(), names, strict=True):
        if w:
            factor = "" if abs(w) == 1 else f"{abs(w):.6g} "
            text += f" {'-' if w < 0 else '+'} {factor}{name}"
    return text.removeprefix(" + ").strip() or "0"
