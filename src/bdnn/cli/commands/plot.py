"""``bdnn plot``: a picture of a model's training, weights or decision regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bdnn.cli.options import argument, option, options
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.cli.output import Output, check_picture, print_pairs, write_picture
from bdnn.errors import DataError, ModelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bdnn.model_file import ModelRecord

# Which options belong to which picture.
_OPTIONS = {
    "progress": (),
    "weights": ("--layer", "--shape"),
    "regions": ("DATA", "--features", "--target", "--header"),
}


@dataclass(frozen=True)
class Drawn(LabelledTable):
    """Rows to draw, if any."""

    data: str = argument("[DATA]", "For regions: rows to draw.", "")


@options
def plot(
    file: ModelFile,
    table: Drawn,
    output: Output,
    what: str = option("progress, weights or regions.", "progress"),
    layer: int | None = option("Of the weights, from 1.", shown="1"),
    shape: str | None = option("Weights as images, for example 8x8.", metavar="HxW", shown=False),
    features: str | None = option(
        "Regions of which two, for example age,income.", shown="first two"
    ),
) -> None:
    """Draw a model: loss and bound against time, weights, or decision regions of two features.

    Writes a .png, .pdf or .svg as --out ends, or else MODEL.png.
    """
    from bdnn.cli.source import read_classifier
    from bdnn.model_file import read_model

    given = [
        ("DATA", table.data or None),
        ("--target", table.target),
        ("--header", table.header),
        ("--layer", layer),
        ("--shape", shape),
        ("--features", features),
    ]
    _check_options(what, [name for name, value in given if value is not None])
    path = output.out or file.model.with_suffix(".png")
    check_picture(path, "--out")
    record = read_classifier(file.model) if what == "regions" else read_model(file.model)
    if what == "regions":
        figure = _regions(record, table, features, output)
    else:
        figure = _picture(record, what, layer=layer, shape=shape)
    write_picture(path, figure)
    facts = {"model": str(file.model), "what": what, "out": str(path)}
    output.show(facts, lambda: print_pairs([("picture", what), ("saved", str(path))]))


def _check_options(what: str, given: list[str]) -> None:
    if what not in _OPTIONS:
        raise ModelError(f"--what must be {', '.join(_OPTIONS)}, got {what!r}: choose one.")
    stray = [name for name in given if name not in _OPTIONS[what]]
    if stray:
        raise ModelError(f"{stray[0]} does not belong to --what {what}: leave it out.")
    if what == "regions" and "DATA" not in given:
        raise DataError("--what regions needs DATA, got none: give the rows to draw.")


def _picture(record: ModelRecord, what: str, *, layer: int | None, shape: str | None) -> Figure:
    from bdnn.plotting import plot_progress, plot_weights
    from bdnn.training.result import TrainingResult

    if what == "progress":
        return plot_progress(TrainingResult.from_dict(record.result)).figure  # type: ignore[return-value]
    first = 1 if layer is None else layer
    return plot_weights(record.model, layer=first, shape=_parsed(shape))[0].figure  # type: ignore[return-value]


def _parsed(shape: str | None) -> tuple[int, int] | None:
    if shape is None:
        return None
    height, x, width = shape.partition("x")
    if not (x and height.isdecimal() and width.isdecimal()):
        raise DataError(f"--shape must be height x width, got {shape!r}: give for example 8x8.")
    return int(height), int(width)


def _regions(record: ModelRecord, table: Drawn, features: str | None, output: Output) -> Figure:
    from bdnn.cli.source import model_samples
    from bdnn.plotting import plot_decision_regions

    X, y, notes = model_samples(record, table)
    chosen: list[int | str] = [0, 1]
    if features is not None:
        words = [word.strip() for word in features.split(",")]
        # A number counts from 1, as the places of columns do, unless it is a name.
        known = record.model.feature_names
        chosen = [int(w) - 1 if w.isdecimal() and w not in known else w for w in words]
    figure = plot_decision_regions(record.model, X, y, features=chosen).figure
    output.tell(notes)
    return figure  # type: ignore[return-value]
