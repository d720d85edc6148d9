"""Independent tasks on several workers, through joblib and the back ends registered with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, n_jobs: int | None = None
) -> list[Result]:
    """Apply a function to every task and return the results in the order of the tasks.

    The tasks of one fit share what they have found so far, hence memory, and compiled code lets
    other threads run. So these are threads, also where ``joblib.parallel_config`` sends whole fits
    to other processes or machines.

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

    workers = Parallel(n_jobs=n_jobs, require="sharedmem")
    return list(workers(delayed(function)(task) for task in tasks))


def stream_tasks(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, n_jobs: int | None = None
) -> Iterator[Result]:
    """Apply a function to every task in processes and yield every result as soon as it is there.

    Tasks share nothing, so that ``joblib.parallel_config`` may send them to other machines.

    Parameters
    ----------
    function : callable of one argument
        Of a module, so that another process can import it.
    tasks : iterable
        Taken from as workers get free.
    n_jobs : int or None
        Number of workers; None is one, or what ``joblib.parallel_config`` says.
    """
    from joblib import Parallel, delayed

    # No task is handed over before a worker is free: what is under way is then known.
    workers = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )
    yield from workers(delayed(function)(task) for task in tasks)
