"""The grid at work: what is missing is run, what is done is on disk, a killed run goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bdnn.experiments.cells import Cell
from bdnn.experiments.cluster import dask_cluster
from bdnn.experiments.evaluation import run_cell
from bdnn.experiments.machine import machine, versions
from bdnn.experiments.results import ResultFile
from bdnn.parallel import stream_tasks


@dataclass
class Progress:
    """How far a run is.

    Parameters
    ----------
    total : int
        Cells of the plan.
    done, failed : int
        Of these, results of earlier runs included.
    running : mapping of key to label
    seconds_left : float
        Estimate, NaN before the first cell.
    newest : mapping or None
        The row that was added last.
    """

    total: int
    done: int = 0
    failed: int = 0
    running: dict[str, str] = field(default_factory=dict)
    seconds_left: float = math.nan
    newest: Mapping[str, Any] | None = None


def run_cells(
    cells: Mapping[str, Cell],
    file: ResultFile,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    retry: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Run the cells that have no result yet and append every result as soon as it is there.

    Parameters
    ----------
    cells : mapping of key to Cell
    file : ResultFile
        Open.
    jobs : int
        Processes of this machine.
    scheduler : str, optional
        Address of a Dask scheduler whose workers are used instead.
    retry : bool
        Whether cells that failed before are run again.
    on_progress : callable
    """
    rows = {key: file.rows[key] for key in cells if key in file.rows}
    if retry:
        rows = {key: row for key, row in rows.items() if row["status"] == "done"}
    progress = Progress(
        len(cells), len(rows), sum(row["status"] == "failed" for row in rows.values())
    )
    waiting = {key: cell for key, cell in cells.items() if key not in rows}
    on_progress(progress)
    if not waiting:
        return progress
    with _workers(jobs, scheduler) as slots:
        run = _Run(waiting, file, progress, slots, on_progress)
        while run.waiting:
            run.work_off(run.waiting)
    return progress


@contextmanager
def _this_machine(jobs: int) -> Iterator[int]:
    import joblib

    with joblib.parallel_config(backend="loky", n_jobs=jobs):
        yield jobs


def _workers(jobs: int, scheduler: str | None) -> AbstractContextManager[int]:
    return _this_machine(jobs) if scheduler is None else dask_cluster(scheduler)


class _Run:
    """Cells that wait, those under way, and the pace so far."""

    def __init__(
        self,
        waiting: dict[str, Cell],
        file: ResultFile,
        progress: Progress,
        slots: int,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.waiting = waiting
        self.file = file
        self.progress = progress
        self.slots = slots
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._expected = 0.0

    def work_off(self, cells: Mapping[str, Cell]) -> None:
        """Take results until all are there, or until a process dies.

        Of several cells under way any may be what killed it, so each of them is run alone then;
        the one that kills again has failed.
        """
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        under_way = self.progress.running
        under_way.clear()
        try:
            for row in stream_tasks(attempt, self._tasks(dict(cells))):
                self._take(row)
        except TerminatedWorkerError:
            suspects = {key: self.waiting[key] for key in list(under_way)}
            if len(cells) == 1:
                for key, cell in suspects.items():
                    reason = "the process died, for want of memory or by a crash of a library"
                    self._take(_failed(key, cell.work, reason, 0.0))
                return
            for key, cell in suspects.items():
                self.work_off({key: cell})

    def _tasks(self, cells: Mapping[str, Cell]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for key, cell in cells.items():
            self.progress.running[key] = cell.label
            yield key, cell.work

    def _take(self, row: dict[str, Any]) -> None:
        if row["status"] == "interrupted":
            raise KeyboardInterrupt
        self.file.append(row)
        cell = self.waiting.pop(row["key"])
        progress = self.progress
        progress.running.pop(row["key"], None)
        progress.done += 1
        progress.failed += row["status"] == "failed"
        progress.newest = {**row, "label": cell.label}
        self._expected += cell.typical
        left = math.fsum(waiting.typical for waiting in self.waiting.values())
        progress.seconds_left = left * (time.monotonic() - self._started) / self._expected
        self._on_progress(progress)


def attempt(task: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Run a cell in a worker; whatever goes wrong in it is a result too."""
    key, work = task
    began = time.perf_counter()
    try:
        found = run_cell(work)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return _failed(key, work, reason, time.perf_counter() - began)
    # Ctrl-C makes a fit return early, and with less than it was given time for.
    is_whole = found["notes"].get("status") != "interrupted"
    status = "done" if is_whole else "interrupted"
    return _row(key, work, status, time.perf_counter() - began) | found


def _failed(key: str, work: Mapping[str, Any], reason: str, seconds: float) -> dict[str, Any]:
    return _row(key, work, "failed", seconds) | {"error": reason}


def _row(key: str, work: Mapping[str, Any], status: str, seconds: float) -> dict[str, Any]:
    return {
        "key": key,
        "status": status,
        "work": dict(work),
        "wall_seconds": round(seconds, 3),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
    }
