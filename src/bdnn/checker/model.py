"""The model file as the checker reads it: JSON into plain Python numbers."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bdnn import limits
from bdnn.checker.claims import key_of
from bdnn.checker.encoder import Encoder, parse_encoder
from bdnn.checker.files import parse_json, read_bytes
from bdnn.checker.layers import Layer, Number, parse_activation
from bdnn.checker.upgrade import upgrade
from bdnn.errors import ModelFileError


@dataclass(frozen=True)
class Classifier:
    """All that decides a prediction."""

    layers: list[Layer]
    ties: str
    encoder: Encoder  # from codes of raw columns to inputs

    @property
    def n_features(self) -> int:
        """Number of raw columns."""
        return len(self.encoder.columns)


@dataclass(frozen=True)
class CheckedModel(Classifier):
    """What the checker needs of a model file."""

    threshold_kind: str
    classes: list[Any]
    content: dict[str, Any]  # the parts of the file, as the newest version has them
    checksum_holds: bool

    @property
    def names(self) -> list[str] | None:
        """Names of what the file describes, None where the columns have none."""
        encoder = self.encoder
        return encoder.names([c.name for c in encoder.columns]) if encoder.header else None

    @property
    def hidden(self) -> list[int]:
        """Widths of the hidden layers."""
        return [len(layer.weights) for layer in self.layers[:-1]]

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
        """What balls the training was for; empty without any."""
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
        if type(content.get("version")) is not int or content["version"] not in (1, 2, 3):
            raise ValueError("it is of another version")
        if content.get("kind") == "regressor":
            raise ModelFileError(
                f"{path} holds a regressor and the checker is for classifiers: nothing was checked."
            )
        checksum = content.pop("checksum", None)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        holds = checksum == hashlib.sha256(text.encode()).hexdigest()
        return _model(upgrade(content), checksum_holds=holds)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error.strerror}): check the path."
        ) from error
    except (ValueError, LookupError, TypeError, OverflowError, AttributeError) as error:
        raise ModelFileError(
            f"{path} cannot be checked ({_first_line(error)}): give a file written by 'bdnn train'."
        ) from error


def _model(content: dict[str, Any], *, checksum_holds: bool) -> CheckedModel:
    network, outputs = content["network"], content["outputs"]
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
    encoder = parse_encoder(content["encoder"])
    classes = outputs["classes"]
    _require(network["ties"] in ("score", "first"), "unknown rule for ties")
    _require(network["thresholds"] in ("neuron", "layer", "zero"), "unknown kind of thresholds")
    _require(network["output"] == "step", "the outputs are no steps")
    layers = _layers(network, encoder.n_inputs)
    _require(
        isinstance(classes, list) and len(classes) == len(layers[-1].weights),
        "wrong number of classes",
    )
    _require(len(set(map(key_of, classes))) == len(classes), "two classes are the same")
    if content.get("calibration") is not None:
        check_calibration(content["calibration"], len(classes))
    return CheckedModel(
        layers,
        network["ties"],
        encoder,
        network["thresholds"],
        classes,
        content,
        checksum_holds,
    )


def check_calibration(content: dict[str, Any], n_classes: int) -> None:
    """Raise a ``ValueError`` unless every table falls and there is one per class."""
    unit, tables = content["unit"], content["tables"]
    makes_sense = (
        set(content) == {"unit", "tables", "rows", "origin"}
        and type(unit) in (int, float)
        and 0 < unit < math.inf
        and math.frexp(unit)[0] == 0.5
        and isinstance(tables, list)
        and len(tables) == n_classes
        and type(content["rows"]) is int
        and isinstance(content["origin"], str)
    )
    if not makes_sense or any(_is_no_table(table, len(tables[0])) for table in tables):
        raise ValueError("the table of probabilities makes no sense")


def _is_no_table(table: Any, length: int) -> bool:
    return not (
        isinstance(table, list)
        and len(table) == length
        and 2 <= length <= limits.CALIBRATION
        and all(type(entry) is int for entry in table)
        and all(a > b for a, b in pairwise(table))
        and table[-1] > 0
        and table[0] < 1 << 16
    )


def _layers(network: dict[str, Any], n_features: int) -> list[Layer]:
    kinds, names, found = network["weights"], network["activations"], network["layers"]
    _require(isinstance(network["hidden"], list), "the widths are no list")
    _require(isinstance(found, list) and len(found) > 0, "there are no layers")
    widths = [n_features, *network["hidden"], len(found[-1]["weights"])]
    _require(all(type(width) is int and width > 0 for width in widths), "a width is no number")
    _require(
        len(widths) - 1 <= limits.LAYERS
        and max(widths) <= limits.WIDTH
        and widths[-1] <= limits.CLASSES
        and sum(a * b for a, b in pairwise(widths)) <= limits.WEIGHTS,
        "the network is larger than a network may be",
    )
    _require(isinstance(kinds, list) and isinstance(names, list), "a list is missing")
    _require(len(kinds) == len(found) == len(widths) - 1, "the number of layers differs")
    _require(len(names) == len(widths) - 2, "wrong activations")
    layers = []
    for k, (kind, name, part) in enumerate(zip(kinds, [*names, "step"], found, strict=True)):
        values, fixed = parse_activation(name)
        weights = [_numbers(row, widths[k]) for row in part["weights"]]
        lines = [_numbers(line, len(values) - 1) for line in part["thresholds"]]
        _require(len(weights) == len(lines) == widths[k + 1], f"layer {k + 1} has another width")
        _require(type(kind) is str, "a weight set has no name")
        layers.append(Layer(weights, lines, kind, values, fixed))
    return layers


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
