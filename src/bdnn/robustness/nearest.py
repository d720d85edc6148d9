"""The smallest perturbation that changes a class: cheap first, exact where that leaves a gap.

1. the sound bound and the attacks, for all samples at once;
2. a few boxes of branch and bound, whose proofs need no solver;
3. a mixed-integer program for what is still open, samples in parallel.

A counter-example is a raw input that the forward pass puts into another class; its distance is the
upper limit. The lower limit is what a bound, the boxes or a solver prove, and its origin is told.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.parallel import run_tasks
from bdnn.robustness.attempts import boundary, greedy
from bdnn.robustness.certify import guaranteed_radii, is_guaranteed
from bdnn.robustness.question import BEYOND, Answer, Question
from bdnn.robustness.surroundings import Surroundings
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver

_ATTACKED_AT_ONCE = 128


def search(
    around: Surroundings,
    radius: FloatArray,
    *,
    reference: FloatArray,
    smallest: bool = True,
    method: str = "auto",
    solver: str | AbstractSolver = "auto",
    seconds: float = math.inf,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Answer]:
    """Find the smallest perturbation of every sample.

    Parameters
    ----------
    around : Surroundings
    radius : array of shape (n_samples,)
        How far to look; infinite for as far as it takes.
    reference : array
        Raw inputs among which the boundary attack finds samples of other classes.
    smallest : bool
        Whether the nearest counter-example is wanted, or any within the radius will do.
    method : {"auto", "boxes", "program"}
        The whole sequence, or a single exact method without anything before it.
    solver : str or AbstractSolver
    seconds : float
        For all samples together.
    n_jobs : int or None
        Samples at the same time.
    on_progress : callable, optional
        Told how many samples are settled, and of how many.

    Returns
    -------
    list of Answer
        Ctrl-C ends the search; samples it did not come to have the answer of cheap methods.
    """
    from joblib import effective_n_jobs  # slow to load

    deadline = time.perf_counter() + seconds
    if smallest:
        lower = guaranteed_radii(around, deadline=deadline)
    else:
        beyond = radius * (1 + BEYOND) + BEYOND
        lower = np.where(is_guaranteed(around, beyond), beyond, 0.0)
    answers = [Answer(value, math.inf, None) for value in lower.tolist()]
    if method == "auto":
        needed = [i for i in range(len(answers)) if not answers[i].lower > radius[i]]
        _attack(around, answers, needed, reference, deadline)
    open_rows = [
        i for i, answer in enumerate(answers) if not answer.is_settled(radius[i], smallest=smallest)
    ]
    engine = None if solver == "auto" else get_solver(solver)
    if engine is not None:
        engine.check_available()
    workers = effective_n_jobs(n_jobs)
    done = len(answers) - len(open_rows)

    def settle(i: int) -> None:
        nonlocal done
        left = (len(answers) - done) / workers
        share = max(0.0, deadline - time.perf_counter()) / max(1.0, left)
        question = Question(around.rows(np.array([i])), float(radius[i]), smallest, share, engine)
        answers[i] = question.settle(answers[i], method)
        done += 1
        if on_progress is not None:
            on_progress(done, len(answers))

    with contextlib.suppress(KeyboardInterrupt):
        run_tasks(settle, open_rows, n_jobs=n_jobs)
    return answers


def _attack(
    around: Surroundings,
    answers: list[Answer],
    needed: list[int],
    reference: FloatArray,
    deadline: float,
) -> None:
    """Lower the upper limits of some samples by attacks, as long as there is time."""
    for first in range(0, len(needed), _ATTACKED_AT_ONCE):
        if time.perf_counter() >= deadline:
            return
        rows = np.array(needed[first : first + _ATTACKED_AT_ONCE])
        part = around.rows(rows)
        attempts = greedy(part).with_better(part, boundary(part, reference).X)
        for i, upper, x in zip(rows, attempts.lengths.tolist(), attempts.X, strict=True):
            answers[i] = answers[i].lowered(upper, x)
