"""Scorecards: a few inputs with small integer points, and a class by their sum.

Inputs are added one after the other, each time the one that lowers the cross entropy most, and
exchanged as long as that helps. Rows that agree on all chosen bits are one cell, so that trying a
set of bits costs one pass over the rows and a regression of a few dozen cells. Points are rounded
at several scales, the scale and the intercepts fitted anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import Slot
from bdnn.learning.linear import Prior
from bdnn.learning.stack import Lesson, Reads, Stack
from bdnn.network.activation import FloatArray

_TRIED = 12  # inputs of the largest gain whose regression is made
_SCALES = 16
_STEPS = 15
_RIDGE = 1.0


@dataclass(frozen=True)
class Scorecard:
    """So many inputs, each with points for the classes.

    Parameters
    ----------
    reads : {"bits", "numbers"}
    inputs : int
        At most.
    points : int
        The most that an input has.
    """

    reads: Reads
    inputs: int
    points: int = 5

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Choose literals, then points."""
        if (lesson.labels == lesson.labels[0]).all():
            return Prior(self.reads).fit(lesson, seed=seed, slot=slot)
        rows = _Rows(lesson, self.reads)
        chosen = self._chosen(rows, slot)
        if not chosen:
            return Prior(self.reads).fit(lesson, seed=seed, slot=slot)
        bits, share = rows.cells(chosen)
        free = _free(share)
        fitted, _ = _newton(_slopes_and_shifts(bits, free, share.shape), share)
        slopes = fitted.reshape(len(free), -1)[:, :-1]
        found: list[tuple[float, int, float, FloatArray, list[float]]] = []
        for largest in np.linspace(1.0, self.points, _SCALES):
            points = np.zeros((share.shape[1], len(chosen)))
            points[free] = np.rint(slopes * (largest / max(np.abs(slopes).max(), 1e-9)))
            shifts = _slopes_and_shifts(bits[:, :0], free, share.shape)
            (scale, *shift), loss = _newton(
                np.concatenate(((bits @ points.T)[None], shifts)), share
            )
            found.append((loss if scale > 0 else np.inf, -len(found), scale, points, shift))
        _, _, scale, points, shift = min(found)
        weights = np.zeros((share.shape[1], rows.inputs.shape[1]), np.float32)
        weights[:, chosen] = points
        # A class that has no rows is never the one.
        thresholds = np.full(share.shape[1], 0.0 if share.shape[1] == 2 else 1e3 / scale)
        thresholds[free] = -np.asarray(shift) / scale
        return Stack(self.reads, (weights,), (thresholds.astype(np.float32),), float(scale))

    def _chosen(self, rows: _Rows, slot: Slot) -> list[int]:
        """Inputs that have points."""
        chosen: list[int] = []
        least = np.inf
        while len(chosen) < self.inputs and not slot.is_over():
            bit, loss = self._best(rows, chosen)
            if bit is None or loss >= least * (1.0 - 1e-6):
                break
            chosen, least = [*chosen, bit], loss
            place = 0
            while place < len(chosen) - 1 and not slot.is_over():
                others = [b for k, b in enumerate(chosen) if k != place]
                bit, loss = self._best(rows, others)
                place += 1
                if bit is not None and loss < least * (1.0 - 1e-6):
                    chosen, least, place = [*others, bit], loss, 0
        return chosen

    def _best(self, rows: _Rows, chosen: list[int]) -> tuple[int | None, float]:
        """The input that goes best with others, and the penalised cross entropy with it."""
        best: tuple[int | None, float] = None, np.inf
        bits, share = rows.cells(chosen)
        design = _slopes_and_shifts(bits, _free(share), share.shape)
        fitted, _ = _newton(design, share)
        for place in rows.promising(chosen, np.tensordot(fitted, design, 1)):
            bits, share = rows.cells([*chosen, place])
            design = _slopes_and_shifts(bits, _free(share), share.shape)
            loss = _newton(design, share)[1]
            if loss < best[1]:
                best = place, loss
        return best


class _Rows:
    """Rows by what they say to some inputs."""

    def __init__(self, lesson: Lesson, reads: Reads) -> None:
        self.inputs, self.is_binary = lesson.table.first_inputs(reads), reads == "bits"
        self.share = np.zeros((len(lesson), lesson.n_classes), np.float32)
        self.share[np.arange(len(lesson)), lesson.labels] = lesson.weight

    def _cell(self, chosen: list[int]) -> NDArray[np.intp]:
        """Number of every row's cell, each a row of its own where inputs are numbers."""
        if not self.is_binary:
            return np.arange(len(self.inputs))
        powers = (1 << np.arange(len(chosen))).astype(np.float32)
        codes = (self.inputs[:, chosen] @ powers).astype(np.intp)
        return np.asarray(np.unique(codes, return_inverse=True)[1].ravel())

    def cells(self, chosen: list[int]) -> tuple[FloatArray, FloatArray]:
        """Inputs of every cell, and its weight in every class."""
        cell = self._cell(chosen)
        if not self.is_binary:
            return self.inputs[:, chosen].astype(float), self.share.astype(float)
        inputs = np.zeros((cell.max() + 1, len(chosen)))
        inputs[cell] = self.inputs[:, chosen]
        share = [np.bincount(cell, column, len(inputs)) for column in self.share.T]
        return inputs, np.stack(share, axis=1)

    def promising(self, chosen: list[int], scores: FloatArray) -> list[int]:
        """Inputs whose Newton step beside the scores of the cells would gain most."""
        chance = np.exp(scores - scores.max(axis=1, keepdims=True))
        chance = (chance / chance.sum(axis=1, keepdims=True)).astype(np.float32)
        chance = chance[self._cell(chosen)]
        weight = self.share.sum(axis=1, keepdims=True)
        first, second = self.share - weight * chance, weight * chance * (1.0 - chance)
        squares = self.inputs if self.is_binary else np.square(self.inputs)
        gain = (np.square(self.inputs.T @ first) / (squares.T @ second + 1.0)).sum(axis=1)
        gain[chosen] = -1.0
        return [int(place) for place in np.argsort(-gain)[:_TRIED] if gain[place] > 0]


def _free(share: FloatArray) -> NDArray[np.intp]:
    """Classes with a score of their own: not the first of two, nor one without rows."""
    used = np.flatnonzero(share.sum(axis=0))
    return used[1:] if share.shape[1] == 2 else used


def _slopes_and_shifts(
    inputs: FloatArray, free: NDArray[np.intp], shape: tuple[int, ...]
) -> FloatArray:
    """How scores of cells and classes change with every slope and intercept of the free classes."""
    lines = np.concatenate((inputs, np.ones((len(inputs), 1))), axis=1).T
    design = np.zeros((len(free), len(lines), *shape))
    for number, k in enumerate(free):
        design[number, :, :, k] = lines
    return design.reshape(-1, *shape)


def _newton(
    design: FloatArray, share: FloatArray, ridge: float = _RIDGE
) -> tuple[FloatArray, float]:
    """Numbers of least penalised cross entropy of scores linear in them, and what it is."""
    weight = share.sum(axis=1)
    known = share.sum(axis=0) > 0
    found = np.zeros(len(design))
    loss = np.inf
    for _ in range(_STEPS):
        scores = np.tensordot(found, design, 1)
        scores[:, ~known] = -1e3
        apart = scores - scores.max(axis=1, keepdims=True)
        total = np.log(np.exp(apart).sum(axis=1, keepdims=True))
        penalty = 0.5 * ridge * float(np.square(found).sum())
        before, loss = loss, float(weight @ total[:, 0] - (share * apart).sum()) + penalty
        if before - loss < 1e-6 * max(1.0, loss):
            break
        chance = np.exp(apart - total)
        flat = design.reshape(len(design), -1)
        slope = flat @ (weight[:, None] * chance - share).ravel() + ridge * found
        mean = np.einsum("pnk,nk->pn", design, chance)
        curve = (flat * (weight[:, None] * chance).ravel()) @ flat.T - (mean * weight) @ mean.T
        found = found - np.linalg.solve(curve + ridge * np.eye(len(curve)), slope)
    return found, loss
