"""Accuracy against bytes: the best network of every size."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.estimators.classifier import BDNNClassifier
from bdnn.training.limits import Limits
from bdnn.training.result import Progress

#: Bytes of flash, from a small sensor's spare room on.
BUDGETS = (512, 1024, 2048, 4096, 8192)


@dataclass(frozen=True, eq=False)
class SizePoint:
    """The best network that fits so many bytes.

    Attributes
    ----------
    max_bytes : int
        What was allowed.
    bytes : int
        Flash of the C export, tables and code, by estimate.
    accuracy, error : float
        Expected on new rows by cross-validation, and its standard error.
    test_accuracy : float or None
        On rows that were given to test on.
    classifier : BDNNClassifier
    """

    max_bytes: int
    bytes: int
    accuracy: float
    error: float
    test_accuracy: float | None
    classifier: BDNNClassifier

    def to_dict(self) -> dict[str, Any]:
        """All but the classifier as plain data, with its shape."""
        known = {name: value for name, value in vars(self).items() if name != "classifier"}
        return {**known, "network": str(self.classifier.network_.architecture)}


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Accuracy against bytes.

    Attributes
    ----------
    points : tuple of SizePoint
        By ascending budgets; expected accuracies do not fall.
    """

    points: tuple[SizePoint, ...]

    def within(self, max_bytes: int) -> BDNNClassifier:
        """The classifier of the largest budget that fits."""
        fitting = [point for point in self.points if point.bytes <= max_bytes]
        if not fitting:
            least = min(point.bytes for point in self.points)
            raise ModelError(
                f"no network of the curve fits {max_bytes} bytes, the smallest takes {least}: "
                "allow more, or give a smaller budget to size_curve."
            )
        return fitting[-1].classifier


def size_curve(
    X: ArrayLike,
    y: ArrayLike,
    *,
    budgets: Sequence[int] = BUDGETS,
    limits: Limits | None = None,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    sample_weight: ArrayLike | None = None,
    encoder: Encoder | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    **parameters: Any,
) -> SizeCurve:
    """Find the best network of every size.

    A network is learnt for every budget, within its share of the time. Where a smaller one is
    expected to be better, that one stands for the larger budget too.

    Parameters
    ----------
    X, y : arrays or tables
        Training rows and their classes.
    budgets : sequence of int
        Bytes of flash of the C export.
    limits : Limits, optional
        Its seconds are for everything.
    test : pair of X and y, optional
        Rows to measure the networks on as well.
    sample_weight : array, optional
    encoder : Encoder, optional
        As for :meth:`BDNNClassifier.fit`.
    callback : callable, optional
        As for :class:`BDNNClassifier`.
    **parameters
        Other parameters of :class:`BDNNClassifier`, such as ``random_state``.

    Returns
    -------
    SizeCurve
    """
    sizes = sorted(set(budgets))
    if not sizes or not all(type(size) is int and size > 0 for size in sizes):
        raise ModelError(
            f"budgets must be positive whole numbers of bytes, got {list(budgets)!r}: give for "
            "example [512, 2048]."
        )
    if "max_bytes" in parameters:
        raise ModelError("max_bytes is what the curve is drawn over: give budgets instead.")
    limits, ends = limits or Limits(), time.perf_counter()
    ends += limits.seconds
    points: list[SizePoint] = []
    for place, size in enumerate(sizes):
        left = max(0.01, (ends - time.perf_counter()) / (len(sizes) - place))
        model = BDNNClassifier(
            max_bytes=size, limits=replace(limits, seconds=left), callback=callback, **parameters
        )
        model.fit(X, y, sample_weight=sample_weight, encoder=encoder)
        found = _point(model.set_params(callback=None), size, test)
        better = [p for p in points if p.bytes <= size and p.accuracy > found.accuracy]
        points.append(replace(better[-1], max_bytes=size) if better else found)
        if model.result_.status == "interrupted":
            break
    return SizeCurve(tuple(points))


def _point(
    model: BDNNClassifier, max_bytes: int, test: tuple[ArrayLike, ArrayLike] | None
) -> SizePoint:
    known = model.result_.held_out
    assert known is not None
    right = None
    if test is not None:
        right = float((model.predict(test[0]) == np.asarray(test[1])).mean())
    return SizePoint(max_bytes, known.bytes, known.accuracy, known.error, right, model)
