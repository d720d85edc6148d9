"""Networks of several sizes beside plain models, all trained and judged on the same rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding import Column
from bdnn.evaluation.assessment import Part
from bdnn.evaluation.baselines import fit_baselines
from bdnn.evaluation.figures import Figures
from bdnn.model import Model
from bdnn.network.activation import FloatArray

# Rows and seconds by which the time per row is measured.
_TIMED_ROWS, _TIMED_SECONDS = 1000, 0.02


@dataclass(frozen=True)
class Contender:
    """One model.

    Attributes
    ----------
    name : str
    is_network : bool
    accuracy, error : float
        On rows that were not trained on, and its standard error.
    auc, auc_error : float or None
    bytes : int
        A network's flash of the C export, tables and code; a plain model's tables. About.
    microseconds : float
        Per row of a batch in Python.
    """

    name: str
    is_network: bool
    accuracy: float
    error: float
    auc: float | None
    auc_error: float | None
    bytes: int
    microseconds: float


@dataclass
class _Answers:
    is_network: bool
    said: list[NDArray[np.intp]] = field(default_factory=list)
    shares: list[FloatArray] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    microseconds: list[float] = field(default_factory=list)


def compare(
    codes: FloatArray,
    columns: Sequence[Column],
    y: NDArray[Any],
    parts: Sequence[Part],
    networks: Callable[[NDArray[np.intp], float], Mapping[str, tuple[Model, int]]],
    *,
    seconds: float,
    seed: int = 0,
    n_jobs: int = 1,
) -> list[Contender]:
    """Train and judge networks and plain models.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
    columns : sequence of Column
    y : array of shape (n_rows,)
        Labels.
    parts : sequence of pairs of arrays of int
        Rows to train on, and rows to judge by.
    networks : callable
        Trains on rows for so many seconds; returns models and their bytes by name.
    seconds : float
        For all networks together.
    seed, n_jobs : int
    """
    classes, truth = np.unique(y, return_inverse=True)
    truth = truth.ravel()
    found: dict[str, _Answers] = {}
    ends = time.perf_counter() + seconds
    for place, (trained, judged) in enumerate(parts):
        left = max(0.01, ends - time.perf_counter()) / (len(parts) - place)
        for name, (model, size) in networks(trained, left).items():
            answers = found.setdefault(name, _Answers(True))
            answers.said.append(np.searchsorted(classes, model.predict(codes[judged])))
            if model.calibration is not None:
                shares = np.zeros((len(judged), len(classes)))
                shares[:, np.searchsorted(classes, model.labels)] = model.probabilities(
                    codes[judged]
                )
                answers.shares.append(shares)
            answers.bytes.append(size)
            answers.microseconds.append(_timed(model.predict, codes[judged]))
        for each in fit_baselines(
            codes[trained],
            columns,
            truth[trained],
            n_classes=len(classes),
            seed=seed,
            n_jobs=n_jobs,
        ):
            answers = found.setdefault(each.name, _Answers(False))
            answers.said.append(each.predict(codes[judged]))
            answers.shares.append(each.probabilities(codes[judged]))
            answers.bytes.append(each.bytes)
            answers.microseconds.append(_timed(each.predict, codes[judged]))
    rows = np.concatenate([judged for _, judged in parts])
    return [
        _contender(name, answers, truth[rows], classes.tolist(), len(parts))
        for name, answers in found.items()
        if len(answers.said) == len(parts)
    ]


def _contender(
    name: str, answers: _Answers, truth: NDArray[np.intp], labels: list[Any], n_parts: int
) -> Contender:
    shares = np.concatenate(answers.shares) if len(answers.shares) == n_parts else None
    figures = Figures.of(truth, np.concatenate(answers.said), labels, shares)
    return Contender(
        name,
        answers.is_network,
        figures.accuracy,
        figures.error,
        figures.auc,
        figures.auc_error,
        round(float(np.mean(answers.bytes))),
        float(np.median(answers.microseconds)),
    )


def _timed(predict: Callable[[FloatArray], Any], codes: FloatArray) -> float:
    """Microseconds per row, of a batch."""
    some, least = codes[:_TIMED_ROWS], math.inf
    predict(some)
    ends = time.perf_counter() + _TIMED_SECONDS
    while math.isinf(least) or time.perf_counter() < ends:
        began = time.perf_counter()
        predict(some)
        least = min(least, time.perf_counter() - began)  # others may use the machine too
    return 1e6 * least / len(some)
