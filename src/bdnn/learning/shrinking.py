"""Smaller networks out of large ones: what rows miss least per byte goes first.

Weights, units and inputs wait in a queue by what the rows lose without them, per byte. The first
one is looked at again, since others have gone meanwhile, and leaves if it still is the cheapest. A
constant stands in for what has left: off, on, or the mean. Scores are fitted again from time to
time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bdnn.clock import Slot
from bdnn.learning.comparison import IntArray
from bdnn.learning.gradients import smoothed
from bdnn.learning.stack import Array, BitArray, Lesson, Stack
from bdnn.network.activation import BoolArray

_MOST_ROWS = 500
_LOOKED_AT = 0.04  # part of the bytes after which the size is looked at
# Bytes of a weight in a list, of a unit without its weights, and of an input: a cut or a number.
_WEIGHT, _UNIT, _CUT, _NUMBER = 1.0, 3.0, 3.0, 9.0
_FITTING = 5


def shrunk(
    stack: Stack, lesson: Lesson, fits: Callable[[Stack], bool], *, seed: int, slot: Slot
) -> Stack | None:
    """Leave out of a network as much as it takes to fit; None if nothing or no time is left.

    Parameters
    ----------
    stack : Stack
    lesson : Lesson
        Rows that tell what is missed least.
    fits : callable
        Whether a network is small enough.
    """
    if fits(stack):
        return stack
    rows = np.random.default_rng(seed).permutation(len(lesson))[:_MOST_ROWS]
    state = _State(stack, lesson.rows(rows))
    state.fit()
    queue = []
    for number, part in enumerate(state.parts()):
        queue.append((state.lost(part) / part.bytes, number, part))
        if slot.is_over():
            return None
    heapq.heapify(queue)
    every = _LOOKED_AT * sum(part.bytes for _, _, part in queue if part.unit is not None)
    left_out = 0.0
    while queue and not slot.is_over():
        _, number, part = heapq.heappop(queue)
        if state.is_gone(part):
            continue
        price = state.lost(part) / part.bytes
        if queue and price > queue[0][0]:
            heapq.heappush(queue, (price, number, part))
            continue
        state.leave_out(part)
        left_out += part.bytes
        if left_out >= every:
            left_out = 0.0
            state.fit()
            found = state.stack()
            if fits(found):
                return found
    found = state.stack()
    return found if fits(found) else None


@dataclass(frozen=True)
class _Part:
    """Something to leave out: a unit of a layer, an input of one, or the weight between both."""

    layer: int
    unit: int | None
    place: int | None
    bytes: float


class _State:
    """A network on some rows: sums and steps of all layers, and what every row loses."""

    def __init__(self, stack: Stack, lesson: Lesson) -> None:
        self.given, self.slope = stack, float(stack.slope)
        self.weights = [W.copy() for W in stack.weights]
        self.thresholds = [t.copy() for t in stack.thresholds]
        self.wanted = smoothed(lesson) if lesson.wanted is None else lesson.wanted
        self.weight = lesson.weight / lesson.weight.sum()
        self.skipped = lesson.table.bits
        self.inputs: list[Array] = [lesson.table.first_inputs(stack.reads)]
        self.margins: list[Array] = []
        for k, W in enumerate(self.weights):
            self.margins.append(self.inputs[k] @ W.T - self.thresholds[k])
            if k < self.last:
                self.inputs.append(self._sent(k, self.margins[k], self.skipped))
        self.loss = self._losses(self.margins[-1], self._all)

    @property
    def last(self) -> int:
        return len(self.weights) - 1

    @property
    def _all(self) -> IntArray:
        return np.arange(len(self.wanted))

    def _sent(self, layer: int, margins: Array, skipped: BitArray) -> Array:
        on = (margins >= 0).astype(np.float32)
        is_mix = layer == 0 and self.given.reads == "mix"
        return np.concatenate((on, skipped), axis=1) if is_mix else on

    def _losses(self, margins: Array, rows: IntArray) -> Array:
        """Cross entropy of rows by the margins of the outputs."""
        logits = margins * np.float32(self.slope)
        top = logits.max(axis=1)
        total = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
        return np.asarray(self.weight[rows] * (total - (self.wanted[rows] * logits).sum(axis=1)))

    def _rise(self, layer: int, margins: Array, rows: IntArray) -> float:
        """By how much the loss of rows rises with other margins of a layer."""
        for k in range(layer + 1, self.last + 1):
            sent = self._sent(k - 1, margins, self.skipped[rows])
            margins = sent @ self.weights[k].T - self.thresholds[k]
        return float((self._losses(margins, rows) - self.loss[rows]).sum())

    def parts(self) -> Iterator[_Part]:
        """All that may be left out."""
        for layer, W in enumerate(self.weights):
            for unit, place in np.argwhere(W).tolist():
                yield _Part(layer, unit, place, _WEIGHT)
            if layer < self.last:
                above = np.count_nonzero(self.weights[layer + 1], axis=0)
                sizes = _UNIT + _WEIGHT * (np.count_nonzero(W, axis=1) + above[: len(W)])
                for unit, size in enumerate(sizes.tolist()):
                    yield _Part(layer, unit, None, size)
            if layer == 0 or (layer == 1 and self.given.reads == "mix"):
                own = _CUT if layer or self.given.reads == "bits" else _NUMBER
                counts = np.count_nonzero(W, axis=0)
                counts[: len(self.weights[0]) if layer else 0] = 0
                for place in np.flatnonzero(counts).tolist():
                    yield _Part(layer, None, place, own + _WEIGHT * int(counts[place]))

    def is_gone(self, part: _Part) -> bool:
        """Whether nothing is left of it."""
        W = self.weights[part.layer]
        if part.unit is None:
            return not W[:, part.place].any()
        if part.place is None:
            return not self.weights[part.layer + 1][:, part.unit].any()
        return not W[part.unit, part.place]

    def lost(self, part: _Part) -> float:
        """What rows lose without it."""
        return self._best(part)[0]

    def _best(self, part: _Part) -> tuple[float, float]:
        """The least loss, and the constant that it takes."""
        return min((self._with(part, value), value) for value in self._constants(part))

    def _constants(self, part: _Part) -> tuple[float, ...]:
        if part.place is None:
            return 0.0, 1.0
        is_number = part.layer == 0 and self.given.reads != "bits"
        if part.layer == self.last or is_number:
            return (float(self.inputs[part.layer][:, part.place].mean()),)
        return 0.0, 1.0

    def _with(self, part: _Part, value: float) -> float:
        """By how much the loss rises with a constant instead of a part."""
        layer, W = part.layer, self.weights[part.layer]
        if part.place is None:
            column = self.inputs[layer + 1][:, part.unit]
            rows = np.flatnonzero(column != value)
            by = np.outer(value - column[rows], self.weights[layer + 1][:, part.unit])
            return self._rise(layer + 1, self.margins[layer + 1][rows] + by, rows)
        away = np.float32(value) - self.inputs[layer][:, part.place]
        if part.unit is None:
            changed = self.margins[layer] + np.outer(away, W[:, part.place])
            return self._rise(layer, changed, self._all)
        own = self.margins[layer][:, part.unit]
        moved = own + away * W[part.unit, part.place]
        is_other = (moved >= 0) != (own >= 0) if layer < self.last else away != 0
        rows = np.flatnonzero(is_other)
        if not len(rows):
            return 0.0
        changed = self.margins[layer][rows]
        changed[:, part.unit] = moved[rows]
        return self._rise(layer, changed, rows)

    def leave_out(self, part: _Part) -> None:
        """Put a constant in the place of a part."""
        layer, value = part.layer, self._best(part)[1]
        if part.place is None:
            layer, place, units = layer + 1, part.unit, slice(None)
        else:
            place = part.place
            units = slice(None) if part.unit is None else slice(part.unit, part.unit + 1)
        W = self.weights[layer]
        self.thresholds[layer][units] -= W[units, place] * np.float32(value)
        away = np.float32(value) - self.inputs[layer][:, place]
        self.margins[layer][:, units] += np.outer(away, W[units, place])
        W[units, place] = 0.0
        for k in range(layer + 1, self.last + 1):
            self.inputs[k] = self._sent(k - 1, self.margins[k - 1], self.skipped)
            self.margins[k] = self.inputs[k] @ self.weights[k].T - self.thresholds[k]
        self.loss = self._losses(self.margins[-1], self._all)

    def fit(self) -> None:
        """Fit output thresholds and slope to the rows by damped Newton steps."""
        for _ in range(_FITTING):
            margins = self.margins[-1]
            logits = margins * np.float32(self.slope)
            share = np.exp(logits - logits.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            wrong = self.weight[:, None] * (share - self.wanted)
            curve = self.weight @ (share * (1.0 - share)) + 1e-3
            shift = np.float32(0.5 / self.slope) * wrong.sum(axis=0) / curve
            by_slope = float((wrong * margins).sum())
            mean = (share * margins).sum(axis=1)
            bend = float(self.weight @ ((share * margins**2).sum(axis=1) - mean**2)) + 1e-9
            self.slope *= float(np.clip(1.0 - 0.5 * by_slope / bend / self.slope, 0.8, 1.25))
            self.thresholds[-1] += shift
            self.margins[-1] = margins - shift
        self.loss = self._losses(self.margins[-1], self._all)

    def stack(self) -> Stack:
        """The network of what is left, without units that nobody looks at or that never change."""
        weights, thresholds = list(self.weights), list(self.thresholds)
        for k in range(self.last - 1, -1, -1):
            above, units = weights[k + 1], len(weights[k])
            is_used = np.asarray(above[:, :units].any(axis=0))
            constant = np.asarray(~weights[k].any(axis=1))
            on = (constant & (thresholds[k] <= 0)).astype(np.float32)
            thresholds[k + 1] = thresholds[k + 1] - above[:, :units] @ on
            kept: BoolArray = np.asarray(is_used & ~constant)
            kept[0] |= not kept.any()
            above = above.copy()
            above[:, :units] *= ~constant
            weights[k + 1] = np.concatenate((above[:, :units][:, kept], above[:, units:]), axis=1)
            weights[k], thresholds[k] = weights[k][kept], thresholds[k][kept]
        return replace(
            self.given,
            weights=tuple(weights),
            thresholds=tuple(t.copy() for t in thresholds),
            slope=self.slope,
        )
