"""Independent tasks of one fit on several cores or machines, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    # Number of workers as scikit-learn counts them: None is one, -1 is all cores.
    n_jobs: int | None = None,
    # Threads for compiled code, which lets others run; processes for many short calls of it, where
    # threads would wait for each other.
    prefer: Literal["threads", "processes"] = "threads",
    # Whether tasks tell each other what they have found, so that they have to be threads.
    is_shared: bool = False,
) -> Iterator[Result]:
    """Apply a function to every task and yield the results in the order of the tasks.

    ``joblib.parallel_config`` may send them elsewhere, also to other machines, unless they share
    memory. A task is taken when a worker is free for it.
    """
    if n_jobs in (None, 1):
        yield from map(function, tasks)
        return
    from joblib import Parallel, delayed

    workers = Parallel(
        n_jobs=n_jobs,
        prefer=prefer,
        require="sharedmem" if is_shared else None,
        pre_dispatch="n_jobs",
        batch_size=1,
        return_as="generator",
    )
    yield from workers(delayed(function)(task) for task in tasks)
