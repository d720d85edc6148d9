"""``bdnn reproduce`` and ``bdnn bench``: experiments by name or from a file, resumable."""

from __future__ import annotations

import math
import os
import shlex
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import typer

from bdnn.cli.options import argument, option, options
from bdnn.cli.output import Answer, note, print_pairs, print_table
from bdnn.errors import DataError, ModelError
from bdnn.progress import ProgressDisplay

if TYPE_CHECKING:
    from bdnn.experiments.experiment import Experiment
    from bdnn.experiments.runner import Progress

_INCOMPLETE = 1
_SHOWN = 2


class Suite(NamedTuple):
    """What a command runs: its name, the folder of its experiments, and what a report says."""

    command: str
    folder: str
    title: str


@dataclass(frozen=True)
class Request(Answer):
    """What a user asks for."""

    panel: ClassVar[str] = "Options"

    names: list[str] | None = argument(
        "[NAME]...",
        "Names from the list (shown without any), 'all', or TOML files of your own.",
        None,
    )
    quick: bool = option("A small part of everything, in a minute or two.", False)
    seeds: int | None = option("Only so many seeds of every experiment.", shown="all of them")
    out: Path | None = option(
        "Where results and reports go; nothing is written else.", metavar="FOLDER"
    )
    jobs: int | None = option("Cells at a time, each in one core.", shown="all cores")
    scheduler: str | None = option(
        "Of a Dask cluster to run on, as in tcp://10.0.0.5:8786.", metavar="ADDRESS"
    )
    retry: bool = option("Run cells that failed once more.", False)
    estimate: bool = option("Only say how long it would take.", False)
    report_only: bool = option("Write the reports of what is there; run nothing.", False)

    @property
    def workers(self) -> int:
        """Cells at a time on this machine."""
        return self.jobs or os.cpu_count() or 1

    def line(self, suite: Suite) -> str:
        """The command that does the same again, without the paths of this machine."""
        names = [Path(name).name for name in self.names or ()]
        parts = ["bdnn", suite.command, *names, *(["--quick"] if self.quick else [])]
        parts += ["--seeds", str(self.seeds)] if self.seeds else []
        return shlex.join([*parts, "--out", self.out.name if self.out else "results"])


_TABLES = Suite("reproduce", "tables", "The paper's tables and figures, made again")
_BENCHMARKS = Suite("bench", "benchmarks", "Benchmarks of bdnn")


@options
def reproduce(request: Request) -> None:
    """Make the paper's tables and figures again, beside the paper's numbers.

    Every finished cell is written to FOLDER/results.jsonl at once, so that a run that is stopped
    or killed goes on where it was when it is started again. FOLDER/report.html, report.md and
    figures/ show what is there. The exit code is 1 if cells failed or are missing.
    """
    _answer(request, _TABLES)


@options
def bench(request: Request) -> None:
    """Measure this machine and version: time to a proof, accuracy beside other classifiers.

    Works like 'bdnn reproduce', with experiments of our own instead of the paper's.
    """
    _answer(request, _BENCHMARKS)


def _answer(request: Request, suite: Suite) -> None:
    """Do what a user asks for."""
    _check(request)
    if not request.names:
        _list(request, suite)
        return
    from bdnn.experiments import load_experiment, names

    groups = [names(suite.folder) if name == "all" else (name,) for name in request.names]
    experiments = [
        load_experiment(name, quick=request.quick, folder=suite.folder).first(request.seeds)
        for name in dict.fromkeys(chain(*groups))
    ]
    if request.estimate:
        _estimate(request, experiments)
        return
    if request.out is None:
        raise ModelError("there is no folder to write to: add --out FOLDER.")
    if request.out.exists() and not request.out.is_dir():
        raise DataError(f"cannot write to {request.out}: it is no folder: choose another name.")
    is_interrupted = not request.report_only and _run(request, request.out, experiments)
    is_whole = _report(request, suite, request.out, experiments)
    if is_interrupted or not is_whole:
        raise typer.Exit(_INCOMPLETE)


def _check(request: Request) -> None:
    """Refuse options that would have no effect."""
    if request.scheduler is not None and request.jobs is not None:
        raise ModelError("--jobs is for this machine, not for a cluster: leave it out.")
    if request.jobs is not None and request.jobs < 1:
        raise ModelError(f"--jobs must be at least 1, got {request.jobs}: raise it.")
    if request.seeds is not None and request.seeds < 1:
        raise ModelError(f"--seeds must be at least 1, got {request.seeds}: raise it.")
    idle = {"--retry": request.retry, "--report-only": request.report_only}
    unused = [name for name, given in idle.items() if given]
    if unused and (request.estimate or not request.names):
        raise ModelError(f"{unused[0]} has no effect here: leave it out or name what to run.")
    if request.retry and request.report_only:
        raise ModelError("--report-only runs nothing, so --retry has no effect: leave one out.")
    if not request.names and request.out is not None:
        raise ModelError("--out has no effect without a name: name what to run, for example all.")


def _list(request: Request, suite: Suite) -> None:
    from bdnn.experiments import estimated_seconds, load_experiment, names, plan

    records: list[dict[str, Any]] = []
    lines = []
    for name in names(suite.folder):
        record: dict[str, Any] = {"name": name}
        for mode in ("full", "quick"):
            experiment = load_experiment(name, quick=mode == "quick", folder=suite.folder)
            cells = plan([experiment])
            record["title"] = experiment.title
            record[f"{mode}_cells"] = len(cells)
            record[f"{mode}_seconds"] = estimated_seconds(cells.values(), request.workers)
        records.append(record)
        told = (duration(x) if key.endswith("seconds") else str(x) for key, x in record.items())
        lines.append(list(told))

    def show() -> None:
        print_table(["name", "title", "cells", "time", "quick cells", "quick time"], lines)
        typer.echo(
            f"times are estimates for {request.workers} cells at a time; run with "
            f"'bdnn {suite.command} NAME --out FOLDER', or all"
        )

    request.show({"experiments": records, "jobs": request.workers}, show)


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
    from bdnn.experiments import plan, run_cells
    from bdnn.experiments.results import ResultFile

    cells = plan(experiments)
    display = ProgressDisplay(describe, len(cells), reached=lambda progress: progress.done)
    try:
        with ResultFile(folder) as file, nullcontext() if request.quiet else display:
            run_cells(
                cells,
                file,
                jobs=request.workers,
                scheduler=request.scheduler,
                retry=request.retry,
                # The run goes on changing its own while another thread shows this one.
                on_progress=lambda p: display(replace(p, handed_over=dict(p.handed_over))),
            )
    except KeyboardInterrupt:
        note("interrupted: what is done is kept, and the same command goes on from there.")
        return True
    return False


def describe(progress: Progress) -> str:
    """Write a moment of a run in one line."""
    running = progress.running
    line = (
        f"{progress.done} of {progress.total} done, {len(running)} running, "
        f"{progress.failed} failed"
    )
    if math.isfinite(progress.seconds_left):
        line += f", {duration(progress.seconds_left)} left"
    return f"{line}  {'; '.join(running[:_SHOWN])}" if running else line


def _report(request: Request, suite: Suite, folder: Path, experiments: list[Experiment]) -> bool:
    """Write the reports and say what is in them; tell whether every cell is done."""
    from bdnn.experiments import plan, write_report
    from bdnn.experiments.contents import details
    from bdnn.experiments.results import read_results

    if not folder.is_dir():
        raise DataError(f"there are no results in {folder}: run without --report-only first.")
    rows = read_results(folder)
    contents = write_report(
        folder, experiments, rows, title=suite.title, command=request.line(suite)
    )
    cells = plan(experiments)
    done = sum(1 for key in cells if key in rows and rows[key]["status"] == "done")
    summary, n_failed = contents.summary, len(contents.failures)

    def show() -> None:
        lines = [("cells", f"{done} of {len(cells)} done, {n_failed} failed")]
        if summary.accuracy.total:
            lines.append(("accuracy cells at or above the paper", str(summary.accuracy)))
        print_pairs([*lines, *details(summary), ("report", str(folder / "report.html"))])
        for label, reason in contents.failures[:3]:
            note(f"failed: {label}: {reason}")

    facts = {
        "out": str(folder),
        "cells": len(cells),
        "done": done,
        "failed": n_failed,
        "accuracy_cells": summary.accuracy.total,
        "accuracy_cells_reached": summary.accuracy.reached,
        "speedup": summary.speedup,
    }
    request.show(facts, show)
    return done == len(cells)


def duration(seconds: float) -> str:
    """A time as people say it."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
