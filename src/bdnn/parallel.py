"""Independent tasks of one fit on several cores or machines, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, Literal, Self, TypeVar

from bdnn.clock import Slot

_POLL_SECONDS = 0.05

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


class Ahead(Generic[Task, Result]):
    """Results of tasks that are asked for one after the other, while threads do the next ones.

    For searches that know what comes next, mostly: what they do with a result may call for others
    first. With one thread a task is done when it is asked for.
    """

    def __init__(
        self, function: Callable[[Task, Slot], Result], *, slot: Slot, threads: int = 1
    ) -> None:
        self._function, self._slot, self._threads = function, slot, threads
        self._begun: dict[int, Future[Result]] = {}
        self._is_over = False
        # Threads look at the clock alone: whom the slot asks besides may not expect them.
        self._quiet = Slot(slot.deadline, slot.clock, lambda: self._is_over)

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None
        return self

    def __exit__(self, *_exception: object) -> None:
        self._is_over = True
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def first(self, tasks: Mapping[int, Task]) -> Result:
        """Result of the first of some tasks by their numbers; others are begun beside it."""
        number, task = next(iter(tasks.items()))
        if self._pool is None:
            return self._function(task, self._slot)
        for key, other in tasks.items():
            if key not in self._begun:
                self._begun[key] = self._pool.submit(self._function, other, self._quiet)
        future = self._begun.pop(number)
        while not wait([future], _POLL_SECONDS).done:
            self._is_over = self._slot.is_over()
        return future.result()
