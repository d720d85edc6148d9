"""``bdnn certify``: how far inputs may be moved before their class changes."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bdnn.cli.console import percent, print_json, print_pairs, print_table
from bdnn.cli.options import DataArgument, HeaderOption, JsonOption, ModelArgument, TargetOption
from bdnn.cli.perturbation import (
    FixedOption,
    InRangeOption,
    IntegerOption,
    JobsOption,
    NormOption,
    Question,
    QuietOption,
    RadiusOption,
    TimeLimitOption,
    UnitsOption,
    ask,
    describe,
)

if TYPE_CHECKING:
    from bdnn.robustness import Certification, Verification

_LINE_EVERY = 1.0


def certify(
    model: ModelArgument,
    data: DataArgument,
    radius: RadiusOption = 0.1,
    norm: NormOption = "linf",
    units: UnitsOption = "scaled",
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Settle what the bound leaves open by attacks and a solver."),
    ] = False,
    target: TargetOption = None,
    integer: IntegerOption = None,
    fixed: FixedOption = None,
    in_range: InRangeOption = False,
    time_limit: TimeLimitOption = 60.0,
    jobs: JobsOption = 1,
    header: HeaderOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write a certificate per row, as JSON lines."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to draw accuracy against the radius: .png, .pdf or .svg."
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Guarantee that no perturbation within a radius changes the class of a row.

    A sound bound for all rows at once; with --exact also the accuracy under the worst perturbation,
    by attacks, branch and bound, and a mixed-integer program. Ctrl-C ends that and keeps what is
    known.
    """
    from bdnn.cli.output import check_picture, check_writable
    from bdnn.robustness import certify as bound
    from bdnn.robustness import verify
    from bdnn.robustness.norms import check_radius

    check_radius(radius)
    if out is not None:
        check_writable(out)
    if plot is not None:
        check_picture(plot, "--plot")
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
    found = bound(question.around, radius, correct=question.correct)
    report = {**describe(question), "radius": radius, **_bound_report(found, radius)}
    verified = None
    if exact:
        started = time.perf_counter()
        verified = verify(
            question.around,
            radius,
            correct=question.correct,
            smallest=plot is not None,  # a curve needs more than the answer at one radius
            time_limit=time_limit,
            n_jobs=jobs,
            on_progress=None if quiet else _teller(),
        )
        report |= _exact_report(verified, radius, time.perf_counter() - started)
    if out is not None:
        _write(out, question, found, verified)
    if plot is not None:
        _draw(plot, found, verified, largest=2 * radius)
    if as_json:
        paths = {"model": str(model), "data": data, "out": _name(out), "plot": _name(plot)}
        print_json({**paths, **report, "radii": found.radii.tolist(), "notes": question.notes})
    else:
        _print(report, {"certificates": out, "picture": plot})


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


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
    from bdnn.cli.output import write_text

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
    write_text(path, "".join(f"{line}\n" for line in lines))


def _draw(
    path: Path, found: Certification, verified: Verification | None, *, largest: float
) -> None:
    """Draw the curve over the radii of the printed table."""
    from bdnn.plotting import plot_robustness

    named: dict[str, Certification | Verification] = {"certified": found}
    if verified is not None:
        named["worst case"] = verified
    axes = plot_robustness(named, largest=largest or None)
    axes.figure.savefig(path, dpi=150)  # type: ignore[union-attr]


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


def _print(report: dict[str, Any], written: dict[str, Path | None]) -> None:
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
    pairs += [(what, str(path)) for what, path in written.items() if path is not None]
    print_pairs(pairs)
    print_table(
        ["radius", "certified accuracy"],
        [[f"{line['radius']:g}", percent(line["certified_accuracy"])] for line in report["curve"]],
    )
