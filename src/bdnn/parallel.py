"""Independent tasks on several workers, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, n_jobs: int | None = None
) -> list[Result]:
    """Apply a function to every task and return the results in the order of the tasks.

    Compiled code lets other threads run, so threads are preferred: they start at once and share the
    data. ``joblib.parallel_config`` chooses otherwise.

    Parameters
    ----------
    function : callable of one argument
    tasks : iterable
    n_jobs : int or None
        Number of workers as scikit-learn counts them: None is one, -1 is all cores.
    """
    if n_jobs in (None, 1):
        return [function(task) for task in tasks]
    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=n_jobs, prefer="threads")
    return list(workers(delayed(function)(task) for task in tasks))
