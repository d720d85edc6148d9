"""``bdnn attack``: accuracy on perturbed inputs."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from bdnn.cli.console import percent, print_json, print_pairs
from bdnn.cli.options import DataArgument, HeaderOption, JsonOption, ModelArgument, TargetOption
from bdnn.cli.perturbation import (
    FixedOption,
    InRangeOption,
    IntegerOption,
    JobsOption,
    NormOption,
    QuietOption,
    RadiusOption,
    TimeLimitOption,
    UnitsOption,
    ask,
    describe,
)


def attack(
    model: ModelArgument,
    data: DataArgument,
    radius: RadiusOption = 0.1,
    norm: NormOption = "linf",
    units: UnitsOption = "scaled",
    method: Annotated[
        str, typer.Option(help="random-sign (the paper's), greedy, boundary or optimal.")
    ] = "greedy",
    draws: Annotated[int, typer.Option(help="Random attacks per row.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the random attack.")] = 0,
    target: TargetOption = None,
    integer: IntegerOption = None,
    fixed: FixedOption = None,
    in_range: InRangeOption = False,
    time_limit: TimeLimitOption = 60.0,
    jobs: JobsOption = 1,
    header: HeaderOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the perturbed features, as CSV."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Perturb the rows of DATA within a radius and count the classes that change.

    The random attack moves every column by the radius, up or down. The others look for a class
    that changes; 'optimal' finds one whenever there is one, as far as the time limit allows.
    """
    from bdnn.cli.output import check_writable, write_text
    from bdnn.errors import ModelError
    from bdnn.robustness import attack as perturb
    from bdnn.robustness.attack import check_attack
    from bdnn.robustness.norms import check_radius

    check_radius(radius)
    check_attack(method.replace("-", "_"), draws)
    if seed < 0:
        raise ModelError(f"--seed must be 0 or more, got {seed}: give for example 0.")
    if out is not None:
        check_writable(out)
    question = ask(
        model,
        data,
        target=target,
        header=header,
        norm=norm,
        units=units,
        integer=integer or (),
        fixed=fixed or (),
        in_range=in_range,
        quiet=quiet,
    )
    found = perturb(
        question.around,
        radius,
        method=method.replace("-", "_"),
        labels=question.labels,
        draws=draws,
        seed=seed,
        time_limit=time_limit,
        n_jobs=jobs,
    )
    if out is not None:
        write_text(out, _as_csv(question.record.feature_names, found.X.tolist()))
    report: dict[str, Any] = {
        **describe(question),
        "radius": radius,
        "method": method,
        "changed_rows": int(found.success.sum()),
        "attacked_accuracy": found.accuracy,
    }
    if as_json:
        paths = {"model": str(model), "data": data, "out": None if out is None else str(out)}
        print_json({**paths, **report, "lengths": found.lengths.tolist(), "notes": question.notes})
        return
    pairs = [
        ("rows", str(report["rows"])),
        ("attack", f"{method}, {radius:g} ({norm}, {units} inputs)"),
        ("accuracy", percent(report["accuracy"])),
        ("attacked", f"{percent(found.accuracy)}, {report['changed_rows']} classes changed"),
    ]
    print_pairs([*pairs, *([("written", str(out))] if out is not None else [])])


def _as_csv(names: tuple[str, ...] | None, rows: list[list[float]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names or [f"x{j}" for j in range(1, len(rows[0]) + 1)])
    writer.writerows(rows)
    return text.getvalue()
