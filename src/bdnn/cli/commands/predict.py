"""``bdnn predict``: the classes of new rows, or the numbers of a regressor."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

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
    """Predict the class of every row of DATA, or the number if the model is a regressor.

    Writes a CSV with the one column 'prediction'. DATA may have its columns in another order and
    further ones, which are ignored.
    """
    from bdnn.cli.output import check_writable, write_text

    if out is not None:
        check_writable(out)
    from bdnn.cli.model import classify, read_record
    from bdnn.cli.regression import estimate
    from bdnn.cli.source import model_features

    record = read_record(model)
    X, notes = model_features(record, data, header)
    for text in notes:
        note(text)
    found = estimate(record, X) if record.kind == "regressor" else classify(record, X)[:, None]
    labels = found[:, 0].tolist() if found.shape[1] == 1 else found.tolist()
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


def _as_csv(labels: list[Any]) -> str:
    """Write one column of answers, or one per output of a regressor that has several."""
    rows = [label if isinstance(label, list) else [label] for label in labels]
    width = max(map(len, rows), default=1)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    numbers = [""] if width == 1 else [f"_{place + 1}" for place in range(width)]
    writer.writerow([f"prediction{number}" for number in numbers])
    writer.writerows(rows)
    return text.getvalue()
