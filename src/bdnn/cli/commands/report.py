"""``bdnn report``: a page about a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from bdnn.cli.options import argument, option, options
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.cli.output import Answer
from bdnn.files import check_writable, write_whole


@dataclass(frozen=True)
class OptionalTable(LabelledTable):
    """Labelled rows to show the model on, if given."""

    data: str = argument(
        "[DATA]", "Labelled rows: a CSV file (also .gz) or a built-in data set.", ""
    )


@options
def report(
    file: ModelFile,
    table: OptionalTable,
    answer: Answer,
    out: Path = option("Page to write.", Path("model.html"), metavar="FILE"),
) -> None:
    """Write a page about a model: figures, rules, the network, what is proven, its size.

    The page is one HTML file that needs nothing else. With DATA it also has a ROC curve,
    importances, the certified curve and rows at risk, on rows that the model was not trained on
    if there are some.
    """
    from bdnn.cli.source import check_labels, model_samples
    from bdnn.model_file import read_model
    from bdnn.report import Subject, make_page

    check_writable(out)
    record = read_model(file.model)
    subject = Subject.of(record, file.model.name)
    notes: list[str] = []
    if table.data:
        X, y, notes = model_samples(record, table)
        if record.model.kind == "classifier":
            check_labels(record, y)
        subject = Subject.of(record, file.model.name, X, y)
    text = make_page(subject)
    write_whole(out, text)
    answer.tell(notes)
    facts = {
        "model": str(file.model),
        "data": table.data or None,
        "out": str(out),
        "bytes": len(text.encode()),
        "notes": notes,
    }
    answer.show(facts, lambda: typer.echo(f"{out}: {facts['bytes']} bytes"))
