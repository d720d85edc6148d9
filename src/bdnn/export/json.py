"""The model file: one JSON object that holds all a fitted model is, and nothing that can run.

Numbers are written by Python's shortest exact notation, so that reading gives the same bits. A
checksum over the content makes an accidental or careless edit visible; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bdnn.activation import FloatArray
from bdnn.architecture import Architecture
from bdnn.errors import ModelError, ModelFileError, UnsupportedFeatureError
from bdnn.network import Network
from bdnn.scaling import ScaleKind, Scaler, TargetScaler

FORMAT = "bdnn-model"
VERSION = 2
LARGEST_FILE = 64 * 2**20

Label = str | int | float | bool


@dataclass(frozen=True)
class ModelRecord:
    """What a model file holds.

    Parameters
    ----------
    kind : str
        Which estimator it belongs to, for example ``"classifier"``.
    network : Network
    scaler : Scaler
    classes : tuple of str, int, float or bool
        Labels in the order of the outputs.
    feature_names : tuple of str or None
    settings : dict
        The estimator's parameters at training time.
    result : dict
        The training result as plain data.
    extra : dict
        Whatever else the writer wants back, as plain data.
    certificate : dict
        What ``bdnn check`` needs beside the result: ``data`` (the training data's hash and ranges)
        and ``promises``. Empty in files written without it.
    targets : TargetScaler or None
        What the values of identity outputs stand for; only regressors have it.
    """

    kind: str
    network: Network
    scaler: Scaler
    classes: tuple[Label, ...]
    feature_names: tuple[str, ...] | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)
    targets: TargetScaler | None = None


def require_classifier(record: ModelRecord, what: str) -> None:
    """Raise an error for a regressor, whose outputs are no classes."""
    if record.network.architecture.output != "step":
        raise UnsupportedFeatureError(
            f"{what} is for classifiers, got a regressor: write it to a model file or as rules."
        )


def write_model(record: ModelRecord, path: str | os.PathLike[str]) -> None:
    """Write a model file; the old one stays until the new one is complete."""
    target = Path(path)
    text = dumps(record)
    if target.exists() and not target.is_file():
        # A device or a pipe is written to; a new file in its place would take it from all others.
        target.write_text(text, encoding="utf-8")
        return
    # Not `tempfile`: its files are closed to other users, a model file is as open as any other.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def dumps(record: ModelRecord) -> str:
    """Text of a model file."""
    network, shape = record.network, record.network.architecture
    content = {
        "format": FORMAT,
        # Readers of the first version know steps only, and those they go on reading.
        "version": VERSION if shape.activations or shape.output != "step" else 1,
        "kind": record.kind,
        "architecture": {
            "n_features": shape.n_features,
            "hidden": list(shape.hidden),
            "n_outputs": shape.n_outputs,
            "weights": [weights.name for weights in shape.weights],
            "thresholds": shape.thresholds,
            "ties": shape.ties,
            **_activations(shape),
            **({} if shape.output == "step" else {"output": shape.output}),
        },
        "weights": [
            W.astype(int).tolist() if kind.integer else W.tolist()
            for W, kind in zip(network.weights, shape.weights, strict=True)
        ],
        "thresholds": [t.tolist() for t in network.thresholds],
        "scaler": {
            "kind": record.scaler.kind,
            "shift": record.scaler.shift.tolist(),
            "factor": record.scaler.factor.tolist(),
            "step": record.scaler.step,
        },
        **({} if record.targets is None else {"targets": _encode_targets(record.targets)}),
        "classes": list(record.classes),
        "feature_names": None if record.feature_names is None else list(record.feature_names),
        "settings": _encode(record.settings),
        "result": _encode(record.result),
        "extra": _encode(record.extra),
        **({"certificate": _encode(record.certificate)} if record.certificate else {}),
    }
    try:
        content["checksum"] = _checksum(content)
        return json.dumps(content, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"this model cannot be written to a model file ({error}): use labels, names and extra "
            "data that are plain text and finite numbers."
        ) from error


def read_model(path: str | os.PathLike[str]) -> ModelRecord:
    """Read and check a model file.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is not exactly what :func:`write_model` wrote.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            # A device calls its size 0 and has no end, so no more is read than is allowed.
            content = stream.read(LARGEST_FILE + 1)
            size = max(len(content), file.stat().st_size)
        if size > LARGEST_FILE:
            raise ModelFileError(
                f"{file} has {size} bytes, more than the {LARGEST_FILE} a model file may have: "
                "check that it is a model."
            )
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"{file} is not a model file: it is not text; give a file written by 'bdnn train'."
        ) from error
    except OSError as error:
        raise ModelFileError(
            f"{file} cannot be read ({error.strerror}): check the path."
        ) from error
    return loads(text, name=str(file))


def loads(text: str, *, name: str = "the model file") -> ModelRecord:
    """Parse and check the text of a model file."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{name} is damaged or not a model file ({error}): give a file written by 'bdnn train'."
        ) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelFileError(f"{name} is not a model file: give a file written by 'bdnn train'.")
    if type(data.get("version")) is not int or not 1 <= data["version"] <= VERSION:
        raise ModelFileError(
            f"{name} has version {data.get('version')!r} of the model format, this package reads "
            f"versions 1 to {VERSION}: train again or install the package that wrote it."
        )
    checksum = data.pop("checksum", None)
    try:
        unchanged = checksum == _checksum(data)
        record = _record(data) if unchanged else None
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ModelFileError(
            f"{name} holds a model that makes no sense ({error}): train or copy it again."
        ) from error
    if record is None:
        raise ModelFileError(f"{name} was changed after it was written: train or copy it again.")
    return record


def _record(data: dict[str, Any]) -> ModelRecord:
    shape = dict(data["architecture"])
    for key in ("n_features", "n_outputs"):
        _require(type(shape[key]) is int, f"{key} is no integer")
    newer = {"activation", "output"} & set(shape)
    _require(not newer or data["version"] >= 2, "steps only before version 2")
    architecture = Architecture.create(shape.pop("n_features"), shape.pop("n_outputs"), **shape)
    network = Network(
        architecture,
        tuple(_numbers(W) for W in data["weights"]),
        tuple(_numbers(t) for t in data["thresholds"]),
    )
    scale = data["scaler"]
    _require(type(scale["step"]) in (int, float), "the scaler's step is no number")
    scaler = Scaler(
        scale["kind"], _numbers(scale["shift"]), _numbers(scale["factor"]), float(scale["step"])
    )
    _require(scaler.kind in (*get_args(ScaleKind), None), "unknown scaler")
    _require(
        scaler.shift.shape == scaler.factor.shape == (architecture.n_features,)
        and math.isfinite(scaler.step)
        and scaler.step >= 0
        and bool((scaler.factor > 0).all()),
        "the scaler does not fit the features",
    )
    classes, names = data["classes"], data["feature_names"]
    _require(
        isinstance(classes, list)
        and len(set(map(repr, classes))) == len(classes)
        and all(type(label) in (str, int, float, bool) for label in classes),
        "the classes are no distinct labels",
    )
    _require(
        names is None
        or (
            isinstance(names, list)
            and len(names) == architecture.n_features
            and all(type(name) is str for name in names)
        ),
        "the feature names do not fit the features",
    )
    _require(type(data["kind"]) is str, "unknown kind")
    for key in ("settings", "result", "extra"):
        _require(isinstance(data[key], dict), f"{key} is no object")
    certificate = _check_certificate(data.get("certificate", {}), architecture.n_features)
    return ModelRecord(
        data["kind"],
        network,
        scaler,
        tuple(classes),
        None if names is None else tuple(names),
        _decode(data["settings"]),
        _decode(data["result"]),
        _decode(data["extra"]),
        _decode(certificate),
        _decode_targets(data.get("targets"), architecture),
    )


def _activations(shape: Architecture) -> dict[str, Any]:
    """What the hidden layers do, where they are no steps."""
    return {"activation": [rule.name for rule in shape.activations]} if shape.activations else {}


def _encode_targets(scaler: TargetScaler) -> dict[str, Any]:
    return {key: getattr(scaler, key).tolist() for key in ("shift", "factor", "unit")}


def _decode_targets(data: Any, architecture: Architecture) -> TargetScaler | None:
    """Read what outputs stand for, which identity outputs need and no others have."""
    _require((data is None) == (architecture.output == "step"), "the outputs have no meaning")
    if data is None:
        return None
    scaler = TargetScaler(*(_numbers(data[key]) for key in ("shift", "factor", "unit")))
    for values in (scaler.shift, scaler.factor, scaler.unit):
        _require(values.shape == (architecture.n_outputs,), "the targets do not fit the outputs")
    _require(bool((scaler.unit > 0).all()), "a unit of the targets is not positive")
    return scaler


def _check_certificate(certificate: Any, n_features: int) -> Any:
    """Refuse a certificate that exporters and the checker would stumble over."""
    _require(isinstance(certificate, dict), "the certificate is no object")
    data = certificate.get("data", {})
    _require(isinstance(data, dict), "the certificate's data are no object")
    for key in ("low", "high", "per_unit"):
        values = data.get(key, [0.0] * n_features)
        _require(isinstance(values, list) and len(values) == n_features, f"{key} does not fit")
        for value in values:
            is_unit = type(value) is int and 0 < value <= 10**9
            is_number = type(value) in (int, float) and math.isfinite(value)
            _require(
                is_number
                if key != "per_unit" or "per_unit" not in data
                else value is None or is_unit,
                f"the certificate's {key} is no number",
            )
    promises = certificate.get("promises", [])
    _require(
        isinstance(promises, list) and all(isinstance(promise, dict) for promise in promises),
        "the promises are no list of objects",
    )
    return certificate


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def _numbers(values: Any) -> FloatArray:
    try:
        array = np.array(values)
    except ValueError as error:
        raise ValueError("an array has lines of different lengths") from error
    _require(
        array.dtype.kind in "if" or array.size == 0, "an array holds something else than numbers"
    )
    array = array.astype(float)
    _require(bool(np.isfinite(array).all()), "an array holds a number that is not finite")
    return array


def _encode(value: Any) -> Any:
    """Plain data with infinite numbers as ``{"float": "inf"}``, which JSON has no notation for."""
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"} and value["float"] in ("inf", "-inf", "nan"):
            return float(value["float"])
        return {key: _decode(item) for key, item in value.items()}
    return [_decode(item) for item in value] if isinstance(value, list) else value


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it holds {name}, which is no number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return data
