"""The model file as the checker reads it: JSON into plain Python numbers."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bdnn import limits
from bdnn.checker.files import parse_json, read_bytes
from bdnn.checker.levels import STEP, limits_complaint, parse_activation
from bdnn.checker.statements import key_of
from bdnn.errors import ModelFileError

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
class Classifier:
    """All that decides a prediction.

    Attributes
    ----------
    layers : list of Layer
    ties : {"score", "first"}
    scale_kind : str or None
        None for inputs that are taken as they are.
    shift, factor : list of float
    step : float
        Grid of the scaled inputs, a power of two; 0 if they are not rounded.
    """

    layers: list[Layer]
    ties: str
    scale_kind: str | None
    shift: list[float]
    factor: list[float]
    step: float

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return len(self.shift)


@dataclass(frozen=True)
class CheckedModel(Classifier):
    """What the checker needs of a model file.

    Attributes
    ----------
    threshold_kind : str
    classes : list
    content : dict
        The whole file without its checksum.
    checksum_holds : bool
    """

    threshold_kind: str
    classes: list[Any]
    content: dict[str, Any]
    checksum_holds: bool

    @property
    def hidden(self) -> list[int]:
        """Widths of the hidden layers."""
        return [len(layer.weights) for layer in self.layers[:-1]]

    @property
    def n_steps(self) -> list[int]:
        """Thresholds of the hidden layers, of all units together."""
        return [sum(map(len, layer.limits)) for layer in self.layers[:-1]]

    def part(self, name: str) -> dict[str, Any]:
        """Read a part of the file, an empty one if it is missing."""
        found: dict[str, Any] = self.content.get(name, {})
        return found

    @property
    def data(self) -> dict[str, Any]:
        """What the certificate says of the training data."""
        found: dict[str, Any] = self.part("certificate").get("data", {})
        return found

    @property
    def robust(self) -> dict[str, Any]:
        """What balls the training was for; empty without any, or in settings of older files."""
        settings = self.part("settings")
        if settings.get("robust_radius") is not None:
            return {key: settings.get(f"robust_{key}") for key in ("radius", "norm", "loss")}
        found = self.part("certificate").get("robust", {})
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
        content = parse_json(read_bytes(path, limits.MODEL_BYTES))
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
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error.strerror}): check the path."
        ) from error
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError) as error:
        raise ModelFileError(
            f"{path} cannot be checked ({_first_line(error)}): give a file written by 'bdnn train'."
        ) from error


def _model(content: dict[str, Any]) -> CheckedModel:
    shape, scaler = content["architecture"], content["scaler"]
    widths = [shape["n_features"], *shape["hidden"], shape["n_outputs"]]
    _require(all(type(width) is int and width > 0 for width in widths), "a width is no number")
    _require(
        len(widths) - 1 <= limits.LAYERS
        and max(widths) <= limits.WIDTH
        and widths[-1] <= limits.CLASSES
        and sum(a * b for a, b in pairwise(widths)) <= limits.WEIGHTS,
        "the network is larger than a network may be",
    )
    _require(shape["ties"] in ("score", "first"), "unknown rule for ties")
    _require(shape["thresholds"] in ("neuron", "layer", "zero"), "unknown kind of thresholds")
    _require(shape.get("output", "step") == "step", "the outputs are no steps")
    layers = _layers(content, shape, widths)
    _check_scaler(scaler, widths[0])
    for name in ("settings", "result", "extra", "certificate"):
        _require(isinstance(content.get(name, {}), dict), f"its part {name!r} is no object")
    certificate = content.get("certificate", {})
    _require(isinstance(certificate.get("data", {}), dict), "the certificate makes no sense")
    promises = certificate.get("promises", [])
    _require(
        isinstance(promises, list) and all(isinstance(promise, dict) for promise in promises),
        "the promises are no list of objects",
    )
    _require(len(promises) <= limits.PROMISES, "it promises more than can be checked")
    classes = content["classes"]
    _require(isinstance(classes, list) and len(classes) == widths[-1], "wrong number of classes")
    _require(len(set(map(key_of, classes))) == len(classes), "two classes are the same")
    names = content.get("feature_names")
    _require(
        names is None
        or (
            isinstance(names, list)
            and len(names) == widths[0]
            and all(isinstance(name, str) for name in names)
        ),
        "the feature names do not fit the features",
    )
    checksum = content.pop("checksum", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return CheckedModel(
        layers,
        shape["ties"],
        scaler["kind"],
        [float(v) for v in scaler["shift"]],
        [float(v) for v in scaler["factor"]],
        float(scaler["step"]),
        shape["thresholds"],
        classes,
        content,
        checksum == hashlib.sha256(text.encode()).hexdigest(),
    )


def _layers(content: dict[str, Any], shape: dict[str, Any], widths: list[int]) -> list[Layer]:
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
        lines = content["thresholds"][k]
        if len(values) == 2:
            lines = [[t] for t in _numbers(lines, widths[k + 1])]
        _require(len(lines) == widths[k + 1], f"layer {k + 1} has other thresholds")
        lines = [_numbers(line, len(values) - 1) for line in lines]
        _require(type(kind) is str, "a weight set has no name")
        layers.append(Layer(weights, lines, kind, values, fixed))
    return layers


def _check_scaler(scaler: dict[str, Any], n_features: int) -> None:
    _require(scaler["kind"] in ("standard", "common", "minmax", None), "unknown scaler")
    _numbers(scaler["shift"], n_features)
    factor = _numbers(scaler["factor"], n_features)
    _require(all(v > 0 for v in factor), "the scaler turns a feature round")
    (step,) = _numbers([scaler["step"]], 1)
    is_power = 2.0**-60 <= step <= 1.0 and math.frexp(step)[0] == 0.5
    _require(step == 0 or is_power, "the scaler's step is no power of two")
    is_plain = step == 0 and not any(scaler["shift"]) and all(v == 1 for v in factor)
    _require(is_plain or scaler["kind"] is not None, "inputs as they are have a scale")


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
        _require(type(value) in (int, float), "an array holds something else than numbers")
    found: list[Number] = values  # JSON numbers are finite
    return found


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
