"""``bdnn certify`` and ``bdnn attack``: how far inputs may be moved before their class changes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bdnn.cli.options import option, options
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.cli.options.learning import Effort, SeededEffort
from bdnn.cli.output import (
    Output,
    as_csv,
    check_picture,
    percent,
    print_pairs,
    print_table,
    write_picture,
)
from bdnn.errors import DataError
from bdnn.progress import ProgressDisplay

if TYPE_CHECKING:
    from bdnn.encoding import Encoder
    from bdnn.network.activation import FloatArray
    from bdnn.robustness import Certification, Domain, PerturbationSet, Verification
    from bdnn.robustness.words import RowAtRisk

_AT_RISK = 5


@dataclass(frozen=True)
class Perturbation:
    """What may be done to the rows of a table."""

    radius: float | None = option(
        "How far inputs may be moved; 0.1 by default, or as often as --move says.", None
    )
    move: list[str] | None = option(
        "How far a column may be moved, in raw units; the others stand still. Repeat it.",
        metavar="COL=LENGTH",
    )
    norm: str = option("linf, l1 or l2.", "linf")
    units: str = option("What the radius measures: scaled inputs, or raw ones.", "scaled")
    integer: list[str] | None = option(
        "A column of whole numbers; repeat it for several.", metavar="COL"
    )
    fixed: list[str] | None = option(
        "A column that cannot be changed; repeat it for several.", metavar="COL"
    )
    change: list[str] | None = option(
        "A column of texts or truth values that may change; repeat it for several.", metavar="COL"
    )
    may_be_missing: list[str] | None = option(
        "A column whose value may get lost; repeat it for several.", metavar="COL"
    )
    may_be_known: list[str] | None = option(
        "A column whose missing value may be any; repeat it for several.", metavar="COL"
    )
    in_range: bool = option("Keep every column within its range in DATA.", False)

    def __str__(self) -> str:
        inputs = f"{self.units} inputs" if not self.move else ", ".join(self.move)
        return f"{self.size:g} ({self.norm}, {inputs})"

    @property
    def size(self) -> float:
        """The radius, in units of moves where these are given."""
        usual = 1.0 if self.move else 0.1
        return usual if self.radius is None else self.radius

    @property
    def measure(self) -> Any:
        """The unit of the radius."""
        return _lengths(self.move) if self.move else self.units


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
    radius = perturbation.size
    around, known, notes = _ask(file, table, perturbation)
    output.tell(notes)
    found = bound(around, radius)
    places = {"out": output.place, "plot": None if plot is None else str(plot)}
    facts = {**known, **places, **_bound_report(found, radius)}
    verified = None
    if exact:
        started = time.perf_counter()
        display = ProgressDisplay[tuple[int, int]](
            lambda counts: "{} of {} rows settled".format(*counts), effort.seconds
        )
        with nullcontext() if output.quiet else display:
            verified = verify(
                around,
                radius,
                smallest=plot is not None,  # a curve needs more than the answer at one radius
                time_limit=effort.seconds,
                n_jobs=effort.jobs,
                on_progress=lambda *counts: display(counts),
            )
        facts |= _exact_report(verified, radius, time.perf_counter() - started)
    if output.out is not None:
        _write(output.out, found, verified)
    if plot is not None:
        from bdnn.plotting import plot_robustness

        named: dict[str, Certification | Verification] = {"certified": found}
        if verified is not None:
            named["worst case"] = verified
        axes = plot_robustness(named, largest=2 * radius or None)
        write_picture(plot, axes.figure)  # type: ignore[arg-type]
    told = found if verified is None else verified
    risks = told.at_risk(_AT_RISK)
    facts["sentence"] = told.sentence
    facts["at_risk"] = [
        {"row": risk.row + 1, "distance": risk.distance, "changes": risk.changes} for risk in risks
    ]
    more = {"radii": found.radii.tolist(), "notes": notes}
    output.show(facts | more, lambda: _print(facts, perturbation, risks))


@options
def attack(
    file: ModelFile,
    table: LabelledTable,
    perturbation: Perturbation,
    effort: SeededEffort,
    output: Output,
    method: str = option("random-sign (the paper's), greedy, boundary or optimal.", "greedy"),
    draws: int = option("Random attacks per row.", 1),
) -> None:
    """Perturb the rows of DATA within a radius and count the classes that change.

    The random attack moves every column by the radius, up or down. The others look for a class
    that changes; 'optimal' finds one whenever there is one, as far as the time limit allows. --out
    takes the perturbed features, as CSV.
    """
    from bdnn.files import write_whole
    from bdnn.robustness import attack as perturb
    from bdnn.robustness.attack import check_attack

    name = method.replace("-", "_")
    check_attack(name, draws)
    around, known, notes = _ask(file, table, perturbation)
    output.tell(notes)
    found = perturb(
        around,
        perturbation.size,
        method=name,
        draws=draws,
        seed=effort.seed,
        time_limit=effort.seconds,
        n_jobs=effort.jobs,
    )
    if output.out is not None:
        write_whole(output.out, as_csv(around.model.feature_names, around.scaler.cells(found.X)))
    facts = known | {
        "out": output.place,
        "method": method,
        "changed_rows": int(found.success.sum()),
        "attacked_accuracy": found.accuracy,
        "lengths": found.lengths.tolist(),
        "notes": notes,
    }
    pairs = [
        ("rows", str(facts["rows"])),
        ("attack", f"{method}, {perturbation}"),
        ("accuracy", percent(facts["accuracy"])),
        ("attacked", f"{percent(found.accuracy)}, {facts['changed_rows']} classes changed"),
        ("written", output.place),
    ]
    output.show(facts, lambda: print_pairs(pairs))


def _ask(
    file: ModelFile, table: LabelledTable, perturbation: Perturbation
) -> tuple[PerturbationSet, dict[str, Any], list[str]]:
    """What surrounds labelled rows of a table, what both commands tell first, and notes."""
    from bdnn.cli.source import check_labels, model_samples, read_classifier
    from bdnn.network.norms import check_radius
    from bdnn.robustness import PerturbationSet

    check_radius(perturbation.size)
    record = read_classifier(file.model)
    X, y, notes = model_samples(record, table)
    check_labels(record, y)
    around = PerturbationSet.create(
        record.model,
        X,
        y,
        norm=perturbation.norm,
        units=perturbation.measure,
        domain=_domain(record.model.encoder, X, perturbation),
    )
    facts = {
        "model": str(file.model),
        "data": table.data,
        "rows": len(X),
        "norm": perturbation.norm,
        "units": perturbation.measure,
        "accuracy": float((around.classes == around.labels).mean()),
        "radius": perturbation.size,
    }
    return around, facts, notes


def _domain(encoder: Encoder, X: FloatArray, perturbation: Perturbation) -> Domain:
    """Ranges of the rows, and the columns that the user names."""
    import numpy as np

    from bdnn.robustness import Domain

    places = {name: [j] for j, name in enumerate(encoder.names)}
    return Domain.create(
        X.shape[1],
        lower=np.nanmin(X, axis=0) if perturbation.in_range else None,
        upper=np.nanmax(X, axis=0) if perturbation.in_range else None,
        integer=_features(places, perturbation.integer or (), "--integer"),
        fixed=_features(places, perturbation.fixed or (), "--fixed"),
        change=_features(places, perturbation.change or (), "--change"),
        may_be_missing=_features(places, perturbation.may_be_missing or (), "--may-be-missing"),
        may_be_known=_features(places, perturbation.may_be_known or (), "--may-be-known"),
    )


def _lengths(moves: Sequence[str]) -> dict[str, float]:
    """Columns and how far each may be moved."""
    found = {}
    for text in moves:
        name, _, length = text.rpartition("=")
        try:
            found[name] = float(length)
        except ValueError:
            found[name] = -1.0
        if not name or not 0 <= found[name] < float("inf"):
            raise DataError(
                f"--move must be a column and a length, got {text!r}: give for example age=2."
            )
    return found


def _features(places: dict[str, list[int]], names: Sequence[str], option: str) -> list[int]:
    unknown = [name for name in names if name not in places]
    if unknown:
        raise DataError(
            f"{option} {unknown[0]!r} is no column of the model, which has "
            f"{', '.join(map(repr, places))}: name one of these."
        )
    return [j for name in names for j in places[name]]


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


def _write(path: Path, found: Certification, verified: Verification | None) -> None:
    """Write for every row what can be checked again: guarantee, counter-example, or both."""
    from bdnn.files import write_whole

    lines = []
    for row in range(len(found.radii)):
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


def _print(report: dict[str, Any], perturbation: Perturbation, risks: list[RowAtRisk]) -> None:
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
    near = [replace(risk, row=risk.row + 1) for risk in risks if risk.changes]
    if near:
        typer.echo("Rows most at risk, counted from 1, with the move that changes their class:")
        for risk in near:
            typer.echo(f"  {risk}, {risk.distance:.4g} away")
        typer.echo("")
    typer.echo(report["sentence"])
