"""Perturbations that change the class, without a proof that there are no smaller ones.

``random_sign``  the paper's attack: every feature moves by the radius, up or down at random
``greedy``       towards another class by the slope of a smoothed network, then pulled back
``boundary``     from the nearest samples of another class back to the edge

All of them move raw inputs and ask the forward pass, so that what they report has happened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.norms import dual_length, length
from bdnn.robustness.surroundings import Surroundings

_ROUNDS = 8
_BISECTIONS = 24
_NEIGHBOURS = 3
_DOUBLINGS = 10
_MOST_REFERENCES = 2000


@dataclass(frozen=True, eq=False)
class Attempts:
    """The nearest counter-example found of every sample; the sample itself where there is none."""

    X: FloatArray
    lengths: FloatArray

    @classmethod
    def none(cls, around: Surroundings) -> Attempts:
        """No counter-example yet."""
        return cls(around.X.copy(), np.full(len(around.X), np.inf))

    def with_better(self, around: Surroundings, X: FloatArray) -> Attempts:
        """Take over what changes the class and is nearer."""
        lengths = np.where(around.is_changed(X), around.measured(X), np.inf)
        better = lengths < self.lengths
        return Attempts(
            np.where(better[:, None], X, self.X), np.where(better, lengths, self.lengths)
        )

    @property
    def found(self) -> BoolArray:
        """Which samples have a counter-example."""
        return np.isfinite(self.lengths)


def random_sign(
    around: Surroundings, radius: FloatArray, rng: np.random.Generator, *, draws: int = 1
) -> tuple[Attempts, FloatArray]:
    """Move every feature up or down at random, the whole by the radius.

    Returns the counter-examples, and all moved samples: a counter-example or else the first draw.
    """
    best = Attempts.none(around)
    share = 1.0 / length(around.norm, np.ones(around.X.shape[1]))
    moved = [
        _moved(around, share * rng.choice([-1.0, 1.0], size=around.X.shape), radius)
        for _ in range(draws)
    ]
    for X in moved:
        best = best.with_better(around, X)
    return best, np.where(best.found[:, None], best.X, moved[0])


def greedy(around: Surroundings, radius: FloatArray | None = None) -> Attempts:
    """Climb to another class within a radius, or within growing ones until it succeeds."""
    if radius is not None:
        return pulled_back(around, _climb(around, radius))
    best = Attempts.none(around)
    for doubling in range(_DOUBLINGS):
        rows = np.flatnonzero(~best.found)
        if not rows.size:
            break
        tried = _climb(around.rows(rows), np.full(len(rows), 2.0 ** (doubling - 6)))
        best.X[rows], best.lengths[rows] = tried.X, tried.lengths
    return pulled_back(around, best)


def boundary(around: Surroundings, reference: FloatArray) -> Attempts:
    """Start at the nearest reference points of another class and walk back to the edge."""
    best = Attempts.none(around)
    reference = reference[:: 1 + len(reference) // _MOST_REFERENCES]
    said = around.network.predict(around.scaler.transform(reference))
    weight = around.weight
    for rank in range(_NEIGHBOURS):
        start = around.X.copy()
        for label in np.unique(around.classes):
            rows = np.flatnonzero(around.classes == label)
            others = reference[said != label]
            if len(others) > rank:
                start[rows] = others[_nearest(around, around.X[rows] * weight, others, rank)]
        attempt = Attempts.none(around).with_better(around, around.admitted(start))
        attempt = pulled_back(around, attempt)
        best = best.with_better(around, attempt.X)
    return best


def pulled_back(around: Surroundings, attempts: Attempts) -> Attempts:
    """Move counter-examples towards their samples as long as the class stays changed."""
    best = attempts
    rows = np.flatnonzero(best.found)
    if not rows.size:
        return best
    part = around.rows(rows)
    near = Attempts(best.X[rows], best.lengths[rows])
    for _ in range(2):
        near = _along_the_line(part, near)
        near = _by_clipping(part, near) if around.norm == "linf" else _by_feature(part, near)
    X, lengths = best.X.copy(), best.lengths.copy()
    X[rows], lengths[rows] = near.X, near.lengths
    return Attempts(X, lengths)


def _along_the_line(around: Surroundings, near: Attempts) -> Attempts:
    start = near.X
    low, high = np.zeros(len(start)), np.ones(len(start))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        tried = around.admitted(around.X + middle[:, None] * (start - around.X))
        near = near.with_better(around, tried)
        changed = around.is_changed(tried)
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    return near


def _by_clipping(around: Surroundings, near: Attempts) -> Attempts:
    """Cut all moves at one length, as short as possible."""
    move = near.X - around.X
    low, high = np.zeros(len(move)), near.lengths.copy()
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        limit = middle[:, None] / around.weight
        tried = around.admitted(around.X + np.clip(move, -limit, limit))
        near = near.with_better(around, tried)
        changed = around.is_changed(tried)
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    return near


def _by_feature(around: Surroundings, near: Attempts) -> Attempts:
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


def _climb(around: Surroundings, radius: FloatArray) -> Attempts:
    """Follow the slope towards the other classes in turn, always to the rim of the ball."""
    best = Attempts.none(around)
    n_others = around.network.architecture.n_outputs - 1
    for target in range(min(n_others, _ROUNDS)):
        X = around.X
        for _ in range(max(2, _ROUNDS // max(1, n_others))):
            slope = _slope(around, X, radius, target) * around.unit
            tried = _moved(around, _steepest(around, slope), radius)
            best = best.with_better(around, tried)
            X = 0.5 * (X + tried)
    return best


def _steepest(around: Surroundings, slope: FloatArray) -> FloatArray:
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


def _slope(around: Surroundings, X: FloatArray, radius: FloatArray, target: int) -> FloatArray:
    """Slope of the lead of another class when every step is a smooth one of the ball's width."""
    network = around.network
    values = around.scaler.transform(X)
    slopes = []
    for k, (W, t) in enumerate(zip(network.weights, network.step_thresholds, strict=True)):
        sums = weighted_sums(values, W)
        if k == 0:
            dual = dual_length(around.norm, W * around.unit)
            width = np.maximum(radius[:, None] * dual, 1e-12)
        else:
            width = 0.5 * np.abs(W).sum(axis=1) + 0.5
        slopes.append(1.0 / (width * (1.0 + ((sums - t) / width) ** 2)))
        values = (sums >= t).astype(float)
    scores = sums - t
    lines = np.arange(len(X))
    scores[lines, around.classes] = -np.inf
    rival = np.argsort(-scores, axis=1)[:, target]
    gradient = network.weights[-1][rival] - network.weights[-1][around.classes]
    for W, slope in zip(reversed(network.weights[:-1]), reversed(slopes[:-1]), strict=True):
        gradient = (gradient * slope) @ W
    return np.asarray(gradient)


def _moved(around: Surroundings, moves: FloatArray, radius: FloatArray) -> FloatArray:
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


def _nearest(
    around: Surroundings, points: FloatArray, reference: FloatArray, rank: int
) -> NDArray[np.intp]:
    """Which reference point is the so-manieth nearest of every point."""
    chosen = np.empty(len(points), dtype=np.intp)
    scaled = reference * around.weight
    for i, point in enumerate(points):
        chosen[i] = np.argpartition(length(around.norm, scaled - point), rank)[rank]
    return chosen
