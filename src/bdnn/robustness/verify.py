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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.clock import Slot
from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.norms import check_radius
from bdnn.parallel import run_tasks
from bdnn.robustness.attacks import CounterExamples, boundary, greedy
from bdnn.robustness.certificate import Certificate
from bdnn.robustness.certify import guaranteed_radii, is_guaranteed
from bdnn.robustness.exact_verifier import TOLERANCE, Answer, ExactVerifier, beyond
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.robustness.words import RowAtRisk, rows_at_risk, sentence
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver

Method = Literal["auto", "boxes", "program"]

_ATTACKED_AT_ONCE = 128
# Tasks that a worker would have if all were as large as the next one: large ones first, because
# each costs some milliseconds, and small ones last, so that nobody waits for another.
_TASKS_EACH = 4


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """What is known about the nearest counter-example of every sample.

    Attributes
    ----------
    radius : array of shape (n_samples,)
        How far was looked, infinite for as far as it took.
    """

    around: PerturbationSet
    answers: tuple[Answer, ...]
    radius: FloatArray

    @property
    def lower(self) -> FloatArray:
        """Distances below which there is no counter-example."""
        return np.array([answer.lower for answer in self.answers])

    @property
    def upper(self) -> FloatArray:
        """Distances of the nearest counter-examples found, infinite without one."""
        return np.array([answer.upper for answer in self.answers])

    @property
    def counter_examples(self) -> FloatArray:
        """These counter-examples as raw inputs, NaN where there is none."""
        nothing = np.full(self.around.X.shape[1], np.nan)
        rows = [nothing if a.counter_example is None else a.counter_example for a in self.answers]
        return np.array(rows).reshape(self.around.X.shape)

    @property
    def status(self) -> NDArray[np.str_]:
        """``robust`` in the radius, ``exact`` if the smallest is known, ``broken`` or ``open``."""
        lower, upper = self.lower, self.upper
        robust = (lower > self.radius) | np.isinf(lower)
        exact = upper <= lower + TOLERANCE
        broken = (upper <= self.radius) & np.isfinite(self.radius)
        return np.select([robust, exact, broken], ["robust", "exact", "broken"], "open")

    @property
    def origins(self) -> list[str]:
        """What proves the lower limits: the bound, boxes, or a solver."""
        return [answer.origin for answer in self.answers]

    def worst_case_accuracy(self, radius: float) -> tuple[float, float]:
        """Limits of the accuracy under the worst perturbation of a size; equal if all is known.

        A sample counts if it is predicted as labelled for every perturbation within the radius.
        """
        level = float(check_radius(radius))
        correct = self.around.correct
        if correct is None:
            raise DataError("an accuracy needs labels: call verify with y.")
        if (self.radius < level).any():
            raise DataError(
                f"the samples were verified up to {self.radius.min():g}, got radius {level:g}: "
                "verify with a larger one."
            )
        sure, possible = correct & (self.lower > level), correct & (self.upper > level)
        return float(sure.mean()), float(possible.mean())

    @property
    def sentence(self) -> str:
        """How many rows keep their class, and how many do not, in words."""
        look = self.radius
        if np.isinf(look).any():
            found = np.isfinite(self.upper)
            nearest = f", the nearest {self.upper.min():.4g} away" if found.any() else ""
            return (
                f"The class of {int(found.sum())} of {len(look)} rows can be changed{nearest}; "
                f"{int((self.status == 'open').sum())} rows are open."
            )
        kept, broken = int((self.lower > look).sum()), int((self.upper <= look).sum())
        return sentence(self.around, kept, broken, look)

    def at_risk(self, most: int = 5) -> list[RowAtRisk]:
        """The rows with the nearest counter-examples, which are told in raw units."""
        X = np.where(np.isfinite(self.upper)[:, None], self.counter_examples, self.around.X)
        return rows_at_risk(self.around, self.lower, X, self.upper, most)

    def __repr__(self) -> str:
        return f"<Verification: {self.sentence}>"

    def certificates(self, sample: int) -> list[Certificate]:
        """Statements about one sample that can be checked without a solver.

        The guarantee is the solver-free one: a bound that only a solver proves is not among them.
        """
        answer, around = self.answers[sample], self.around.rows(np.array([sample]))
        found = []
        if answer.origin == "bound" or answer.proof is not None:
            found.append(Certificate.guarantee(around, answer.lower, answer.proof))
        if answer.counter_example is not None:
            found.append(Certificate.refutation(around, answer.counter_example))
        return found


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that cheap methods left open, and the time that they have together."""

    around: PerturbationSet
    answers: tuple[Answer, ...]
    radius: FloatArray
    smallest: bool
    method: str
    engine: AbstractSolver | None
    slot: Slot

    def settle(self) -> list[Answer]:
        """Settle one after the other."""
        found = []
        for i, (answer, radius) in enumerate(zip(self.answers, self.radius.tolist(), strict=True)):
            one = self.around.rows(np.array([i]))
            own = self.slot.part(1.0 / (len(self.answers) - i))
            verifier = ExactVerifier(one, answer, radius, self.smallest, own, self.engine)
            found.append(verifier.settle(self.method))
        return found


def verify(
    around: PerturbationSet,
    radius: ArrayLike | None = None,
    *,
    smallest: bool = True,
    method: str = "auto",
    solver: str | AbstractSolver = "auto",
    reference: FloatArray | None = None,
    time_limit: float = math.inf,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Find the smallest perturbation of every sample that changes its class.

    Ctrl-C ends the search; samples it did not come to have the answer of cheap methods.

    Parameters
    ----------
    around : PerturbationSet
    radius : float or array, optional
        How far to look, for all samples or one each; without it as far as it takes.
    smallest : bool
        Whether the nearest counter-example is wanted, or any within the radius will do.
    method : {"auto", "boxes", "program"}
        Bound, attacks, some boxes, then a program; or one exact method alone.
    solver : str or AbstractSolver
    reference : array, optional
        Raw inputs from which the boundary attack starts; by default the samples.
    time_limit : float
        Seconds for all samples together.
    n_jobs : int or None
        Samples at the same time.
    on_progress : callable, optional
        Told how many samples are settled, and of how many.
    """
    from joblib import effective_n_jobs  # slow to load

    if method not in get_args(Method):
        raise ModelError(
            f"method must be 'auto', 'boxes' or 'program', got {method!r}: choose one of these."
        )
    if not _is_number(time_limit) or not time_limit > 0:
        raise ModelError(
            f"time_limit must be a positive number of seconds, got {time_limit!r}: give for "
            "example 60."
        )
    if n_jobs == 0:
        raise ModelError("n_jobs must be 1 or more, or -1 for all cores, got 0: give one of these.")
    engine = None if solver == "auto" else get_solver(solver)
    if engine is not None:
        engine.check_available()
    workers = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    n_samples = len(around.X)
    look = np.full(n_samples, np.inf) if radius is None else check_radius(radius, n_samples)
    deadline = time.perf_counter() + time_limit
    if smallest:
        lower = guaranteed_radii(around, deadline=deadline)
    else:
        lower = np.where(is_guaranteed(around, beyond(look)), beyond(look), 0.0)
    answers = [Answer(value, math.inf, None) for value in lower.tolist()]
    if method == "auto":
        reference = around.X if reference is None else reference
        _attack(around, answers, look, reference, deadline, workers)
    is_open = [
        not answer.is_settled(limit, smallest=smallest)
        for answer, limit in zip(answers, look.tolist(), strict=True)
    ]
    rows = np.flatnonzero(is_open)

    def tasks() -> Iterator[_Rows]:
        first = 0
        while first < len(rows):
            left = len(rows) - first
            size = 1 if workers == 1 else max(1, left // (_TASKS_EACH * workers))
            part = rows[first : first + size]
            slot = Slot(deadline).part(min(1.0, size * workers / left))
            own = tuple(answers[i] for i in part)
            yield _Rows(around.rows(part), own, look[part], smallest, method, engine, slot)
            first += size

    # A row is many short steps of Python, for which threads would wait.
    settled = run_tasks(_Rows.settle, tasks(), n_jobs=n_jobs, prefer="processes")
    done = 0
    with contextlib.suppress(KeyboardInterrupt):
        for found in settled:
            for answer in found:
                answers[rows[done]] = answer
                done += 1
            if on_progress is not None:
                on_progress(n_samples - len(rows) + done, n_samples)
    return Verification(around, tuple(answers), look)


def _attack(
    around: PerturbationSet,
    answers: list[Answer],
    radius: FloatArray,
    reference: FloatArray,
    deadline: float,
    workers: int,
) -> None:
    """Lower upper limits by attacks where the bound is no answer, as long as there is time."""
    needed = [i for i, answer in enumerate(answers) if not answer.lower > radius[i]]
    size = min(_ATTACKED_AT_ONCE, max(1, math.ceil(len(needed) / workers)))
    parts = [np.array(needed[first : first + size]) for first in range(0, len(needed), size)]

    def tasks() -> Iterator[PerturbationSet]:
        for rows in parts:
            if time.perf_counter() >= deadline:
                return
            yield around.rows(rows)

    attacked = partial(_attacked, reference=reference)
    nearest = run_tasks(attacked, tasks(), n_jobs=workers, prefer="processes")
    for rows, found in zip(parts, nearest, strict=False):
        for i, upper, x in zip(rows, found.lengths.tolist(), found.X, strict=True):
            answers[i] = answers[i].lowered(upper, x)


def _attacked(around: PerturbationSet, reference: FloatArray) -> CounterExamples:
    return greedy(around).with_better(around, boundary(around, reference).X)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
