"""``bdnn predict`` and ``evaluate``: a model's answers, and how good they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bdnn.cli.options import options
from bdnn.cli.options.data import LabelledTable, ModelFile, Table
from bdnn.cli.output import Answer, Output, as_csv, number, percent, print_pairs, print_table
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
    errors' root mean square and mean size.
    """
    from bdnn.cli.source import model_samples
    from bdnn.model_file import read_model

    record = read_model(file.model)
    X, y, notes = model_samples(record, table)
    judge, show = _JUDGES[record.model.kind]
    report = judge(record, X, y)
    answer.tell(notes)
    facts = {"model": str(file.model), "data": table.data, **report, "notes": notes}
    answer.show(facts, lambda: show(report))


def _errors(record: ModelRecord, X: FloatArray, y: NDArray[np.generic]) -> dict[str, Any]:
    """Compare a regressor's answers with the targets."""
    n_outputs = record.model.network.architecture.n_outputs
    if n_outputs > 1:
        raise UnsupportedFeatureError(
            f"the model predicts {n_outputs} numbers and DATA has one target: use 'bdnn predict' "
            "and compare in Python."
        )
    return {"rows": len(y), **errors_of(y, record.model.predict(X)[:, 0].astype(float))}


def errors_of(y: NDArray[np.generic], predicted: FloatArray) -> dict[str, float | None]:
    """R2 (none for a constant target), root of the mean square and mean size of the errors."""
    import numpy as np

    errors = y.astype(float) - predicted
    spread = float(((y.astype(float) - y.astype(float).mean()) ** 2).sum())
    return {
        "r2": 1.0 - float((errors**2).sum()) / spread if spread > 0 else None,
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
    }


def _print_errors(report: dict[str, Any]) -> None:
    pairs = [("R2", "r2"), ("RMSE", "rmse"), ("MAE", "mae")]
    rows = ("rows", str(report["rows"]))
    print_pairs([rows, *((name, number(report[key])) for name, key in pairs)])


def _report(record: ModelRecord, X: FloatArray, y: NDArray[np.generic]) -> dict[str, Any]:
    """Compare a classifier's answers with the labels."""
    import numpy as np

    from bdnn.cli.source import check_labels

    labels = record.model.labels
    check_labels(record, y)
    is_true = y[:, None] == labels
    is_said = record.model.predict(X)[:, None] == labels
    confusion = is_true.astype(int).T @ is_said.astype(int)
    outputs = record.model.network.outputs(record.model.inputs(X))
    return {
        "rows": len(y),
        "accuracy": float(np.trace(confusion) / len(y)),
        "loss": int(np.count_nonzero(outputs != is_true)),
        **_likelihood(record, X, is_true),
        "classes": [
            {"class": label, **_scores(confusion, k)}
            for k, label in enumerate(record.model.classes)
        ],
        "confusion": confusion.tolist(),
    }


def _likelihood(
    record: ModelRecord, X: FloatArray, is_true: NDArray[np.bool_]
) -> dict[str, float | None]:
    """Log loss, and AUC as the mean over classes; none where a table or a class is missing."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    if record.model.calibration is None:
        return {"log_loss": None, "auc": None}
    likely = record.model.probabilities(X)
    has_all = is_true.any(axis=0).all() and not is_true.all(axis=0).any()
    # One class against the rest; for two classes both say the same.
    auc = roc_auc_score(is_true, likely, average="macro") if has_all else None
    return {
        "log_loss": float(-np.log(likely[is_true]).mean()),
        "auc": None if auc is None else float(auc),
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
            *(
                (name, number(report[key]))
                for name, key in (("log loss", "log_loss"), ("AUC", "auc"))
                if report[key] is not None
            ),
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


# How a kind of model is compared with a table, and how that is shown.
_JUDGES = {"classifier": (_report, _print_report), "regressor": (_errors, _print_errors)}
