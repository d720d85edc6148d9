"""``bdnn predict`` and ``evaluate``: a model's answers, and how good they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from bdnn.cli.figures import print_figures, spread
from bdnn.cli.options import options
from bdnn.cli.options.data import LabelledTable, ModelFile, Table
from bdnn.cli.output import Answer, Output, as_csv, decimals, percent, print_pairs
from bdnn.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.model_file import ModelRecord
    from bdnn.network.activation import FloatArray


@options
def predict(file: ModelFile, table: Table, output: Output) -> None:
    """Predict the class of every row of DATA, or the number if the model is a regressor.

    Writes a CSV with the one column 'prediction' to standard output, or to a file. DATA may have
    its columns in another order and further ones, which are ignored.
    """
    from bdnn.cli.source import model_features
    from bdnn.files import write_whole
    from bdnn.model_file import read_model

    record = read_model(file.model)
    X, notes = model_features(record, table)
    output.tell(notes)
    found = record.model.predict(X)
    columns = found.reshape(len(found), -1)
    width = columns.shape[1]
    names = ["prediction"] if width == 1 else [f"prediction_{j + 1}" for j in range(width)]
    text = as_csv(names, columns.tolist())
    if output.out is not None:
        write_whole(output.out, text)
    facts = {
        "model": str(file.model),
        "data": table.data,
        "rows": len(columns),
        "predictions": (columns[:, 0] if width == 1 else columns).tolist(),
        "out": output.place,
        "notes": notes,
    }
    written = f"{len(columns)} predictions written to {output.out}\n"
    output.show(facts, lambda: typer.echo(text if output.out is None else written, nl=False))


@options
def evaluate(file: ModelFile, table: LabelledTable, answer: Answer) -> None:
    """Compare a model's answers with the labels of DATA.

    Prints accuracy, the loss that training minimises, log loss and AUC of the probabilities,
    precision, recall and F1 of every class, and the confusion matrix; of a regressor R2 and the
    errors' root mean square and mean size. Rows that the model was trained on are told from the
    others, and the figures are those of the others if there are some.
    """
    from bdnn.cli.source import model_samples
    from bdnn.model_file import read_model

    record = read_model(file.model)
    X, y, notes = model_samples(record, table)
    judge = _JUDGES[record.model.kind]
    report = {**judge(record, X, y), **_apart(record, X, y, judge)}
    answer.tell(notes)
    facts = {"model": str(file.model), "data": table.data, **report, "notes": notes}
    # Where held-out rows chose, no loss was minimised.
    hidden = () if record.result.get("held_out") is None else ("loss",)
    shown = {key: value for key, value in report.items() if key not in hidden}
    answer.show(facts, lambda: _print_report(shown))


Judge = Callable[["ModelRecord", "FloatArray", "NDArray[np.generic]"], dict[str, Any]]


def _apart(
    record: ModelRecord, X: FloatArray, y: NDArray[np.generic], judge: Judge
) -> dict[str, Any]:
    """Figures of the rows that were trained on and of the others, as far as they can be told."""
    seen = record.seen
    if seen is None:
        return {"trained_on": None, "others": None, "told": 0}
    is_seen, is_told = seen.tell(X)
    parts = {"trained_on": is_seen & is_told, "others": ~is_seen & is_told}
    return {
        "told": int(is_told.sum()),
        **{
            name: judge(record, X[rows], y[rows]) if rows.any() else {"rows": 0}
            for name, rows in parts.items()
        },
    }


def _errors(record: ModelRecord, X: FloatArray, y: NDArray[np.generic]) -> dict[str, Any]:
    """Compare a regressor's answers with the targets."""
    from bdnn.evaluation.figures import NumberFigures

    n_outputs = record.model.network.architecture.n_outputs
    if n_outputs > 1:
        raise UnsupportedFeatureError(
            f"the model predicts {n_outputs} numbers and DATA has one target: use 'bdnn predict' "
            "and compare in Python."
        )
    said = record.model.predict(X)[:, 0].astype(float)
    return NumberFigures.of(y.astype(float), said).to_dict()


def _report(record: ModelRecord, X: FloatArray, y: NDArray[np.generic]) -> dict[str, Any]:
    """Compare a classifier's answers with the labels."""
    import numpy as np

    from bdnn.cli.source import check_labels
    from bdnn.evaluation.figures import Figures

    model = record.model
    check_labels(record, y)
    truth = model.codes(y, len(X))
    likely = None if model.calibration is None else model.probabilities(X)
    is_true = truth[:, None] == np.arange(len(model.classes))
    outputs = model.network.outputs(model.inputs(X))
    figures = Figures.of(truth, model.outcomes(X), model.classes, likely)
    return {**figures.to_dict(), "loss": int(np.count_nonzero(outputs != is_true))}


def _print_report(report: dict[str, Any]) -> None:
    trained, others = report["trained_on"], report["others"]
    known = report
    print_pairs(
        [
            ("rows", str(report["rows"])),
            ("loss", str(report["loss"]) if "loss" in report else None),
            *_parts(report),
        ]
    )
    if trained is not None and trained["rows"]:
        if others["rows"]:
            known = others
            typer.echo(f"\n{others['rows']} rows that were not trained on:")
        else:
            typer.echo(
                "warning: all of these rows were trained on; the figures say nothing of new rows"
            )
    print_figures(known)


def _parts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows that were trained on, and the others, where there are both."""
    trained, others = report["trained_on"], report["others"]
    if trained is None or not trained["rows"]:
        return []
    pairs = []
    for name, part in (("trained on", trained), ("others", others)):
        if part["rows"]:
            key, write = ("accuracy", percent) if "accuracy" in part else ("r2", decimals)
            told = f", {'R2' if key == 'r2' else key} {spread(part[key], part['error'], write)}"
        else:
            told = ""
        pairs.append((name, f"{part['rows']} rows{told}"))
    if report["told"] < report["rows"]:
        rest = report["rows"] - report["told"]
        pairs.append(
            ("not known", f"{rest} rows; the model file remembers a part of its training rows")
        )
    return pairs


# How a kind of model is compared with a table.
_JUDGES: dict[str, Judge] = {"classifier": _report, "regressor": _errors}
