"""Models from files, checked: a file is exactly what was written, or refused in one sentence."""

from __future__ import annotations

import math
import os
from typing import Any, get_args

import numpy as np

from bdnn import limits
from bdnn.checker.files import parse_json, read_bytes
from bdnn.encoding.scaling import ScaleKind, Scaler
from bdnn.errors import ModelFileError
from bdnn.model import Model, TargetScaler
from bdnn.model_file.content import FORMAT, VERSION, check_widths, checksum, decode
from bdnn.model_file.record import ModelRecord
from bdnn.model_file.upgrade import upgrade
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network


def read_model(path: str | os.PathLike[str]) -> ModelRecord:
    """Read and check a model file.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is not exactly what :func:`write_model` wrote.
    """
    try:
        return _parse(read_bytes(path, limits.MODEL_BYTES), os.fspath(path))
    except OSError as error:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be read ({error.strerror}): check the path."
        ) from error


def loads(text: str, *, name: str = "the model file") -> ModelRecord:
    """Parse and check the text of a model file."""
    return _parse(text.encode(errors="surrogatepass"), name)


def _parse(content: bytes, name: str) -> ModelRecord:
    try:
        data = parse_json(content)
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"{name} is not a model file: it is not text; give a file written by 'bdnn train'."
        ) from error
    except ValueError as error:
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
    written = data.pop("checksum", None)
    try:
        unchanged = written == checksum(data)
        record = _record(upgrade(data)) if unchanged else None
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
    _require(isinstance(shape["hidden"], list), "hidden is no list")
    check_widths([shape["n_features"], *shape["hidden"], shape["n_outputs"]])
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
        and _is_step(scaler.step)
        and bool((scaler.factor > 0).all()),
        "the scaler does not fit the features",
    )
    is_plain = not scaler.step and not scaler.shift.any() and bool((scaler.factor == 1).all())
    _require(is_plain or scaler.kind is not None, "inputs as they are have a scale")
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
    for key in ("settings", "result", "extra"):
        _require(isinstance(data[key], dict), f"{key} is no object")
    certificate = _check_certificate(data.get("certificate", {}), architecture.n_features)
    model = Model(
        scaler,
        network,
        tuple(classes),
        _read_targets(data.get("targets"), architecture),
        None if names is None else tuple(names),
    )
    _require(data["kind"] == model.kind, f"it is of kind {data['kind']!r}")
    _require(
        len(classes) == (architecture.n_outputs if model.targets is None else 0),
        "there is not one class per output",
    )
    return ModelRecord(
        model,
        decode(data["settings"]),
        decode(data["result"]),
        decode(data["extra"]),
        decode(certificate),
    )


def _is_step(step: float) -> bool:
    """Tell whether a scaler's step is 0 or a power of two on which sums are exact."""
    return step == 0 or (2.0**-60 <= step <= 1.0 and math.frexp(step)[0] == 0.5)


def _read_targets(data: Any, architecture: Architecture) -> TargetScaler | None:
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
    # Of anything else numpy might make an array of texts, as large as the longest one.
    lines = values if isinstance(values, list) else [values]
    for line in lines:
        for value in line if isinstance(line, list) else [line]:
            _require(type(value) in (int, float), "an array holds something else than numbers")
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
