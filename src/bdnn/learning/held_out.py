"""What is known of rows that networks have not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from bdnn.learning.comparison import IntArray, Trial, log_loss, mistakes
from bdnn.learning.stack import Array, Lesson
from bdnn.network.activation import FloatArray

_DRAWS = 50


@dataclass(frozen=True)
class Figures:
    """One candidate on held-out rows.

    Parameters
    ----------
    name : str
    accuracy, error : float
        And its standard error.
    log_loss : float
    folds : int
        Number of folds that it was trained for.
    bytes : int
        Of weights, thresholds and cuts of one of its networks, about.
    seconds : float
    """

    name: str
    accuracy: float
    error: float
    log_loss: float
    folds: int
    bytes: int
    seconds: float


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Accuracy on rows that networks had not seen.

    Where rows may change, a row is right if it is right in all that it may become, here and in the
    figures of candidates.

    Parameters
    ----------
    accuracy, error : float
        Of the way that was chosen, and its standard error. It is chosen anew on draws of the rows
        and judged by the rows that were not drawn, so that the choice does not flatter itself.
    candidates : tuple of Figures
    chosen : str
    teachers : tuple of str
        The candidates that a network learnt from, the best first.
    size : int or callable
        Bytes of flash that the C export of the network takes, tables and code, about; or what
        counts them, which is done when somebody asks.
    is_worst_case : bool
        Whether rows may change.
    rows : array of int
        Training rows that follow.
    share : array of shape (n_rows, n_classes)
        Probabilities by networks that have not seen the row.
    scores : array of shape (n_rows, n_classes)
        Of the returned network.
    """

    accuracy: float
    error: float
    candidates: tuple[Figures, ...]
    chosen: str = ""
    teachers: tuple[str, ...] = ()
    size: int | Callable[[], int] = field(default=0, repr=False)
    is_worst_case: bool = False
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False)
    share: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32), repr=False)
    scores: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    @cached_property
    def bytes(self) -> int:
        """Bytes of flash that the C export of the network takes, tables and code, about."""
        return self.size if isinstance(self.size, int) else self.size()

    def to_dict(self) -> dict[str, Any]:
        """What a model file keeps, as plain data: all but the rows."""
        return {
            "accuracy": self.accuracy,
            "error": self.error,
            "candidates": [asdict(figures) for figures in self.candidates],
            "chosen": self.chosen,
            "teachers": list(self.teachers),
            "bytes": self.bytes,
            "is_worst_case": self.is_worst_case,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`, but for the rows; raises a ``TypeError`` or the like."""
        figures = tuple(Figures(**each) for each in data["candidates"])
        known = {**data, "candidates": figures, "teachers": tuple(data["teachers"])}
        size = known.pop("bytes")
        return cls(**known, size=size)


def held_out_of(
    trials: Sequence[Trial], pool: Sequence[Trial], lesson: Lesson, rng: np.random.Generator
) -> HeldOut:
    """Figures of all trials, and of choosing the best of a pool."""
    figures = tuple(_figures(trial, lesson) for trial in trials if trial.stacks)
    rows = np.flatnonzero(np.min([trial.count for trial in pool], axis=0))
    weight = lesson.weight[rows].astype(float)
    wrong = np.array([mistakes(trial, lesson, rows) for trial in pool])
    missed = total = 0.0
    for _ in range(_DRAWS):
        drawn = rng.integers(len(rows), size=len(rows))
        outside = np.setdiff1d(np.arange(len(rows)), drawn)
        best = int(wrong[:, drawn].sum(axis=1).argmin())
        missed += float(wrong[best, outside].sum())
        total += float(weight[outside].sum())
    accuracy = 1.0 - missed / total if total else 0.0
    # One more row right and one more wrong, so that all of few rows is no certainty.
    count = float(weight.sum() ** 2 / np.square(weight).sum())
    share = (accuracy * count + 1.0) / (count + 2.0)
    error = float(np.sqrt(share * (1.0 - share) / (count + 2.0)))
    return HeldOut(accuracy, error, figures, is_worst_case=bool(lesson.around))


def _figures(trial: Trial, lesson: Lesson) -> Figures:
    rows = np.flatnonzero(trial.count)
    wrong, weight = mistakes(trial, lesson, rows), lesson.weight[rows]
    total = float(weight.sum())
    accuracy = 1.0 - float(wrong.sum()) / total
    spread = np.square(weight * (1.0 - accuracy) - wrong).sum()
    return Figures(
        trial.name,
        accuracy,
        float(np.sqrt(spread)) / total,
        log_loss(trial, lesson, rows),
        len(trial.stacks),
        trial.bytes,
        trial.seconds,
    )
