"""Ternary step networks by straight-through gradients on what decides the class.

Latent weights of real numbers are rounded to {-1, 0, 1} in every forward pass, and slopes by the
rounded ones are taken for slopes by the latent ones. Units are normalised over a batch before their
step, whose slope is that of a softer function; the loss is the cross entropy of the outputs' sums,
which share one scale, so that all of it folds into thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import Slot
from bdnn.learning.kernels import (
    adam,
    normalised_steps,
    output_slopes,
    ternary,
    through_steps,
)
from bdnn.learning.stack import Array, Lesson, Reads, Stack, Table

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


def load() -> None:
    """Load what is compiled, which takes some time, or compile it, which takes more."""
    table = Table(np.eye(2, 3, dtype=np.float32), np.eye(2, 3, dtype=np.float32))
    lesson = Lesson(table, np.arange(2), np.ones(2, np.float32), 2)
    Gradients("mix", (2, 2), updates=1).fit(lesson, seed=0, slot=Slot())


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
        self.first = table.first_inputs(recipe.reads)
        self.skipped = table.bits if recipe.reads == "mix" else table.bits[:, :0]
        widths = [self.first.shape[1], *recipe.hidden, n_classes]
        inputs = widths[:-1]
        if len(inputs) > 1:
            inputs[1] += self.skipped.shape[1]
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
        values, kept = [self._dropped(self.first[rows], layer=0)], []
        for k, units in enumerate(self.recipe.hidden):
            sums = values[k] @ self.rounded[k].T
            normal, above = np.empty_like(sums), np.empty_like(sums)
            scale = np.empty(units, np.float32)
            skipped = self.skipped[rows] if k == 0 else self.skipped[rows, :0]
            sent = np.empty((len(rows), units + skipped.shape[1]), np.float32)
            gain, shift = self.gains[k][0], self.shifts[k][0]
            normalised_steps(sums, gain, shift, scale, normal, above, sent[:, :units])
            sent[:, units:] = skipped
            kept.append((normal, above, gain, scale))
            values.append(self._dropped(sent, layer=k + 1))
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
        values, weights, thresholds = self.first, [], []
        for k in range(self.depth - 1):
            W, t, _ = _fold(
                self.rounded[k], values, self.gains[k], self.shifts[k], self.weight, common=False
            )
            weights.append(W)
            thresholds.append(t)
            values = (values @ W.T >= t).astype(np.float32)
            if k == 0:
                values = np.concatenate((values, self.skipped), axis=1)
        W, t, slope = _fold(
            self.rounded[-1], values, self.gains[-1], self.shifts[-1], self.weight, common=True
        )
        return Stack(self.recipe.reads, (*weights, W), (*thresholds, t), slope)


def _fold(
    W: Array, values: Array, gain: Array, shift: Array, weight: Array, *, common: bool
) -> tuple[Array, Array, float]:
    """Weights, thresholds, and the factor of sums above them, of a layer that normalises."""
    # A unit whose gain is negative is on where its sum is small.
    W = W * np.where(gain < 0, np.float32(-1.0), np.float32(1.0)).T
    sums = values @ W.T
    mean = np.average(sums, axis=0, weights=weight)
    variance = np.average(np.square(sums - mean), axis=0, weights=weight)
    variance = variance.mean() if common else variance
    slope = np.maximum(np.abs(gain[0]), 1e-6) / np.sqrt(variance + 1e-5)
    return W, (mean - shift[0] / slope).astype(np.float32), float(slope.mean())
