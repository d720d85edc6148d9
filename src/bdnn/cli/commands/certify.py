"""``bdnn certify``: how far inputs may be moved before their class changes."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bdnn.cli.console import percent, print_pairs, print_table
from bdnn.cli.options import options
from bdnn.cli.options.data import LabelledTable, ModelArgument
from bdnn.cli.options.guarantee import Perturbation
from bdnn.cli.options.limits import Effort
from bdnn.cli.options.output import Output

if TYPE_CHECKING:
    from bdnn.cli.question import Question
    from bdnn.robustness import Certification, Verification

_LINE_EVERY = 1.0


@options
def certify(
    model: ModelArgument,
    table: LabelledTable,
    perturbation: Perturbation,
    effort: Effort,
    output: Output,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Settle what the bound leaves open by attacks and a solver."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to draw accuracy against the radius: .png, .pdf or .svg."
        ),
    ] = None,
) -> None:
    """Guarantee that no perturbation within a radius changes the class of a row.

    A sound bound for all rows at once; with --exact also the accuracy under the worst perturbation,
    by attacks, branch and bound, and a mixed-integer program. Ctrl-C ends that and keeps what is
    known. --out takes a certificate per row, as JSON lines.
    """
    from bdnn.cli.output import check_picture
    from bdnn.cli.question import ask, describe
    from bdnn.robustness import certify as bound
    from bdnn.robustness import verify

    if plot is not None:
        check_picture(plot, "--plot")
    radius = perturbation.radius
    question = ask(model, table, perturbation, output)
    found = bound(question.around, radius)
    report = {**describe(question, perturbation), **_bound_report(found, radius)}
    verified = None
    if exact:
        started = time.perf_counter()
        verified = verify(
            question.around,
            radius,
            smallest=plot is not None,  # a curve needs more than the answer at one radius
            time_limit=effort.seconds,
            n_jobs=effort.jobs,
            on_progress=None if output.quiet else _teller(),
        )
        report |= _exact_report(verified, radius, time.perf_counter() - started)
    if output.out is not None:
        _write(output.out, question, found, verified)
    if plot is not None:
        _draw(plot, found, verified, largest=2 * radius)
    written = {"out": output.place, "plot": None if plot is None else str(plot)}
    facts = {"model": str(model), "data": table.data, **written, **report}
    more = {"radii": found.radii.tolist(), "notes": question.notes}
    output.show(facts | more, lambda: _print(facts))


def _bound_report(found: Certification, radius: float) -> dict[str, Any]:
    levels = sorted({0.0, *(radius * share / 4 for share in range(1, 9))})
    return {
        "certified_accuracy": found.accuracy,
        "certified_rows": int(found.certified.sum()),
        "curve": [
            {"radius": float(level), "certified_accuracy": float(share)}
            for level, share in zip(*found.curve(levels), strict=True)
        ],
    }


def _exact_report(verified: Verification, radius: float, seconds: float) -> dict[str, Any]:
    lower, upper = verified.worst_case_accuracy(radius)
    robust, broken = verified.lower > radius, verified.upper <= radius
    return {
        "worst_case_accuracy": {"lower": lower, "upper": upper},
        "robust_rows": int(robust.sum()),
        "broken_rows": int(broken.sum()),
        "open_rows": int((~robust & ~broken).sum()),
        "seconds": seconds,
    }


def _write(
    path: Path, question: Question, found: Certification, verified: Verification | None
) -> None:
    """Write for every row what can be checked again: guarantee, counter-example, or both."""
    from bdnn.files import write_whole

    lines = []
    for row in range(len(question.around.X)):
        statements = [found.certificate(row)]
        if verified is not None:
            statements += verified.certificates(row)
        guarantees = [statement for statement in statements if statement.kind == "guarantee"]
        farthest = max(guarantees, key=lambda statement: statement.radius)
        statements = [farthest, *(s for s in statements if s.kind != "guarantee")]
        lines += [
            json.dumps({"row": row + 1, **statement.to_dict()}, allow_nan=False)
            for statement in statements
        ]
    write_whole(path, "".join(f"{line}\n" for line in lines))


def _draw(
    path: Path, found: Certification, verified: Verification | None, *, largest: float
) -> None:
    """Draw the curve over the radii of the printed table."""
    from bdnn.cli.output import write_picture
    from bdnn.plotting import plot_robustness

    named: dict[str, Certification | Verification] = {"certified": found}
    if verified is not None:
        named["worst case"] = verified
    axes = plot_robustness(named, largest=largest or None)
    write_picture(path, axes.figure)  # type: ignore[arg-type]


def _teller() -> Any:
    last = -math.inf
    started = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic() - started
        if now - last >= _LINE_EVERY:
            last = now
            typer.echo(f"{now:7.1f} s  {done} of {total} rows settled", err=True)

    return tell


def _print(report: dict[str, Any]) -> None:
    rows = report["rows"]
    pairs = [
        ("rows", str(rows)),
        ("radius", f"{report['radius']:g} ({report['norm']}, {report['units']} inputs)"),
        ("accuracy", percent(report["accuracy"])),
        ("certified", f"{percent(report['certified_accuracy'])} keep their correct class"),
    ]
    if "worst_case_accuracy" in report:
        lower, upper = report["worst_case_accuracy"].values()
        limits = percent(lower) if lower == upper else f"{percent(lower)} to {percent(upper)}"
        settled = (
            f"{report['robust_rows']} robust, {report['broken_rows']} broken, "
            f"{report['open_rows']} open"
        )
        pairs += [
            ("worst case", limits),
            ("exact", settled),
            ("time", f"{report['seconds']:.2f} s"),
        ]
    for what, key in (("certificates", "out"), ("picture", "plot")):
        pairs += [] if report[key] is None else [(what, report[key])]
    print_pairs(pairs)
    print_table(
        ["radius", "certified accuracy"],
        [[f"{line['radius']:g}", percent(line["certified_accuracy"])] for line in report["curve"]],
    )
