"""``bdnn certify``: how far inputs may be moved before their class changes."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdnn.cli.options import option, options
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.cli.options.limits import Effort
from bdnn.cli.output import (
    Output,
    check_picture,
    percent,
    print_pairs,
    print_table,
    write_picture,
)
from bdnn.cli.perturbation import Perturbation, Question, ask
from bdnn.cli.progress import ProgressDisplay

if TYPE_CHECKING:
    from bdnn.robustness import Certification, Verification


@options
def certify(
    file: ModelFile,
    table: LabelledTable,
    perturbation: Perturbation,
    effort: Effort,
    output: Output,
    exact: bool = option("Settle what the bound leaves open by attacks and a solver.", False),
    plot: Path | None = option(
        "Where to draw accuracy against the radius: .png, .pdf or .svg.", metavar="FILE"
    ),
) -> None:
    """Guarantee that no perturbation within a radius changes the class of a row.

    A sound bound for all rows at once; with --exact also the accuracy under the worst perturbation,
    by attacks, branch and bound, and a mixed-integer program. Ctrl-C ends that and keeps what is
    known. --out takes a certificate per row, as JSON lines.
    """
    from bdnn.robustness import certify as bound
    from bdnn.robustness import verify

    if plot is not None:
        check_picture(plot, "--plot")
    radius = perturbation.radius
    question = ask(file, table, perturbation)
    output.tell(question.notes)
    found = bound(question.around, radius)
    places = {"out": output.place, "plot": None if plot is None else str(plot)}
    facts = {**question.facts, **places, **_bound_report(found, radius)}
    verified = None
    if exact:
        started = time.perf_counter()
        display = ProgressDisplay[tuple[int, int]](_settled, effort.seconds)
        with nullcontext() if output.quiet else display:
            verified = verify(
                question.around,
                radius,
                smallest=plot is not None,  # a curve needs more than the answer at one radius
                time_limit=effort.seconds,
                n_jobs=effort.jobs,
                on_progress=lambda *counts: display(counts),
            )
        facts |= _exact_report(verified, radius, time.perf_counter() - started)
    if output.out is not None:
        _write(output.out, question, found, verified)
    if plot is not None:
        _draw(plot, found, verified, largest=2 * radius)
    more = {"radii": found.radii.tolist(), "notes": question.notes}
    output.show(facts | more, lambda: _print(facts, perturbation))


def _settled(counts: tuple[int, int]) -> str:
    return "{} of {} rows settled".format(*counts)


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
    from bdnn.plotting import plot_robustness

    named: dict[str, Certification | Verification] = {"certified": found}
    if verified is not None:
        named["worst case"] = verified
    axes = plot_robustness(named, largest=largest or None)
    write_picture(path, axes.figure)  # type: ignore[arg-type]


def _print(report: dict[str, Any], perturbation: Perturbation) -> None:
    pairs: list[tuple[str, str | None]] = [
        ("rows", str(report["rows"])),
        ("radius", str(perturbation)),
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
    print_pairs([*pairs, ("certificates", report["out"]), ("picture", report["plot"])])
    print_table(
        ["radius", "certified accuracy"],
        [[f"{line['radius']:g}", percent(line["certified_accuracy"])] for line in report["curve"]],
    )
