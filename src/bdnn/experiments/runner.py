"""The grid at work: what is missing is run, what is done is on disk, a killed run goes on.

Cells run in processes of this machine, or on the workers of a Dask cluster.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from bdnn.errors import DataError, UnsupportedFeatureError
from bdnn.experiments.experiment import Cell
from bdnn.experiments.results import ResultFile, machine, run_cell, versions

Task = tuple[str, Mapping[str, Any]]

_CONNECT_SECONDS = 15


@dataclass
class Progress:
    """How far a run is: cells done and failed, results of earlier runs included.

    ``handed_over`` are labels by key: cells that run, and after them those that wait for a worker
    to get free. The seconds left are an estimate, NaN before the first cell.
    """

    total: int
    done: int = 0
    failed: int = 0
    workers: int = 1
    handed_over: dict[str, str] = field(default_factory=dict)
    seconds_left: float = math.nan

    @property
    def running(self) -> list[str]:
        """Labels of the cells that run, those that were begun first before the others."""
        return list(self.handed_over.values())[: self.workers]


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
    n_failed = sum(row["status"] == "failed" for row in rows.values())
    progress = Progress(len(cells), len(rows), n_failed, workers=jobs)
    waiting = {key: cell for key, cell in cells.items() if key not in rows}
    on_progress(progress)
    if not waiting:
        return progress
    run = _Run(waiting, file, progress, on_progress)
    if scheduler is not None:
        with dask_cluster(scheduler) as client:
            progress.workers = sum(client.nthreads().values())
            run.take_all(stream_on_cluster(client, attempt, run.tasks(waiting), _lost))
        return progress
    while run.waiting:
        run.work_off(run.waiting, jobs)
    return progress


class _Run:
    """Cells that wait, those under way, and the pace so far."""

    def __init__(
        self,
        waiting: dict[str, Cell],
        file: ResultFile,
        progress: Progress,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.waiting = waiting
        self.file = file
        self.progress = progress
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._expected = 0.0

    def work_off(self, cells: Mapping[str, Cell], jobs: int) -> None:
        """Take results of this machine's processes until all are there, or one of them dies.

        Of several cells under way any may be what killed it, so each of them is run alone then;
        the one that kills again has failed.
        """
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        # No cell is handed over before a worker is free: what is under way is then known.
        workers = Parallel(
            jobs,
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="n_jobs",
        )
        try:
            self.take_all(workers(delayed(attempt)(task) for task in self.tasks(cells)))
        except TerminatedWorkerError:
            suspects = {key: self.waiting[key] for key in self.progress.handed_over}
            if len(cells) == 1:
                for key, cell in suspects.items():
                    self._take(_lost((key, cell.work)))
                return
            for key, cell in suspects.items():
                self.work_off({key: cell}, jobs)

    def take_all(self, rows: Iterable[dict[str, Any]]) -> None:
        """Put rows on disk as they come."""
        for row in rows:
            self._take(row)

    def tasks(self, cells: Mapping[str, Cell]) -> Iterator[Task]:
        """What workers get, one after the other."""
        self.progress.handed_over.clear()
        for key, cell in list(cells.items()):
            self.progress.handed_over[key] = cell.label
            self._on_progress(self.progress)
            yield key, cell.work

    def _take(self, row: dict[str, Any]) -> None:
        if row["status"] == "interrupted":
            raise KeyboardInterrupt
        self.file.append(row)
        cell = self.waiting.pop(row["key"])
        progress = self.progress
        progress.handed_over.pop(row["key"], None)
        progress.done += 1
        progress.failed += row["status"] == "failed"
        self._expected += cell.typical
        left = math.fsum(waiting.typical for waiting in self.waiting.values())
        progress.seconds_left = left * (time.monotonic() - self._started) / self._expected
        self._on_progress(progress)


def attempt(task: Task) -> dict[str, Any]:
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


def _lost(task: Task) -> dict[str, Any]:
    reason = "the process died, for want of memory or by a crash of a library"
    return _failed(*task, reason, 0.0)


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


@contextmanager
def dask_cluster(scheduler: str) -> Iterator[Any]:
    """Connect to a Dask cluster, which is joblib's back end meanwhile, and give its client."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UnsupportedFeatureError(
            "a cluster needs the package distributed, which is not installed: run pip "
            "install 'bdnn[dask]'."
        ) from error
    import joblib

    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise DataError(
            f"no Dask scheduler answers at {scheduler!r}: start one with 'dask scheduler' and give "
            "the address that it prints."
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise DataError(
                f"the Dask scheduler at {scheduler!r} has no workers: start some with 'dask worker "
                f"{scheduler} --nthreads 1'."
            ) from error
        with joblib.parallel_config(backend="dask", client=client):
            yield client


def stream_on_cluster(
    client: Any,
    function: Callable[[Task], dict[str, Any]],
    tasks: Iterable[Task],
    lost: Callable[[Task], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Apply a function to every task on a cluster and yield results as they come.

    A task whose worker dies is run again on another one. The scheduler gives up tasks whose workers
    die again and again, and with them innocent ones that waited there; these are run once more at
    the end, each alone, and ``lost`` says what to yield for one that is given up even then.
    (joblib's own back end for Dask waits for such a task for ever, as of 1.6.)
    """
    given_up: list[Task] = []
    # More than the workers can do, so that none of them waits for the network.
    n_under_way = 2 * sum(client.nthreads().values())
    for task, result in _finished(client, function, tasks, n_under_way):
        if result is None:
            given_up.append(task)
        else:
            yield result
    for task, result in _finished(client, function, given_up, 1):
        yield lost(task) if result is None else result


def _finished(
    client: Any, function: Callable[[Task], dict[str, Any]], tasks: Iterable[Task], n_under_way: int
) -> Iterator[tuple[Task, dict[str, Any] | None]]:
    """Tasks with their results, None for those that were given up."""
    from distributed import as_completed

    waiting = iter(tasks)
    under_way: dict[Any, Task] = {}

    def submit(task: Task) -> Any:
        future = client.submit(function, task, pure=False)
        under_way[future.key] = task
        return future

    futures = as_completed(map(submit, islice(waiting, n_under_way)), loop=client.loop)
    for future in futures:
        task = under_way.pop(future.key)
        result = future.result() if future.status == "finished" else None
        for following in islice(waiting, 1):
            futures.add(submit(following))
        yield task, result
