"""Branch and bound over boxes of scaled numbers, compiled: the same search, many times as fast.

Boxes of networks with one hidden layer are also settled, and made smaller, by linear functions
below the leads (:mod:`bdnn.robustness.relaxation`), and the points where these are least are looked
at. What is found there is brought nearer by linear programs, so that the rest of the search need
not go farther.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bdnn.clock import BackgroundLoad
from bdnn.encoding import Encoder
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.intervals import rounding
from bdnn.network.network import Network
from bdnn.network.norms import SLACK
from bdnn.robustness.attacks import CounterExamples
from bdnn.robustness.branching import LARGEST_PROOF, NARROW, Branching, influence_of
from bdnn.robustness.kernel import DONE, FULL, LOOK, LOOK_LOW, Pool, push, search
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.robustness.polishing import polished
from bdnn.robustness.relaxation import Layers, Space

_FIRST_POOL, _BOXES_AT_ONCE = 4096, 20_000
# Boxes in memory, in numbers: beyond them the search ends as it does at its time limit.
_LARGEST_POOL = 2**27


class CompiledBranching(Branching):
    """The search around exactly one sample of columns that are one number each."""

    def __init__(
        self,
        around: PerturbationSet,
        radius: float,
        *,
        # Whether boxes are settled by linear functions too, which takes far fewer and no proof
        # can be kept of.
        relaxed: bool = False,
        margin: float = 0.0,  # how much nearer than the last counter-example the next has to be
        enough: float = 0.0,  # a counter-example within so far ends the search
    ) -> None:
        super().__init__(around, radius)
        self._margin, self._enough = margin, enough
        low, high = around.box(np.array([radius]))
        n = low.shape[1]
        self._pool = _pool(_FIRST_POOL, n)
        self._pool.low[0], self._pool.high[0] = low[0], high[0]
        self._pool.counts[:] = (1, 1, 0, 0)
        self._layers = _layers(around, *around.input_box(low, high), relaxed=relaxed)
        self._space = Space(
            around.current[0].astype(float),
            around.centre[0].astype(float),
            np.broadcast_to(around.unit, (n,)).astype(float),
            np.broadcast_to(around.whole, (n,)).copy(),
            around.scaler.step or 1.0,
            around.half_step,
            SLACK,
            ("linf", "l1", "l2").index(around.norm),
            np.where(around.whole, 0.0, NARROW * (1.0 + np.abs(around.centre[0]))),
        )

    @staticmethod
    def suits(around: PerturbationSet) -> bool:
        """Whether the kernel knows all that a perturbation set asks of it."""
        shape = around.network.architecture
        has_levels = bool(around.domain.integer.any()) and around.scaler.step > 0
        is_plain = type(around) is PerturbationSet and not around.domain.groups
        return is_plain and not has_levels and shape.ties == "score"

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to look at."""
        return int(self._pool.counts[1]) == 0

    def run(self, *, seconds: float = np.inf, boxes: int | None = None) -> None:
        """Search until all is known, or the time or the number of boxes is used up."""
        deadline = time.perf_counter() + seconds
        given_up = np.array([self._given_up])
        within, ball = self._limits()
        point = np.empty(within.shape[1])
        while boxes is None or self.n_boxes < boxes:
            if time.perf_counter() >= deadline or self.upper <= self._enough:
                break
            left = _BOXES_AT_ONCE if boxes is None else min(_BOXES_AT_ONCE, boxes - self.n_boxes)
            code, box = search(
                self._layers,
                self._space,
                self._pool,
                within,
                ball,
                self._reach,
                left,
                given_up,
                point,
            )
            self.n_boxes = int(self._pool.counts[2])
            if code == DONE:
                break
            if code == FULL:
                size = 2 * len(self._pool.cost)
                if size * within.shape[1] > _LARGEST_POOL:
                    break
                self._pool = _pool(size, within.shape[1], self._pool)
            elif code in (LOOK, LOOK_LOW):
                before = self._reach
                self._given_up = float(given_up[0])
                if code == LOOK:
                    self._look(box, within)
                else:
                    self._look_low(box, point)
                given_up[0] = self._given_up
                if self._reach < before:
                    within, ball = self._limits()
        self._given_up = float(given_up[0])
        pool = self._pool
        nearest = pool.cost[pool.heap[0]] if pool.counts[1] else self._reach
        self.lower = min(float(nearest), self._given_up, self._reach)

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """The box of the ball of interest, and bounds of first-layer sums in it."""
        radius = np.array([self._reach])
        low, high = self.around.box(radius)
        sums = self.around.regions(radius).sums(self.around.network.weights[0])
        return np.concatenate([low, high]), np.concatenate(sums)

    def _look(self, box: int, within: FloatArray) -> None:
        """Let the forward pass decide about the nearest point of a box."""
        pool = self._pool
        low = np.maximum(pool.low[[box]], within[:1])
        high = np.minimum(pool.high[[box]], within[1:])
        pool.is_near[box] = True
        if not self._look_at_nearest(pool.cost[[box]], low, high, np.ones(1, dtype=bool))[0]:
            # Rounding was in doubt; the rest of the box is still to be looked at.
            push(pool, box)

    def _look_low(self, box: int, point: FloatArray) -> None:
        """Let the forward pass decide about any point of a box, and bring it nearer."""
        around, pool = self.around, self._pool
        found = CounterExamples.none(around).with_better(around, around.raw(point[None]))
        found = polished(around, found)
        if found.lengths[0] < self.upper:
            self.counter_example, self.upper = found.X[0], float(found.lengths[0])
            self._reach = min(self._reach, max(0.0, self.upper - self._margin))
        pool.is_low[box] = True
        push(pool, box)

    def _tree(self, number: int) -> Any:
        pool = self._pool
        if pool.feature[number] < 0:
            return None
        left = int(pool.left[number])
        parts = (self._tree(left), self._tree(left + 1))
        return [int(pool.feature[number]), float(pool.cut[number]), *parts]

    def proof(self) -> Any:
        """The halvings, as those of the search that is not compiled."""
        n_halved = int((self._pool.feature[: self._pool.counts[0]] >= 0).sum())
        by_lines = bool(self._pool.counts[3])
        if not self.is_complete or by_lines or n_halved > LARGEST_PROOF:
            return None
        return self._tree(0)


def _pool(size: int, n: int, old: Pool | None = None) -> Pool:
    """Room for boxes, those of an old one first."""
    new = Pool(
        np.empty((size, n)),
        np.empty((size, n)),
        np.zeros(size),
        np.zeros(size, dtype=bool),
        np.zeros(size, dtype=bool),
        np.zeros(size, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
    )
    if old is not None:
        for part, before in zip(new[:-1], old[:-1], strict=True):
            part[: len(before)] = before
        new.counts[:] = old.counts
    return new


def _layers(around: PerturbationSet, low: FloatArray, high: FloatArray, *, relaxed: bool) -> Layers:
    """The network in flat arrays, with the most by which sums over a box can be off."""
    network, shape = around.network, around.network.architecture
    rules = [shape.activation_of(k) for k in range(len(network.weights))]
    errors, step = [], around.scaler.step
    for k, W in enumerate(network.weights):
        if k < len(network.weights) - 1:
            errors.append(rounding(W, low, high, step)[0])
            values = rules[k].values
            size = np.full((1, len(W)), float(np.abs(values).max()))
            low, high, step = -size, size, 1.0
    top = rounding(network.weights[-1], low, high, step, subtracted=network.output_thresholds)[0]
    first, label = network.weights[0], int(around.classes[0])
    return Layers(
        np.array(shape.widths, dtype=np.int64),
        np.array([t.shape[1] for t in network.thresholds], dtype=np.int64),
        np.concatenate([part.ravel() for part in network.weights]),
        np.concatenate([t.ravel() for t in network.thresholds]),
        np.concatenate([np.asarray(rule.values, dtype=float) for rule in rules]),
        np.concatenate([np.empty(0), *errors]),
        top,
        top + top[label],
        label,
        np.ascontiguousarray(influence_of(around)),
        np.ascontiguousarray(first.T),
        np.ascontiguousarray(np.abs(first).T),
        relaxed and len(network.weights) == 2,
    )


def _compile() -> None:
    """Have the search compiled, or loaded, by a question of the smallest size."""
    shape = Architecture.create(1, 2, hidden=(1,), weights="continuous")
    network = Network(shape, (np.ones((1, 1)), np.ones((2, 1))), (np.ones(1), np.zeros(2)))
    model = Model(Encoder.of_features(1), network)
    CompiledBranching(PerturbationSet.create(model, np.zeros((1, 1))), 1.0).run(boxes=1)


#: Compiled once per machine, and loaded once per process.
COMPILED_BOXES = BackgroundLoad(_compile, name="bdnn-compile-boxes")
