"""``bdnn reproduce`` and ``bdnn bench``: experiments by name or from a file, resumable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bdnn.cli.options import JsonOption

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Names from the list, 'all', or TOML files of your own.",
        show_default="list what exists",
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="A small part of everything, in a minute or two.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where results and reports go; nothing is written else."),
]
JobsOption = Annotated[
    int | None, typer.Option(help="Cells at a time, each in one core.", show_default="all cores")
]
BackendOption = Annotated[
    str, typer.Option(help="processes of this machine, or dask for a cluster.")
]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Of the cluster, as in tcp://10.0.0.5:8786.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Run cells that failed once more.")]
EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Only say how long it would take.")
]
ReportOption = Annotated[
    bool, typer.Option("--report-only", help="Write the reports of what is there; run nothing.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]


_REPRODUCE = """Make the paper's tables and figures again, beside the paper's numbers.

    Every finished cell is written to FOLDER/results.jsonl at once, so that a run that is stopped
    or killed goes on where it was when it is started again. FOLDER/report.html, report.md and
    figures/ show what is there. The exit code is 1 if cells failed or are missing.
    """
_BENCH = """Measure this machine and version: time to a proof, accuracy beside other classifiers.

    Works like 'bdnn reproduce', with experiments of our own instead of the paper's.
    """


def _command(name: str, folder: str, title: str, doc: str) -> Callable[..., None]:
    """A command over the experiments of a folder; both have the same options."""

    def command(
        names: NamesArgument = None,
        quick: QuickOption = False,
        out: OutOption = None,
        jobs: JobsOption = None,
        backend: BackendOption = "processes",
        scheduler: SchedulerOption = None,
        retry: RetryOption = False,
        estimate: EstimateOption = False,
        report_only: ReportOption = False,
        quiet: QuietOption = False,
        as_json: JsonOption = False,
    ) -> None:
        from bdnn.cli.experiments import Request, run_request

        request = Request(
            command=name,
            folder=folder,
            title=title,
            names=tuple(names or ()),
            quick=quick,
            out=out,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            retry=retry,
            estimate=estimate,
            report_only=report_only,
            quiet=quiet,
            as_json=as_json,
        )
        run_request(request)

    command.__name__ = name
    command.__doc__ = doc
    return command


reproduce = _command(
    "reproduce", "tables", "The paper's tables and figures, made again", _REPRODUCE
)
bench = _command("bench", "benchmarks", "Benchmarks of bdnn", _BENCH)
