"""``bdnn check``: what of a model file's claims is proven, only claimed, or false."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bdnn.cli.console import print_json, print_table
from bdnn.cli.options import DataArgument, HeaderOption, JsonOption, ModelArgument, TargetOption

if TYPE_CHECKING:
    from bdnn.checker import CheckedModel, Samples

_FALSE = 1


def check(
    model: ModelArgument,
    data: DataArgument,
    target: TargetOption = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="The model was trained on the first so many rows.",
            show_default="the rows the file names, or all",
        ),
    ] = None,
    header: HeaderOption = None,
    enumerate_networks: Annotated[
        bool,
        typer.Option(
            "--enumerate", help="Confirm the bound of a tiny model by trying all networks."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check every claim of a model file on the data it was trained on.

    A small checker of its own recomputes activations, loss, bounds, radii and other promises in
    exact arithmetic. Every claim is proven, claimed (nothing contradicts it, but it rests on the
    word of a solver) or false. The exit code is 1 if any claim is false.
    """
    from bdnn.checker import read_model
    from bdnn.checker.report import check_model, training_rows

    checked = read_model(model)
    samples = _samples(checked, data, target, header)
    chosen = samples.chosen(training_rows(checked, len(samples.features), rows))
    claims = check_model(checked, chosen, enumerate_networks=enumerate_networks)
    counts = Counter(claim.verdict for claim in claims)
    if as_json:
        print_json(
            {
                "model": str(model),
                "data": data,
                "rows": len(chosen.features),
                "proven": counts["proven"],
                "claimed": counts["claimed"],
                "false": counts["false"],
                "claims": [vars(claim) for claim in claims],
            }
        )
    else:
        lines = [[claim.name, claim.verdict, claim.detail] for claim in claims]
        print_table(["claim", "verdict", "what was found"], lines)
        typer.echo(
            f"{counts['proven']} proven, {counts['claimed']} claimed, {counts['false']} false"
        )
    if counts["false"]:
        raise typer.Exit(_FALSE)


def _samples(model: CheckedModel, data: str, target: str | None, header: bool | None) -> Samples:
    from bdnn import datasets
    from bdnn.checker import read_csv
    from bdnn.checker.table import make_samples
    from bdnn.errors import DataError

    if data in datasets.names():
        dataset = datasets.load(data)
        if target not in (None, dataset.target_name):
            raise DataError(
                f"the built-in data set {data} has the target {dataset.target_name!r}, got "
                f"--target {target!r}: leave it out."
            )
        return make_samples(model, dataset.X.tolist(), dataset.y.tolist())
    if not Path(data).exists():
        raise DataError(
            f"there is no file {data!r} and no built-in data set of that name: give a CSV file or "
            f"one of {', '.join(datasets.names())}."
        )
    return read_csv(model, Path(data), target=target, header=header)
