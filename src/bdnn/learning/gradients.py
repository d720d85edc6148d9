"""Ternary step networks by straight-through gradients on what decides the class.

Latent weights of real numbers are rounded to {-1, 0, 1} in every forward pass, and slopes by the
rounded ones are taken for slopes by the latent ones. Units are normalised over a batch before their
step, whose slope is that of a softer function; the loss is the cross entropy of the outputs' sums,
which share one scale, so that all of it folds into thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import BackgroundLoad, Slot
from bdnn.learning.kernels import (
    adam,
    normalised_steps,
    output_slopes,
    ternary,
    through_steps,
)
from bdnn.learning.stack import Array, Lesson, Reads, Stack, Table, blocks, sent
from bdnn.network.activation import FloatArray
from bdnn.parallel import run_tasks

_RATE, _DECAY = 0.01, 1e-4
_SHARE = 0.7  # of a unit's mean latent weight, below which a weight is 0
_SMOOTHING = 0.1
_BATCHES = (32, 256)
# The clock counts where it is ahead of the updates by so much of the time: a pause at the beginning
# then changes no rate, and the same seed gives the same network.
_SLACK = 0.05


@dataclass(frozen=True)
class Gradients:
    """A shape and how to train it.

    Parameters
    ----------
    reads : Reads
    hidden : tuple of int
        Widths, without copies of bits.
    dropout : float
        Share of the inputs that every batch loses: of the first layer, or of a mix's second.
    updates : int
        Steps of the optimiser.
    """

    reads: Reads
    hidden: tuple[int, ...]
    dropout: float = 0.0
    updates: int = 1500

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Train; the learning rate falls to zero over the updates, or over the slot if shorter."""
        course = _Course(self, lesson, np.random.default_rng(seed))
        batch = int(np.clip(len(lesson) // 12, *_BATCHES))
        parts = max(1, round(len(lesson) / batch))
        begun, done, progress = slot.remaining, 0, 0.0
        while done < self.updates and progress < 1.0:
            order = course.rng.permutation(len(lesson))
            for rows in np.array_split(order, parts):
                used = 1.0 - slot.remaining / begun if np.isfinite(begun) and begun > 0 else 0.0
                late = (used - _SLACK) / (1.0 - _SLACK)
                progress = max(progress, done / self.updates, late)
                if done >= self.updates or slot.is_over():
                    progress = 1.0
                    break
                course.learn(rows, _RATE * 0.5 * (1.0 + cos(pi * progress)))
                done += 1
        return course.folded()


def _load() -> None:
    table = Table(np.eye(2, 3, dtype=np.float32), np.eye(2, 3, dtype=np.uint8))
    lesson = Lesson(table, np.arange(2), np.ones(2, np.float32), 2)
    Gradients("mix", (2, 2), updates=1).fit(lesson, seed=0, slot=Slot())


#: What is compiled; a thread of its own, because Ctrl-C must not reach into a compiler.
KERNELS = BackgroundLoad(_load, name="bdnn-compile-gradients")


def load(workers: int = 1) -> None:
    """Load what is compiled, or compile it, here and in so many processes that are to train."""
    KERNELS.wait(Slot())
    if workers > 1:  # which also import all that they need
        list(run_tasks(_wait, [Slot()] * workers, n_jobs=workers, prefer="processes"))


def _wait(slot: Slot) -> bool:
    return KERNELS.wait(slot)


def smoothed(lesson: Lesson) -> Array:
    """Labels of which a part is spread evenly over all classes, which keeps scores from growing."""
    shape = len(lesson), lesson.n_classes
    wanted = np.full(shape, _SMOOTHING / lesson.n_classes, np.float32)
    wanted[np.arange(len(lesson)), lesson.labels] += np.float32(1.0 - _SMOOTHING)
    return wanted


class _Course:
    """Latent weights, their moments, and the passes of a batch."""

    def __init__(self, recipe: Gradients, lesson: Lesson, rng: np.random.Generator) -> None:
        self.recipe, self.rng, self.steps = recipe, rng, 0
        table, n_classes = lesson.table, lesson.n_classes
        self.table = table
        widths = [table.n_first(recipe.reads), *recipe.hidden, n_classes]
        inputs = widths[:-1]
        if recipe.reads == "mix":
            inputs[1] += table.bits.shape[1]
        self.latent = [
            rng.standard_normal((units, fan), dtype=np.float32) / np.float32(max(fan, 1) ** 0.5)
            for units, fan in zip(widths[1:], inputs, strict=True)
        ]
        self.rounded = [np.empty_like(W) for W in self.latent]
        self._round()
        # One gain per unit, and one for all outputs.
        self.gains = [np.ones((1, n), np.float32) for n in (*recipe.hidden, 1)]
        self.shifts = [np.zeros((1, n), np.float32) for n in widths[1:]]
        self.parameters = [*self.latent, *self.gains, *self.shifts]
        self.slopes = [np.empty_like(values) for values in self.parameters]
        self.moments = [(np.zeros_like(v), np.zeros_like(v)) for v in self.parameters]
        self.wanted = smoothed(lesson) if lesson.wanted is None else lesson.wanted
        self.weight = (lesson.weight / lesson.weight.mean()).astype(np.float32)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.latent)

    def _round(self) -> None:
        for W, T in zip(self.latent, self.rounded, strict=True):
            ternary(W, _SHARE, T)

    def _by(self, layer: int) -> tuple[Array, Array]:
        """Where slopes by gain and shift of a layer go."""
        depth = self.depth
        return self.slopes[depth + layer][0], self.slopes[2 * depth + layer][0]

    def learn(self, rows: NDArray[np.intp], rate: float) -> None:
        """Take a step for some rows."""
        part, kept = self.table.rows(rows), []
        values = [self._dropped(part.first_inputs(self.recipe.reads), layer=0)]
        for k, units in enumerate(self.recipe.hidden):
            sums = values[k] @ self.rounded[k].T
            normal, above = np.empty_like(sums), np.empty_like(sums)
            scale = np.empty(units, np.float32)
            n_skipped = part.bits.shape[1] if k == 0 and self.recipe.reads == "mix" else 0
            out = np.empty((len(rows), units + n_skipped), np.float32)
            gain, shift = self.gains[k][0], self.shifts[k][0]
            normalised_steps(sums, gain, shift, scale, normal, above, out[:, :units])
            out[:, units:] = part.bits[:, :n_skipped]
            kept.append((normal, above, gain, scale))
            values.append(self._dropped(out, layer=k + 1))
        sums = values[-1] @ self.rounded[-1].T
        slope = np.empty_like(sums)
        gain, shift = self.gains[-1][0], self.shifts[-1][0]
        output_slopes(
            sums, gain, shift, self.wanted[rows], self.weight[rows], slope, self._by(self.depth - 1)
        )
        for k in range(self.depth - 1, -1, -1):
            np.dot(slope.T, values[k], out=self.slopes[k])
            if k:
                units = self.recipe.hidden[k - 1]
                slope = slope @ np.ascontiguousarray(self.rounded[k][:, :units])
                through_steps(slope, *kept[k - 1], self._by(k - 1))
        self.steps += 1
        for number, (target, by) in enumerate(zip(self.parameters, self.slopes, strict=True)):
            decay = _DECAY if number < self.depth else 0.0
            adam(target, by, self.moments[number], rate, self.steps, decay)
        self._round()

    def _dropped(self, values: Array, layer: int) -> Array:
        share = self.recipe.dropout
        if share and layer == (1 if self.recipe.reads == "mix" else 0):
            values *= self.rng.random(values.shape, dtype=np.float32) >= share
        return values

    def folded(self) -> Stack:
        """Round, and put normalisation over all rows into the thresholds."""
        weights: list[Array] = []
        thresholds: list[Array] = []
        slope = np.ones(1)
        for k, (gain, shift) in enumerate(zip(self.gains, self.shifts, strict=True)):
            # A unit whose gain is negative is on where its sum is small.
            W = self.rounded[k] * np.where(gain < 0, np.float32(-1.0), np.float32(1.0)).T
            mean, variance = self._moments(W, weights, thresholds)
            if k == self.depth - 1:
                variance = variance.mean(keepdims=True)
            slope = np.maximum(np.abs(gain[0]), 1e-6) / np.sqrt(variance + 1e-5)
            weights.append(W)
            thresholds.append((mean - shift[0] / slope).astype(np.float32))
        return Stack(self.recipe.reads, tuple(weights), tuple(thresholds), float(slope.mean()))

    def _moments(
        self, W: Array, weights: Sequence[Array], thresholds: Sequence[Array]
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a layer's sums over all rows, by those of every block of them."""
        total, mean, variance = 0.0, np.zeros(len(W)), np.zeros(len(W))
        for block in blocks(len(self.table)):
            weight = self.weight[block].astype(float)
            sums = sent(self.recipe.reads, self.table.rows(block), weights, thresholds) @ W.T
            own = float(weight.sum())
            if own == 0.0:
                continue
            total += own
            centre = weight @ sums / own
            away = centre - mean
            mean = mean + away * (own / total)
            spread = weight @ np.square(sums - centre) / own
            variance += (spread - variance + np.square(away) * (1.0 - own / total)) * (own / total)
        return mean, variance
