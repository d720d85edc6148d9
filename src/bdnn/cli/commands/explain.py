"""``bdnn explain``: which columns matter, and why a row got its class."""

from __future__ import annotations

from typing import Any

import typer

from bdnn.cli.options import option, options
from bdnn.cli.options.data import LabelledTable, ModelFile, Table
from bdnn.cli.output import Answer, percent, print_table
from bdnn.errors import DataError


@options
def explain(
    file: ModelFile,
    table: LabelledTable,
    answer: Answer,
    row: int | None = option("A row of DATA, from 1, to explain.", shown="none: all columns"),
    seconds: float = option("Time for a row, after which the best found has to do.", 10.0),
) -> None:
    """Tell which columns matter, or with --row why a row got its class.

    A column matters as often as another value of it changes the answer: a row gets each value that
    the column has in DATA. With labels, rows that the model was not trained on are taken, if there
    are some. Of a row the smallest change of raw values that changes its class is told.
    """
    from bdnn.model_file import read_model

    record = read_model(file.model)
    if row is not None:
        _explain_row(record, table, answer, row, seconds)
        return
    from bdnn.cli.source import model_samples
    from bdnn.evaluation.importance import importances

    X, y, notes = model_samples(record, table)
    seen = record.seen
    rows = "all rows"
    if seen is not None and len(y) > 1:
        is_seen, is_told = seen.tell(X)
        others = ~is_seen & is_told
        if 0 < others.sum() < len(y):
            X, y = X[others], y[others]
            rows = f"{len(y)} rows that were not trained on"
    found = importances(record.model, X, y)
    answer.tell(notes)
    facts = {"model": str(file.model), "rows": rows, "columns": [vars(each) for each in found]}
    answer.show(facts, lambda: _print_columns(facts, record.model.kind))


def _print_columns(facts: dict[str, Any], kind: str) -> None:
    typer.echo(f"on {facts['rows']}:")
    if kind == "regressor":
        lines = [[each["column"], f"{each['flips']:.4g}"] for each in facts["columns"]]
        print_table(["column", "answers move by"], lines)
        return
    lines = [
        [each["column"], percent(each["flips"]), percent(each["loss"])] for each in facts["columns"]
    ]
    print_table(["column", "answers that change", "accuracy lost"], lines)


def _explain_row(record: Any, table: Table, answer: Answer, row: int, seconds: float) -> None:
    from bdnn.cli.source import model_features
    from bdnn.evaluation.explanation import explain

    X, notes = model_features(record, table)
    if not 1 <= row <= len(X):
        raise DataError(f"--row must be from 1 to {len(X)}, got {row}: give the number of a row.")
    data = record.certificate.get("data")
    found = explain(record.model, X[row - 1], data=data, time_limit=seconds)
    answer.tell(notes)
    answer.show({"row": row, **found.to_dict()}, lambda: typer.echo(str(found)))
