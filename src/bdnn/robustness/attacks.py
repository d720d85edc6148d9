"""Perturbations that change the class, without a proof that there are no smaller ones.

``random_sign``  the paper's attack: every feature moves by the radius, up or down at random
``greedy``       towards another class by the slope of a smoothed network, then pulled back
``boundary``     from the nearest samples of another class back to the edge

All of them move raw inputs and ask the forward pass, so that what they report has happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.norms import dual_length, length
from bdnn.robustness.column_attacks import climbed
from bdnn.robustness.column_attacks import pulled_back as back_by_columns
from bdnn.robustness.columns import ColumnSet
from bdnn.robustness.perturbation import PerturbationSet

_ROUNDS = 8
_BISECTIONS = 24
_NEIGHBOURS = 3
_DOUBLINGS = 10
_MOST_REFERENCES = 2000


@dataclass(frozen=True, eq=False)
class CounterExamples:
    """The nearest counter-example found of every sample; the sample itself where there is none."""

    X: FloatArray
    lengths: FloatArray

    @classmethod
    def none(cls, around: PerturbationSet) -> CounterExamples:
        """No counter-example yet."""
        return cls(around.X.copy(), np.full(len(around.X), np.inf))

    def with_better(self, around: PerturbationSet, X: FloatArray) -> CounterExamples:
        """Take over what changes the class and is nearer."""
        lengths = np.where(around.is_changed(X), around.measured(X), np.inf)
        better = lengths < self.lengths
        return CounterExamples(
            np.where(better[:, None], X, self.X), np.where(better, lengths, self.lengths)
        )

    @property
    def found(self) -> BoolArray:
        """Which samples have a counter-example."""
        return np.isfinite(self.lengths)


def random_sign(
    around: PerturbationSet, radius: FloatArray, rng: np.random.Generator, *, draws: int = 1
) -> tuple[CounterExamples, FloatArray]:
    """Move every feature up or down at random, the whole by the radius.

    Returns the counter-examples, and all moved samples: a counter-example or else the first draw.
    """
    best = CounterExamples.none(around)
    share = 1.0 / length(around.norm, np.ones(around.X.shape[1]))
    moved = [
        _moved(around, share * rng.choice([-1.0, 1.0], size=around.X.shape), radius)
        for _ in range(draws)
    ]
    for X in moved:
        best = best.with_better(around, X)
    return best, np.where(best.found[:, None], best.X, moved[0])


def greedy(around: PerturbationSet, radius: FloatArray | None = None) -> CounterExamples:
    """Climb to another class within a radius, or within growing ones until it succeeds."""
    if radius is not None:
        return pulled_back(around, _climb(around, radius))
    best = CounterExamples.none(around)
    for doubling in range(_DOUBLINGS):
        rows = np.flatnonzero(~best.found)
        if not rows.size:
            break
        tried = _climb(around.rows(rows), np.full(len(rows), 2.0 ** (doubling - 6)))
        best.X[rows], best.lengths[rows] = tried.X, tried.lengths
    return pulled_back(around, best)


def boundary(around: PerturbationSet, reference: FloatArray) -> CounterExamples:
    """Start at the nearest reference points of another class and walk back to the edge."""
    best = CounterExamples.none(around)
    reference = reference[:: 1 + len(reference) // _MOST_REFERENCES]
    said, weight = around.predict(reference), around.weight
    starts = np.tile(around.X, (_NEIGHBOURS, 1, 1))
    for label in np.unique(around.classes):
        others = reference[said != label]
        ranks = range(min(_NEIGHBOURS, len(others)))
        for row in np.flatnonzero(around.classes == label) if ranks else ():
            moves = np.nan_to_num((others - around.X[row]) * weight)
            distances = length(around.norm, moves)
            starts[: len(ranks), row] = others[np.argpartition(distances, ranks)[: len(ranks)]]
    for start in starts:
        attempt = CounterExamples.none(around).with_better(around, around.admitted(start))
        best = best.with_better(around, pulled_back(around, attempt).X)
    return best


def pulled_back(around: PerturbationSet, found: CounterExamples) -> CounterExamples:
    """Move counter-examples towards their samples as long as the class stays changed."""
    rows = np.flatnonzero(found.found)
    if not rows.size:
        return found
    part, weight = around.rows(rows), around.weight
    near = CounterExamples(found.X[rows], found.lengths[rows])
    if isinstance(part, ColumnSet):
        near = near.with_better(part, back_by_columns(part, near.X))
        return _with_rows(found, rows, near)

    def clip(move: FloatArray, size: FloatArray) -> FloatArray:
        return np.clip(move, -size / weight, size / weight)

    for _ in range(2):
        near = _bisected(part, near, np.ones(len(rows)), np.multiply)
        if around.norm == "linf":
            near = _bisected(part, near, near.lengths, clip)
        else:
            near = _by_feature(part, near)
    return _with_rows(found, rows, near)


def _with_rows(
    found: CounterExamples, rows: NDArray[np.intp], near: CounterExamples
) -> CounterExamples:
    X, lengths = found.X.copy(), found.lengths.copy()
    X[rows], lengths[rows] = near.X, near.lengths
    return CounterExamples(X, lengths)


def _bisected(
    around: PerturbationSet,
    near: CounterExamples,
    highest: FloatArray,
    shorten: Callable[[FloatArray, FloatArray], FloatArray],
) -> CounterExamples:
    """Shorten moves by bisection of a number per sample, from the one that changes the class."""
    move, low, high = near.X - around.X, np.zeros(len(highest)), highest
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        tried = around.admitted(around.X + shorten(move, middle[:, None]))
        near = near.with_better(around, tried)
        changed = around.is_changed(tried)
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    return near


def _by_feature(around: PerturbationSet, near: CounterExamples) -> CounterExamples:
    """Put features back one by one, those that moved least first, wholly or half of the way."""
    order = np.argsort(np.abs((near.X - around.X) * around.weight), axis=1)
    lines = np.arange(len(order))
    for place in range(order.shape[1]):
        feature = order[:, place]
        for share in (0.0, 0.5, 0.75):
            tried = near.X.copy()
            own = around.X[lines, feature]
            tried[lines, feature] = own + share * (tried[lines, feature] - own)
            near = near.with_better(around, around.admitted(tried))
    return near


def _climb(around: PerturbationSet, radius: FloatArray) -> CounterExamples:
    """Follow the slope towards the other classes in turn, always to the rim of the ball."""
    best = CounterExamples.none(around)
    n_others = around.network.architecture.n_outputs - 1
    for target in range(min(n_others, _ROUNDS)):
        X = around.X
        for _ in range(max(2, _ROUNDS // max(1, n_others))):
            slope = _slope(around, X, radius, target)
            if isinstance(around, ColumnSet):
                X = tried = climbed(around, slope, radius)
            else:
                tried = _moved(around, _steepest(around, slope * around.unit), radius)
                X = 0.5 * (X + tried)
            best = best.with_better(around, tried)
    return best


def _steepest(around: PerturbationSet, slope: FloatArray) -> FloatArray:
    """Moves of length 1 that climb most."""
    if around.norm == "linf":
        return np.sign(slope)
    if around.norm == "l1":
        largest = np.abs(slope).argmax(axis=1)
        moves = np.zeros_like(slope)
        lines = np.arange(len(slope))
        moves[lines, largest] = np.sign(slope[lines, largest])
        return moves
    size = length("l2", slope)
    return slope / np.where(size > 0, size, 1.0)[:, None]


def _slope(around: PerturbationSet, X: FloatArray, radius: FloatArray, target: int) -> FloatArray:
    """Slope of the lead of another class when every step is a smooth one of the ball's width."""
    network = around.network
    values = around.scaler.transform(X)
    slopes = []
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        sums, rule = weighted_sums(values, W), network.architecture.activation_of(k)
        if k == 0 and not isinstance(around, ColumnSet):
            dual = dual_length(around.norm, W * around.unit)
            width = np.maximum(radius[:, None] * dual, 1e-12)
        else:
            width = 0.5 * np.abs(W).sum(axis=1) + 0.5
        steps = zip(rule.jumps.tolist(), t.T, strict=True)
        slopes.append(
            sum(jump / (width * (1.0 + ((sums - limit) / width) ** 2)) for jump, limit in steps)
        )
        values = rule(sums, t).astype(float)
    scores = sums - network.output_thresholds
    scores[np.arange(len(X)), around.classes] = -np.inf
    rival = np.argsort(-scores, axis=1)[:, target]
    gradient = network.weights[-1][rival] - network.weights[-1][around.classes]
    for W, slope in zip(reversed(network.weights[:-1]), reversed(slopes[:-1]), strict=True):
        gradient = (gradient * slope) @ W
    return np.asarray(gradient)


def _moved(around: PerturbationSet, moves: FloatArray, radius: FloatArray) -> FloatArray:
    """Raw inputs moved by a radius in given directions, and not a bit further."""
    X = around.admitted(around.X + moves * radius[:, None] / around.weight)
    outside = around.measured(X) > radius
    if outside.any():
        # Rounding of the sum, or a whole number: step back by what rounding can be at most.
        back = (1 - 2.0**-38) * radius[:, None] - 4 * np.spacing(np.abs(around.X)) * around.weight
        moved = around.admitted(around.X + moves * np.maximum(back, 0.0) / around.weight)
        X = np.where(outside[:, None], moved, X)
        outside = around.measured(X) > radius
    return np.where(outside[:, None], around.X, X)
