"""Models to files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bdnn.checker.files import check_content, check_size
from bdnn.errors import ModelError
from bdnn.files import write_whole
from bdnn.model import TargetScaler
from bdnn.model_file.content import FORMAT, VERSION, check_widths, checksum, encode
from bdnn.model_file.record import ModelRecord
from bdnn.network.architecture import Architecture


def write_model(record: ModelRecord, path: str | os.PathLike[str]) -> None:
    """Write a model file; the old one stays until the new one is complete."""
    write_whole(Path(path), dumps(record))


def dumps(record: ModelRecord) -> str:
    """Text of a model file."""
    model = record.model
    network, shape = model.network, model.network.architecture
    content = {
        "format": FORMAT,
        # Readers of the first version know steps only, and those they go on reading.
        "version": VERSION if shape.has_levels or shape.output != "step" else 1,
        "kind": model.kind,
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
        # One number per unit of one threshold, a list per unit of more.
        "thresholds": [(t[:, 0] if t.shape[1] == 1 else t).tolist() for t in network.thresholds],
        "scaler": {
            "kind": model.encoder.kind,
            "shift": model.encoder.shift.tolist(),
            "factor": model.encoder.factor.tolist(),
            "step": model.encoder.step,
        },
        **({} if model.targets is None else {"targets": _targets(model.targets)}),
        "classes": list(model.classes),
        "feature_names": None if model.names is None else list(model.names),
        "settings": encode(record.settings),
        "result": encode(record.result),
        "extra": encode(record.extra),
        **({"certificate": encode(record.certificate)} if record.certificate else {}),
    }
    try:
        check_content(content)
        check_widths(shape.widths)
        content["checksum"] = checksum(content)
        text = json.dumps(content, indent=1, allow_nan=False) + "\n"
        check_size(text, len(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"this model cannot be written to a model file ({error}): use labels, names and extra "
            "data that are plain text and finite numbers, and networks of ordinary size."
        ) from error
    return text


def _activations(shape: Architecture) -> dict[str, Any]:
    """What the hidden layers do, where they are no steps."""
    return {"activation": [rule.name for rule in shape.activations]} if shape.has_levels else {}


def _targets(scaler: TargetScaler) -> dict[str, Any]:
    return {key: getattr(scaler, key).tolist() for key in ("shift", "factor", "unit")}
