"""``bdnn check``: what of a model file's claims is proven, only claimed, or false."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bdnn import limits
from bdnn.cli.options import option, options
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.cli.output import Answer, print_table

if TYPE_CHECKING:
    from bdnn.checker import CheckedModel, Deadline, Samples

_FALSE = 1


@options
def check(
    file: ModelFile,
    table: LabelledTable,
    answer: Answer,
    rows: int | None = option(
        "The model was trained on the first so many rows.", shown="the rows the file names, or all"
    ),
    enumerate_networks: bool = option(
        "Confirm the bound of a tiny model by trying all networks.", False, "--enumerate"
    ),
    seconds: float = option(
        "Time for all checks; what is not done by then is only claimed.",
        limits.CHECKER_SECONDS,
        min=0.0,
    ),
) -> None:
    """Check every claim of a model file on the data it was trained on.

    A small checker of its own recomputes activations, loss, bounds, radii and other promises in
    exact arithmetic. Every claim is proven, claimed (nothing contradicts it, but it rests on the
    word of a solver) or false. The exit code is 1 if any claim is false.
    """
    from bdnn.checker import Deadline, check_model, read_model, training_samples

    deadline = Deadline(seconds)
    checked = read_model(file.model)
    samples = training_samples(checked, _samples(checked, table, deadline), rows)
    claims = check_model(checked, samples, enumerate_networks=enumerate_networks, deadline=deadline)
    counts = Counter(claim.verdict for claim in claims)
    verdicts = {name: counts[name] for name in ("proven", "claimed", "false")}

    def show() -> None:
        lines = [[claim.name, claim.verdict, claim.detail] for claim in claims]
        print_table(["claim", "verdict", "what was found"], lines)
        typer.echo(", ".join(f"{count} {name}" for name, count in verdicts.items()))

    facts = {"model": str(file.model), "data": table.data, "rows": len(samples), **verdicts}
    answer.show({**facts, "claims": [vars(claim) for claim in claims]}, show)
    if counts["false"]:
        raise typer.Exit(_FALSE)


def _samples(model: CheckedModel, table: LabelledTable, deadline: Deadline) -> Samples:
    from bdnn import datasets
    from bdnn.checker import make_samples, read_csv
    from bdnn.cli.source import builtin, check_exists

    if table.data in datasets.names():
        dataset = builtin(table)
        return make_samples(
            model,
            zip(dataset.X.tolist(), dataset.y.tolist(), strict=True),
            names=dataset.feature_names,
            target=dataset.target_name,
            deadline=deadline,
        )
    check_exists(table.data)
    return read_csv(
        model, Path(table.data), target=table.target, header=table.header, deadline=deadline
    )
