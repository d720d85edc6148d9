"""The model file as the checker reads it: JSON into plain Python numbers."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bdnn.checker.levels import STEP, limits_complaint, parse_activation
from bdnn.errors import ModelFileError

_LARGEST_FILE = 64 * 2**20

Number = int | float


@dataclass(frozen=True)
class Layer:
    """Weights of a layer, one line of thresholds per unit, weight set, and values of the units."""

    weights: list[list[Number]]
    limits: list[list[Number]]
    kind: str
    values: tuple[int, ...] = STEP
    fixed: tuple[float, ...] | None = None

    @property
    def is_step(self) -> bool:
        """Whether units are 0 or 1."""
        return self.values == STEP

    @property
    def thresholds(self) -> list[Number]:
        """The first threshold of every unit, the only one of a step."""
        return [line[0] for line in self.limits]


@dataclass(frozen=True)
class CheckedModel:
    """What the checker needs of a model file.

    Attributes
    ----------
    layers : list of Layer
    ties, threshold_kind : str
    scale_kind : str or None
    shift, factor : list of float
    step : float
    classes : list
    content : dict
        The whole file without its checksum.
    checksum_holds : bool
    """

    layers: list[Layer]
    ties: str
    threshold_kind: str
    scale_kind: str | None
    shift: list[float]
    factor: list[float]
    step: float
    classes: list[Any]
    content: dict[str, Any]
    checksum_holds: bool

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return len(self.shift)

    @property
    def hidden(self) -> list[int]:
        """Widths of the hidden layers."""
        return [len(layer.weights) for layer in self.layers[:-1]]

    @property
    def n_steps(self) -> list[int]:
        """Thresholds of the hidden layers, of all units together."""
        return [sum(map(len, layer.limits)) for layer in self.layers[:-1]]

    def part(self, name: str) -> dict[str, Any]:
        """Read a part of the file that is an object; an empty one if it is missing."""
        found = self.content.get(name, {})
        return found if isinstance(found, dict) else {}


def read_model(path: Path) -> CheckedModel:
    """Read a model file.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is no model that could be evaluated. A wrong checksum is no
        error but a false claim.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error.strerror}): check the path."
        ) from error
    if len(data) > _LARGEST_FILE:
        raise ModelFileError(f"{path} is larger than a model file may be: check the path.")
    try:
        content = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_refuse)
        if not isinstance(content, dict) or content.get("format") != "bdnn-model":
            raise ValueError("it is no model file")
        if type(content.get("version")) is not int or content["version"] not in (1, 2):
            raise ValueError("it is of another version")
        if content.get("kind") == "regressor":
            raise ModelFileError(
                f"{path} holds a regressor and the checker is for classifiers: nothing was checked."
            )
        return _model(content)
    except ModelFileError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        RecursionError,
        AttributeError,
    ) as error:
        raise ModelFileError(
            f"{path} cannot be checked ({_first_line(error)}): give a file written by 'bdnn train'."
        ) from error


def _model(content: dict[str, Any]) -> CheckedModel:
    checksum = content.pop("checksum", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    holds = checksum == hashlib.sha256(text.encode()).hexdigest()
    shape, scaler = content["architecture"], content["scaler"]
    widths = [shape["n_features"], *shape["hidden"], shape["n_outputs"]]
    _require(all(type(width) is int and width > 0 for width in widths), "a width is no number")
    kinds = shape["weights"]
    _require(
        len(kinds) == len(content["weights"]) == len(content["thresholds"]) == len(widths) - 1,
        "the number of layers differs",
    )
    names = shape.get("activation", ["step"] * (len(widths) - 2))
    _require(isinstance(names, list) and len(names) == len(widths) - 2, "wrong activations")
    layers = []
    for k, kind in enumerate(kinds):
        values, fixed = parse_activation(names[k] if k < len(names) else "step")
        weights = [_numbers(row, widths[k]) for row in content["weights"][k]]
        _require(len(weights) == widths[k + 1], f"layer {k + 1} has another width")
        limits = content["thresholds"][k]
        if len(values) == 2:
            limits = [[t] for t in _numbers(limits, widths[k + 1])]
        _require(len(limits) == widths[k + 1], f"layer {k + 1} has other thresholds")
        limits = [_numbers(line, len(values) - 1) for line in limits]
        _require(type(kind) is str, "a weight set has no name")
        layers.append(Layer(weights, limits, kind, values, fixed))
    _require(shape["ties"] in ("score", "first"), "unknown rule for ties")
    _require(shape["thresholds"] in ("neuron", "layer", "zero"), "unknown kind of thresholds")
    _require(scaler["kind"] in ("standard", "common", "minmax", None), "unknown scaler")
    (step,) = _numbers([scaler["step"]], 1)
    _require(step >= 0, "the scaler's step is negative")
    factor = [float(v) for v in _numbers(scaler["factor"], widths[0])]
    _require(all(v > 0 for v in factor), "the scaler turns a feature round")
    _require(shape.get("output", "step") == "step", "the outputs are no steps")
    _require(isinstance(content.get("certificate", {}), dict), "the certificate makes no sense")
    classes = content["classes"]
    _require(isinstance(classes, list) and len(classes) == widths[-1], "wrong number of classes")
    return CheckedModel(
        layers,
        shape["ties"],
        shape["thresholds"],
        scaler["kind"],
        [float(v) for v in _numbers(scaler["shift"], widths[0])],
        factor,
        float(step),
        classes,
        content,
        holds,
    )


def set_complaint(layer: Layer, threshold_kind: str) -> str | None:
    """Say what about a layer does not fit its weight set or kind of thresholds."""
    numbers = [w for row in layer.weights for w in row]
    match = re.fullmatch(r"int:([0-9]{1,6})", layer.kind)
    limit = int(match[1]) if match else 1
    if not match and layer.kind not in ("continuous", "ternary", "binary"):
        return f"unknown weight set {layer.kind!r}"
    if any(abs(w) > limit for w in numbers):
        return f"a weight beyond {limit}"
    if layer.kind != "continuous" and any(w != int(w) for w in numbers):
        return "a weight that is no integer"
    if layer.kind == "binary" and 0 in numbers:
        return "a weight 0 in a binary layer"
    if not layer.is_step or layer.fixed is not None:
        return limits_complaint(layer.limits, layer.values, layer.fixed, threshold_kind)
    if threshold_kind == "zero" and any(layer.thresholds):
        return "a threshold that is not 0"
    if threshold_kind == "layer" and len(set(layer.thresholds)) > 1:
        return "thresholds that differ within a layer"
    return None


def _numbers(values: Any, length: int) -> list[Number]:
    _require(isinstance(values, list) and len(values) == length, "an array has another length")
    for value in values:
        _require(type(value) in (int, float) and math.isfinite(value), "no finite number")
    return list(values)


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    _require(len(content) == len(pairs), "a key stands twice in one object")
    return content


def _refuse(name: str) -> float:
    raise ValueError(f"it holds {name}, which is no number")


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
