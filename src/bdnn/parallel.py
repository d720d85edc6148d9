"""Independent tasks of one fit in several threads, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    # Number of workers as scikit-learn counts them: None is one, -1 is all cores.
    n_jobs: int | None = None,
) -> list[Result]:
    """Apply a function to every task and return the results in the order of the tasks.

    The tasks of one fit share what they have found so far, hence memory, and compiled code lets
    other threads run. So these are threads, also where ``joblib.parallel_config`` sends whole fits
    to other processes or machines.
    """
    if n_jobs in (None, 1):
        return [function(task) for task in tasks]
    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=n_jobs, require="sharedmem")
    return list(workers(delayed(function)(task) for task in tasks))
