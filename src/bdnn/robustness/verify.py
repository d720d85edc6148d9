"""Verification of many samples: the smallest perturbations, or that there are none in a radius."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.norms import check_radius
from bdnn.robustness.certificate import Certificate
from bdnn.robustness.nearest import search
from bdnn.robustness.question import TOLERANCE, Answer
from bdnn.robustness.surroundings import Surroundings
from bdnn.solvers.base import AbstractSolver

Method = Literal["auto", "boxes", "program"]


@dataclass(frozen=True, eq=False)
class Verification:
    """What is known about the nearest counter-example of every sample.

    Attributes
    ----------
    radius : array of shape (n_samples,)
        How far was looked, infinite for as far as it took.
    """

    around: Surroundings
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


def verify(
    around: Surroundings,
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

    Parameters
    ----------
    around : Surroundings
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
    n_samples = len(around.X)
    look = np.full(n_samples, np.inf) if radius is None else check_radius(radius, n_samples)
    answers = search(
        around,
        look,
        reference=around.X if reference is None else reference,
        smallest=smallest,
        method=method,
        solver=solver,
        seconds=time_limit,
        n_jobs=n_jobs,
        on_progress=on_progress,
    )
    return Verification(around, tuple(answers), look)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
