"""``bdnn predict``: the classes of new rows, or the numbers of a regressor."""

from __future__ import annotations

import typer

from bdnn.cli.options import options
from bdnn.cli.options.data import ModelFile, Table
from bdnn.cli.output import Output, as_csv


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
