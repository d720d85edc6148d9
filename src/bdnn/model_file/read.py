"""Models from files, checked: a file is exactly what was written, or refused in one sentence."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from bdnn import limits
from bdnn.checker.encoder import parse_encoder
from bdnn.checker.files import parse_json, read_bytes
from bdnn.checker.model import check_calibration
from bdnn.checker.upgrade import upgrade
from bdnn.encoding.columns import Bit, Column, Number
from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelFileError
from bdnn.model import Calibration, Model, TargetScaler
from bdnn.model_file.data import (
    FORMAT,
    VERSION,
    ModelRecord,
    SeenRows,
    check_widths,
    checksum,
    decode,
)
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
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise ModelFileError(
            f"{name} holds a model that makes no sense ({error}): train or copy it again."
        ) from error
    if record is None:
        raise ModelFileError(f"{name} was changed after it was written: train or copy it again.")
    return record


def _record(data: dict[str, Any]) -> ModelRecord:
    encoder = _read_encoder(data["encoder"])
    network = _read_network(data["network"], encoder.n_inputs)
    shape, outputs = network.architecture, data["outputs"]
    classes = outputs["classes"]
    _require(
        isinstance(classes, list)
        and len(set(map(repr, classes))) == len(classes)
        and all(type(label) in (str, int, float, bool) for label in classes),
        "the classes are no distinct labels",
    )
    targets = _read_targets(outputs["targets"], shape)
    _require(
        len(classes) == (shape.n_outputs if targets is None else 0),
        "there is not one class per output",
    )
    for key in ("settings", "result", "extra"):
        _require(isinstance(data[key], dict), f"{key} is no object")
    n_ranges = encoder.n_columns if "bits" in data["encoder"] else encoder.n_numbers
    certificate = _check_certificate(data.get("certificate", {}), n_ranges)
    calibration = _read_calibration(data.get("calibration"), len(classes))
    model = Model(encoder, network, tuple(classes), targets, calibration)
    _require(data["kind"] == model.kind, f"it is of kind {data['kind']!r}")
    return ModelRecord(
        model,
        decode(data["settings"]),
        decode(_flat(data["result"])),
        decode(data["extra"]),
        decode(certificate),
    )


def _read_calibration(data: dict[str, Any] | None, n_classes: int) -> Calibration | None:
    if data is None:
        return None
    check_calibration(data, n_classes)
    tables = tuple(map(tuple, data["tables"]))
    return Calibration(float(data["unit"]), tables, data["rows"], data["origin"])


def _read_encoder(data: dict[str, Any]) -> Encoder:
    parse_encoder(data)  # refuses what makes no sense
    columns = tuple(
        Column(
            column["name"],
            column["kind"],
            tuple(column["values"]),
            column["fill"],
            column.get("missing", "error" if column["fill"] is None else "fill"),
            float(column.get("factor", 1.0)),
        )
        for column in data["columns"]
    )
    numbers = tuple(
        Number(part["column"], part["value"], float(part["shift"]), float(part["factor"]))
        for part in data["numbers"]
    )
    bits = tuple(
        Bit(part["column"], part["kind"], part["value"])
        if part["kind"] != "ge"
        else Bit(part["column"], "ge", float(part["value"]))
        for part in data.get("bits", ())
    )
    return Encoder(
        columns,
        numbers,
        bits,
        step=float(data["step"]),
        scale=data["scale"],
        header=data["header"],
        unknown=data.get("unknown", "error"),
    )


def _read_network(data: dict[str, Any], n_features: int) -> Network:
    shape = dict(data)
    layers, hidden = shape.pop("layers"), shape["hidden"]
    _require(isinstance(hidden, list), "hidden is no list")
    _require(isinstance(layers, list) and len(layers) == len(hidden) + 1, "wrong layers")
    n_outputs = len(layers[-1]["weights"])
    check_widths([n_features, *hidden, n_outputs])
    architecture = Architecture.create(
        n_features, n_outputs, activation=shape.pop("activations"), **shape
    )
    thresholds = tuple(_numbers(layer["thresholds"]) for layer in layers)
    _require(all(t.ndim == 2 for t in thresholds), "a layer has not one line of thresholds a unit")
    return Network(architecture, tuple(_numbers(layer["weights"]) for layer in layers), thresholds)


def _flat(result: dict[str, Any]) -> dict[str, Any]:
    """The training result with what is said of the bound beside it; inverse of the writer."""
    found = dict(result)
    if "bound" in found:
        bound = dict(found["bound"])
        found |= {"bound": bound["value"], "bound_origin": bound["origin"]}
        optional = {key: bound[key] for key in ("condition", "certificate")}
        found |= {key: value for key, value in optional.items() if value is not None}
    return found


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
    if "seen" in certificate:
        SeenRows.from_dict(certificate["seen"])
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
