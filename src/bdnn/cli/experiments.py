"""What ``bdnn reproduce`` and ``bdnn bench`` have in common: list, estimate, run, report."""

from __future__ import annotations

import math
import os
import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import typer

from bdnn.cli.console import note, print_pairs, print_table
from bdnn.cli.options.output import Answer
from bdnn.errors import DataError, ModelError

if TYPE_CHECKING:
    from bdnn.experiments.cells import Cell
    from bdnn.experiments.experiment import Experiment
    from bdnn.experiments.report.contents import Contents

_INCOMPLETE = 1
_BACKENDS = ("processes", "dask")


class Suite(NamedTuple):
    """What a command runs: its name, the folder of its experiments, and what a report says."""

    command: str
    folder: str
    title: str


@dataclass(frozen=True)
class Request(Answer):
    """What a user asks for."""

    panel: ClassVar[str] = "Options"

    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Names from the list, 'all', or TOML files of your own.",
            show_default="list what exists",
        ),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of everything, in a minute or two.")
    ] = False
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where results and reports go; nothing is written else."
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(help="Cells at a time, each in one core.", show_default="all cores"),
    ] = None
    backend: Annotated[
        str, typer.Option(help="processes of this machine, or dask for a cluster.")
    ] = "processes"
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of the cluster, as in tcp://10.0.0.5:8786."),
    ] = None
    retry: Annotated[bool, typer.Option("--retry", help="Run cells that failed once more.")] = False
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say how long it would take.")
    ] = False
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Write the reports of what is there; run nothing.")
    ] = False

    @property
    def workers(self) -> int:
        """Cells at a time on this machine."""
        return self.jobs or os.cpu_count() or 1

    def line(self, suite: Suite) -> str:
        """The command that does the same again, without the paths of this machine."""
        names = [Path(name).name for name in self.names or ()]
        parts = ["bdnn", suite.command, *names, *(["--quick"] if self.quick else [])]
        return shlex.join([*parts, "--out", self.out.name if self.out else "results"])


def run_request(request: Request, suite: Suite) -> None:
    """Do what a user asks for."""
    _check(request)
    if not request.names:
        _list(request, suite)
        return
    experiments = _load(request, suite)
    if request.estimate:
        _estimate(request, experiments)
        return
    if request.out is None:
        raise ModelError("there is no folder to write to: add --out FOLDER.")
    if request.out.exists() and not request.out.is_dir():
        raise DataError(f"cannot write to {request.out}: it is no folder: choose another name.")
    interrupted = False
    if not request.report_only:
        interrupted = _run(request, request.out, experiments)
    _report(request, suite, request.out, experiments, interrupted)


def _check(request: Request) -> None:
    """Refuse options that would have no effect."""
    if request.backend not in _BACKENDS:
        raise ModelError(
            f"the back end must be one of {', '.join(_BACKENDS)}, got {request.backend!r}: choose "
            "one of these."
        )
    if (request.backend == "dask") != (request.scheduler is not None):
        raise ModelError(
            "a cluster needs both --backend dask and --scheduler ADDRESS: give both or none."
        )
    if request.scheduler is not None and request.jobs is not None:
        raise ModelError("--jobs is for this machine, not for a cluster: leave it out.")
    if request.jobs is not None and request.jobs < 1:
        raise ModelError(f"--jobs must be at least 1, got {request.jobs}: raise it.")
    idle = {"--retry": request.retry, "--report-only": request.report_only}
    unused = [name for name, given in idle.items() if given]
    if unused and (request.estimate or not request.names):
        raise ModelError(f"{unused[0]} has no effect here: leave it out or name what to run.")
    if request.retry and request.report_only:
        raise ModelError("--report-only runs nothing, so --retry has no effect: leave one out.")
    if not request.names and request.out is not None:
        raise ModelError("--out has no effect without a name: name what to run, for example all.")


def _load(request: Request, suite: Suite) -> list[Experiment]:
    from bdnn.experiments import load_experiment, names

    wanted = [
        name
        for given in request.names or ()
        for name in (names(suite.folder) if given == "all" else (given,))
    ]
    unique = list(dict.fromkeys(wanted))
    return [load_experiment(name, quick=request.quick, folder=suite.folder) for name in unique]


def _list(request: Request, suite: Suite) -> None:
    from bdnn.experiments import estimated_seconds, load_experiment, names, plan

    records: list[dict[str, Any]] = []
    for name in names(suite.folder):
        record: dict[str, Any] = {"name": name}
        for mode in ("full", "quick"):
            experiment = load_experiment(name, quick=mode == "quick", folder=suite.folder)
            cells = plan([experiment])
            record["title"] = experiment.title
            record[f"{mode}_cells"] = len(cells)
            record[f"{mode}_seconds"] = estimated_seconds(cells.values(), request.workers)
        records.append(record)
    told = {"experiments": records, "jobs": request.workers}
    request.show(told, lambda: _print_list(request, suite, records))


def _print_list(request: Request, suite: Suite, records: list[dict[str, Any]]) -> None:
    print_table(
        ["name", "title", "cells", "time", "quick cells", "quick time"],
        [
            [
                record["name"],
                record["title"],
                str(record["full_cells"]),
                duration(record["full_seconds"]),
                str(record["quick_cells"]),
                duration(record["quick_seconds"]),
            ]
            for record in records
        ],
    )
    typer.echo(
        f"times are estimates for {request.workers} cells at a time; run with "
        f"'bdnn {suite.command} NAME --out FOLDER', or all"
    )


def _estimate(request: Request, experiments: list[Experiment]) -> None:
    from bdnn.experiments import estimated_seconds, plan
    from bdnn.experiments.results import read_results

    cells = plan(experiments)
    done = set() if request.out is None else set(read_results(request.out))
    left = [cell for key, cell in cells.items() if key not in done]
    seconds = estimated_seconds(left, request.workers)
    counts = {"cells": len(cells), "done": len(cells) - len(left)}
    pairs = [
        ("cells", f"{counts['cells']}, {counts['done']} of them done"),
        ("at a time", str(request.workers)),
        ("time", f"about {duration(seconds)}"),
    ]
    told = {**counts, "jobs": request.workers, "seconds": seconds}
    request.show(told, lambda: print_pairs(pairs))


def _run(request: Request, folder: Path, experiments: list[Experiment]) -> bool:
    """Run what is missing; tell whether the user stopped it."""
    from bdnn.cli.grid_progress import GridProgress
    from bdnn.experiments import plan, run_cells
    from bdnn.experiments.results import ResultFile

    cells: dict[str, Cell] = plan(experiments)
    display = nullcontext() if request.quiet else GridProgress()
    try:
        with ResultFile(folder) as file, display as shown:
            run_cells(
                cells,
                file,
                jobs=request.workers,
                scheduler=request.scheduler,
                retry=request.retry,
                on_progress=(lambda progress: None) if shown is None else shown.take,
            )
    except KeyboardInterrupt:
        note("interrupted: what is done is kept, and the same command goes on from there.")
        return True
    return False


def _report(
    request: Request,
    suite: Suite,
    folder: Path,
    experiments: list[Experiment],
    interrupted: bool,
) -> None:
    from bdnn.experiments import plan, write_report
    from bdnn.experiments.results import read_results

    if not folder.is_dir():
        raise DataError(f"there are no results in {folder}: run without --report-only first.")
    rows = read_results(folder)
    contents = write_report(
        folder, experiments, rows, title=suite.title, command=request.line(suite)
    )
    cells = plan(experiments)
    done = sum(key in rows and rows[key]["status"] == "done" for key in cells)
    _tell(request, folder, contents, done, len(cells))
    if interrupted or done < len(cells):
        raise typer.Exit(_INCOMPLETE)


def _tell(request: Request, folder: Path, contents: Contents, done: int, total: int) -> None:
    from bdnn.experiments.report.contents import details

    summary = contents.summary
    facts = {
        "out": str(folder),
        "cells": total,
        "done": done,
        "failed": len(contents.failures),
        "accuracy_cells": summary.accuracy.total,
        "accuracy_cells_reached": summary.accuracy.reached,
        "speedup": summary.speedup,
    }

    def show() -> None:
        lines = [("cells", f"{done} of {total} done, {len(contents.failures)} failed")]
        if summary.accuracy.total:
            lines.append(("accuracy cells at or above the paper", str(summary.accuracy)))
        print_pairs([*lines, *details(summary), ("report", str(folder / "report.html"))])
        for label, reason in contents.failures[:3]:
            note(f"failed: {label}: {reason}")

    request.show(facts, show)


def duration(seconds: float) -> str:
    """A time as people say it."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
