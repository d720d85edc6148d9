"""Attacks on a model: how often a perturbation of a given size changes the class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.norms import check_radius
from bdnn.robustness.attacks import CounterExamples, boundary, greedy, random_sign
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.robustness.verify import verify

AttackMethod = Literal["random_sign", "greedy", "boundary", "optimal"]


@dataclass(frozen=True, eq=False)
class Attack:
    """Samples after an attack.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Raw inputs within the radius; a sample whose class could not be changed stays as it was,
        except under ``random_sign``, which moves all.
    success : 0/1 array of shape (n_samples,)
        Whose class is another one now.
    lengths : array of shape (n_samples,)
        How far the samples were moved to another class, infinite without success.
    correct : 0/1 array or None
        Which samples are still predicted as labelled, if there are labels.
    """

    X: FloatArray
    success: BoolArray
    lengths: FloatArray
    correct: BoolArray | None = None

    def __repr__(self) -> str:
        return f"<Attack: {int(self.success.sum())} of {len(self.success)} rows change their class>"

    @property
    def accuracy(self) -> float:
        """Share of samples that are predicted as labelled after the attack."""
        if self.correct is None:
            raise DataError("an accuracy needs labels: call attack with y.")
        return float(self.correct.mean())


def attack(
    around: PerturbationSet,
    radius: ArrayLike,
    *,
    method: str = "greedy",
    draws: int = 1,
    reference: FloatArray | None = None,
    seed: int | np.random.Generator = 0,
    time_limit: float = math.inf,
    n_jobs: int | None = None,
) -> Attack:
    """Perturb samples within a radius.

    Parameters
    ----------
    around : PerturbationSet
    radius : float or array
        How far, for all samples or one each.
    method : {"random_sign", "greedy", "boundary", "optimal"}
        The paper's random attack, two quick ones, or the exact answer by verification.
    draws : int
        Random attacks per sample, of which the first that succeeds is kept.
    reference : array, optional
        Raw inputs from which the boundary attack starts; by default the samples.
    seed : int or Generator
    time_limit, n_jobs
        Of the optimal attack, see :func:`~bdnn.robustness.verify`.
    """
    check_attack(method, draws)
    limit = check_radius(radius, len(around.X))
    points = around.X if reference is None else reference
    if method == "random_sign":
        X = random_sign(around, limit, np.random.default_rng(seed), draws=draws)[1]
    else:
        if method == "greedy":
            found = greedy(around, limit)
        elif method == "boundary":
            found = boundary(around, points)
        else:
            checked = verify(
                around,
                limit,
                smallest=False,
                reference=points,
                time_limit=time_limit,
                n_jobs=n_jobs,
            )
            found = CounterExamples(checked.counter_examples, checked.upper)
        X = np.where((found.lengths <= limit)[:, None], found.X, around.X)
    # The forward pass has the last word on what the attack did.
    said = around.predict(X)
    success = said != around.classes
    lengths = np.where(success, around.measured(X), np.inf)
    labels = around.labels
    return Attack(X, success, lengths, None if labels is None else said == labels)


def check_attack(method: str, draws: int) -> None:
    """Refuse what is no attack."""
    if method not in get_args(AttackMethod):
        raise ModelError(
            f"method must be one of {', '.join(map(repr, get_args(AttackMethod)))}, got "
            f"{method!r}: choose one of these."
        )
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise ModelError(f"draws must be a whole number from 1, got {draws!r}: give for example 1.")
