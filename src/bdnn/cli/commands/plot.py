"""``bdnn plot``: a picture of a model's training, weights or decision regions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bdnn.cli.console import note, print_json, print_pairs
from bdnn.cli.options import HeaderOption, JsonOption, ModelArgument, TargetOption
from bdnn.errors import DataError, ModelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bdnn.export.json import ModelRecord

# Which options belong to which picture.
_OPTIONS = {
    "progress": (),
    "weights": ("--layer", "--shape"),
    "regions": ("DATA", "--features", "--target", "--header"),
}


def plot(
    model: ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="For regions: rows to draw.", show_default=False),
    ] = None,
    what: Annotated[str, typer.Option(help="progress, weights or regions.")] = "progress",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write: .png, .pdf or .svg.", show_default="MODEL.png"
        ),
    ] = None,
    layer: Annotated[
        int | None, typer.Option(help="Of the weights, from 1.", show_default="1")
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(metavar="HxW", help="Weights as images, for example 8x8.", show_default=False),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Regions of which two, for example age,income.", show_default="first two"
        ),
    ] = None,
    target: TargetOption = None,
    header: HeaderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a model: loss and bound against time, weights, or decision regions of two features."""
    from bdnn.cli.model import read_classifier, read_record
    from bdnn.cli.output import check_picture

    given = {"DATA": data, "--layer": layer, "--shape": shape, "--features": features}
    given |= {"--target": target, "--header": header}
    _check_options(what, [name for name, value in given.items() if value is not None])
    path = model.with_suffix(".png") if out is None else out
    check_picture(path, "--out")
    record = read_classifier(model) if what == "regions" else read_record(model)
    if what == "regions":
        figure = _regions(record, data, features, target=target, header=header)
    else:
        figure = _picture(record, what, layer=layer, shape=shape)
    figure.savefig(path, dpi=150)
    if as_json:
        print_json({"model": str(model), "what": what, "out": str(path)})
    else:
        print_pairs([("picture", what), ("saved", str(path))])


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
    named = SimpleNamespace(network_=record.network, input_names_=record.feature_names)
    return plot_weights(named, layer=1 if layer is None else layer, shape=_parsed(shape))


def _parsed(shape: str | None) -> tuple[int, int] | None:
    if shape is None:
        return None
    height, x, width = shape.partition("x")
    if not (x and height.isdecimal() and width.isdecimal()):
        raise DataError(f"--shape must be height x width, got {shape!r}: give for example 8x8.")
    return int(height), int(width)


def _regions(record: ModelRecord, data: str | None, features: str | None, **options: Any) -> Figure:
    from bdnn.cli.model import classify, labels_of
    from bdnn.cli.source import model_samples
    from bdnn.plotting import plot_decision_regions

    X, y, notes = model_samples(record, str(data), **options)
    classifier = SimpleNamespace(
        predict=lambda rows: classify(record, rows),
        classes_=labels_of(record),
        input_names_=record.feature_names,
    )
    chosen: list[int | str] = [0, 1]
    if features is not None:
        words = [word.strip() for word in features.split(",")]
        # A number counts from 1, as the places of columns do, unless it is a name.
        known = record.feature_names or ()
        chosen = [int(w) - 1 if w.isdecimal() and w not in known else w for w in words]
    figure = plot_decision_regions(classifier, X, y, features=chosen).figure
    for text in notes:
        note(text)
    return figure  # type: ignore[return-value]
