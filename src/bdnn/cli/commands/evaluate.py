"""``bdnn evaluate``: how well a model does on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bdnn.cli.console import note, percent, print_json, print_pairs, print_table
from bdnn.cli.options import DataArgument, HeaderOption, JsonOption, ModelArgument, TargetOption
from bdnn.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.activation import FloatArray
    from bdnn.export.json import ModelRecord


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: TargetOption = None,
    header: HeaderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a model's answers with the labels of DATA.

    Prints accuracy, the loss that training minimises, precision, recall and F1 of every class, and
    the confusion matrix; of a regressor R2 and the errors' root mean square and mean size.
    """
    from bdnn.cli.model import read_record
    from bdnn.cli.regression import evaluate_regressor
    from bdnn.cli.source import model_samples

    record = read_record(model)
    X, y, notes = model_samples(record, data, target=target, header=header)
    if record.kind == "regressor":
        evaluate_regressor(record, X, y, notes, model=model, data=data, as_json=as_json)
        return
    _check_known(record, y)
    for text in notes:
        note(text)
    report = _report(record, X, y)
    if as_json:
        print_json({"model": str(model), "data": data, **report, "notes": notes})
    else:
        _print_report(report)


def _check_known(record: ModelRecord, y: NDArray[np.generic]) -> None:
    unknown = next((label for label in y.tolist() if label not in record.classes), None)
    if unknown is not None:
        raise DataError(
            f"the label {unknown!r} is no class of the model, which knows "
            f"{', '.join(map(repr, record.classes))}: check --target."
        )


def _report(record: ModelRecord, X: FloatArray, y: NDArray[np.generic]) -> dict[str, Any]:
    import numpy as np

    from bdnn.cli.model import classify, labels_of

    labels = labels_of(record)
    is_true = y[:, None] == labels
    is_said = classify(record, X)[:, None] == labels
    confusion = is_true.astype(int).T @ is_said.astype(int)
    outputs = record.network.outputs(record.scaler.transform(X))
    return {
        "rows": len(y),
        "accuracy": float(np.trace(confusion) / len(y)),
        "loss": int(np.count_nonzero(outputs != is_true)),
        "classes": [
            {"class": label, **_scores(confusion, k)} for k, label in enumerate(record.classes)
        ],
        "confusion": confusion.tolist(),
    }


def _scores(confusion: NDArray[np.int_], k: int) -> dict[str, float | int]:
    """Precision, recall and F1 of a class, 0 where nothing was said or true."""
    right, said, true = (
        int(count) for count in (confusion[k, k], confusion[:, k].sum(), confusion[k].sum())
    )
    return {
        "precision": right / said if said else 0.0,
        "recall": right / true if true else 0.0,
        "f1": 2 * right / (said + true) if said + true else 0.0,
        "rows": true,
    }


def _print_report(report: dict[str, Any]) -> None:
    print_pairs(
        [
            ("rows", str(report["rows"])),
            ("accuracy", percent(report["accuracy"])),
            ("loss", str(report["loss"])),
        ]
    )
    classes = report["classes"]
    typer.echo()
    print_table(
        ["class", "precision", "recall", "F1", "rows"],
        [
            [
                str(entry["class"]),
                *(percent(entry[key]) for key in ("precision", "recall", "f1")),
                str(entry["rows"]),
            ]
            for entry in classes
        ],
    )
    names = [str(entry["class"]) for entry in classes]
    print_table(
        ["true class \\ predicted", *names],
        [
            [name, *(str(count) for count in row)]
            for name, row in zip(names, report["confusion"], strict=True)
        ],
    )
