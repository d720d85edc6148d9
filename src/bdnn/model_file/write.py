"""Models to files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bdnn.checker.files import check_content, check_size
from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.files import write_whole
from bdnn.model import TargetScaler
from bdnn.model_file.data import (
    FORMAT,
    VERSION,
    ModelRecord,
    check_widths,
    checksum,
    encode,
)
from bdnn.network.network import Network


def write_model(record: ModelRecord, path: str | os.PathLike[str]) -> None:
    """Write a model file; the old one stays until the new one is complete."""
    write_whole(Path(path), dumps(record))


def dumps(record: ModelRecord) -> str:
    """Text of a model file."""
    model = record.model
    content = {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "encoder": encode(encoder_content(model.encoder)),
        "network": _network(model.network),
        "outputs": {"classes": list(model.classes), "targets": _targets(model.targets)},
        **({"calibration": asdict(model.calibration)} if model.calibration else {}),
        "settings": encode(record.settings),
        "result": encode(_result(record.result)),
        "extra": encode(record.extra),
        **({"certificate": encode(record.certificate)} if record.certificate else {}),
    }
    try:
        check_content(content)
        check_widths(model.network.architecture.widths)
        content["checksum"] = checksum(content)
        text = json.dumps(content, indent=1, allow_nan=False) + "\n"
        check_size(text, len(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"this model cannot be written to a model file ({error}): use labels, names and extra "
            "data that are plain text and finite numbers, and networks of ordinary size."
        ) from error
    return text


def encoder_content(encoder: Encoder) -> dict[str, Any]:
    """The encoder as plain data."""
    return {
        "scale": encoder.scale,
        "step": encoder.step,
        "header": encoder.header,
        "unknown": encoder.unknown,
        "columns": [asdict(column) for column in encoder.columns],
        "numbers": [asdict(number) for number in encoder.numbers],
        "bits": [asdict(bit) for bit in encoder.bits],
    }


def _network(network: Network) -> dict[str, Any]:
    shape = network.architecture
    return {
        "hidden": list(shape.hidden),
        "weights": [weights.name for weights in shape.weights],
        "thresholds": shape.thresholds,
        "ties": shape.ties,
        "activations": [rule.name for rule in shape.activations],
        "output": shape.output,
        "layers": [
            {
                "weights": W.astype(int).tolist() if kind.integer else W.tolist(),
                "thresholds": t.tolist(),
            }
            for W, t, kind in zip(network.weights, network.thresholds, shape.weights, strict=True)
        ],
    }


def _targets(scaler: TargetScaler | None) -> dict[str, Any] | None:
    if scaler is None:
        return None
    return {key: getattr(scaler, key).tolist() for key in ("shift", "factor", "unit")}


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    """The training result with all that is said of the bound in one place."""
    found = dict(result)
    if "bound" in found:
        found["bound"] = {
            "value": found["bound"],
            "origin": found.pop("bound_origin", ""),
            "condition": found.pop("condition", None),
            "certificate": found.pop("certificate", None),
        }
    return found
