"""``bdnn predict``: the classes of new rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from bdnn.cli.console import note, print_json
from bdnn.cli.options import DataArgument, HeaderOption, JsonOption, ModelArgument


def predict(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write the classes.", show_default="standard output"
        ),
    ] = None,
    header: HeaderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the class of every row of DATA.

    Writes a CSV with the one column 'prediction'. DATA may have its columns in another order and
    further ones, which are ignored.
    """
    from bdnn.cli.output import check_writable, write_text

    if out is not None:
        check_writable(out)
    from bdnn.cli.model import classify, read_classifier
    from bdnn.cli.source import model_features

    record = read_classifier(model)
    X, notes = model_features(record, data, header)
    for text in notes:
        note(text)
    labels = classify(record, X).tolist()
    if out is not None:
        write_text(out, _as_csv(labels))
    if as_json:
        print_json(
            {
                "model": str(model),
                "data": data,
                "rows": len(labels),
                "predictions": labels,
                "out": None if out is None else str(out),
                "notes": notes,
            }
        )
    elif out is None:
        typer.echo(_as_csv(labels), nl=False)
    else:
        typer.echo(f"{len(labels)} predictions written to {out}")


def _as_csv(labels: list[object]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["prediction"])
    writer.writerows([label] for label in labels)
    return text.getvalue()
