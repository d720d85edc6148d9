"""``bdnn reproduce`` and ``bdnn bench``: experiments by name or from a file, resumable."""

from __future__ import annotations

from bdnn.cli.experiments import Request, Suite, run_request
from bdnn.cli.options import options

_TABLES = Suite("reproduce", "tables", "The paper's tables and figures, made again")
_BENCHMARKS = Suite("bench", "benchmarks", "Benchmarks of bdnn")


@options
def reproduce(request: Request) -> None:
    """Make the paper's tables and figures again, beside the paper's numbers.

    Every finished cell is written to FOLDER/results.jsonl at once, so that a run that is stopped
    or killed goes on where it was when it is started again. FOLDER/report.html, report.md and
    figures/ show what is there. The exit code is 1 if cells failed or are missing.
    """
    run_request(request, _TABLES)


@options
def bench(request: Request) -> None:
    """Measure this machine and version: time to a proof, accuracy beside other classifiers.

    Works like 'bdnn reproduce', with experiments of our own instead of the paper's.
    """
    run_request(request, _BENCHMARKS)
