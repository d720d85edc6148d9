"""Workers on other machines: a Dask cluster, for experiments and as joblib's back end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from bdnn.errors import DataError, UnsupportedFeatureError

Task = TypeVar("Task")
Result = TypeVar("Result")

_CONNECT_SECONDS = 15


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
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    lost: Callable[[Task], Result],
) -> Iterator[Result]:
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
    client: Any, function: Callable[[Task], Result], tasks: Iterable[Task], n_under_way: int
) -> Iterator[tuple[Task, Result | None]]:
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
