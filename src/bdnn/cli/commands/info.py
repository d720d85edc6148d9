"""``bdnn info``, ``datasets``, ``solvers``: what a file holds, is built in, is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdnn.cli.figures import print_assessment
from bdnn.cli.options import options
from bdnn.cli.options.data import ModelFile
from bdnn.cli.output import (
    Answer,
    expectation,
    gap_text,
    percent,
    print_pairs,
    print_table,
    status_text,
)

if TYPE_CHECKING:
    from bdnn.model_file import ModelRecord


_MOST_INPUTS = 20


@options
def info(file: ModelFile, answer: Answer) -> None:
    """Show a model's network, size, training settings and result."""
    from bdnn.model_file import read_model

    record = read_model(file.model)
    facts = _facts(record)
    answer.show({"model": str(file.model), **facts}, lambda: _print_facts(record, facts))


def _facts(record: ModelRecord) -> dict[str, Any]:
    from bdnn.cli.source import target_of
    from bdnn.export.rules import is_small, to_rules
    from bdnn.training.result import TrainingResult

    shape = record.model.network.architecture
    # Read as the estimator reads it, so that no key is missing below.
    result = TrainingResult.from_dict(record.result)
    return {
        "kind": record.model.kind,
        "network": str(shape),
        "features": record.model.n_features,
        "hidden": list(shape.hidden),
        "outputs": shape.n_outputs,
        "weights": [kind.name for kind in shape.weights],
        "thresholds": shape.thresholds,
        "ties": shape.ties,
        "activation": [shape.activation_of(k).name for k in range(len(shape.hidden))],
        "size_bits": int(record.model.network.size_bits),
        "scale": record.model.encoder.scale,
        "classes": list(record.model.classes),
        "feature_names": list(record.model.feature_names),
        "input_names": list(record.model.encoder.input_names),
        "target": target_of(record).name,
        "data": record.extra.get("data"),
        "settings": {key: value for key, value in record.settings.items() if value is not None},
        "rules": to_rules(record.model) if is_small(record.model.network) else None,
        "assessment": _assessment(record),
        # The history is in the file for who wants to plot it; here its length says enough.
        "result": {**result.to_dict(), "gap": result.gap, "history": len(result.history)},
    }


def _assessment(record: ModelRecord) -> dict[str, Any] | None:
    """What 'bdnn train' found out about rows that were not trained on."""
    from bdnn.evaluation.assessment import Assessment

    kept = record.extra.get("assessment")
    return None if kept is None else Assessment.from_dict(kept).to_dict()


def _print_facts(record: ModelRecord, facts: dict[str, Any]) -> None:
    result = facts["result"]
    is_regressor = facts["kind"] == "regressor"
    print_pairs(
        [
            ("network", record.model.network.describe()),
            ("inputs", _shortened(facts["input_names"])),
            ("scaling", facts["scale"] or "none"),
            ("target", facts["target"] or "unknown"),
            ("classes", None if is_regressor else ", ".join(map(str, facts["classes"]))),
            ("data", facts["data"] or "unknown"),
            ("settings", _settings(facts["settings"])),
            ("status", status_text(result["status"])),
            # How small the loss is was no question where held-out rows chose.
            *([] if result["held_out"] else _minimised(result)),
            *expectation(result["held_out"], facts["settings"].get("class_weight")),
            (
                ("train R2", f"{1.0 - result['error']:.4g}")
                if is_regressor
                else ("train accuracy", percent(1.0 - result["error"]))
            ),
            ("time", f"{result['seconds']:.2f} s"),
            ("rules", facts["rules"] or "too many weights to read; see 'bdnn export --to rules'"),
        ]
    )
    if facts["assessment"] is not None:
        print_assessment(facts["assessment"])


def _minimised(result: dict[str, Any]) -> list[tuple[str, str]]:
    solver = f", {result['solver']}" if result["solver"] else ""
    return [
        ("loss", f"{result['loss']:g}"),
        ("bound", f"{result['bound']:g} ({result['bound_origin']})"),
        ("gap", gap_text(result["gap"], result["bound"])),
        ("method", f"{result['method']}{solver}"),
    ]


def _shortened(names: list[str]) -> str:
    """The first names of many, and how many there are."""
    shown = ", ".join(names[:_MOST_INPUTS])
    more = len(names) - _MOST_INPUTS
    return f"{len(names)}: {shown} and {more} more" if more > 0 else shown


def _settings(settings: dict[str, Any]) -> str:
    """Settings in one line, those of a group in the words of the group."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat.update(value if isinstance(value, dict) else {key: value})
    flat.pop("has_column_names", None)  # nobody set it
    return ", ".join(f"{key}={value}" for key, value in flat.items() if value not in (None, []))


@options
def datasets(answer: Answer) -> None:
    """List the built-in data sets with size, source and licence."""
    from bdnn.datasets import describe

    records = describe()
    headings = ["name", "rows", "attributes", "classes", "offline", "source", "licence"]
    offline = {True: "yes", False: "no (set BDNN_DATA)"}
    lines = [
        [str(offline[record[key]] if key == "offline" else record[key]) for key in headings]
        for record in records
    ]
    answer.show({"datasets": records}, lambda: print_table(headings, lines))


@options
def solvers(answer: Answer) -> None:
    """List the solvers with version and abilities, without starting any."""
    from bdnn.solvers.registry import SOLVERS

    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "installed": solver.is_available(),
            "version": solver.version() if solver.is_available() else None,
            "install": "pip install "
            + (f"'bdnn[{solver.extra}]'" if solver.extra else solver.distribution),
            "features": sorted(feature.value for feature in solver.features),
        }
        for name, solver in SOLVERS.items()
    ]
    lines = [
        [
            entry["name"],
            entry["version"] or f"not installed ({entry['install']})",
            ", ".join(entry["features"]),
        ]
        for entry in entries
    ]
    answer.show({"solvers": entries}, lambda: print_table(["name", "version", "features"], lines))
