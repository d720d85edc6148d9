"""Where certified training begins: linear models, votes and trees for the worst case.

Cuts of the network's inputs are bits of a table, which robust candidates of
:mod:`bdnn.learning` learn from as they do from the bits of an encoder. What they find is written as
a network of the shape that is asked for, where that has the room: cuts are units on one input,
votes are weights of outputs above them, and the boxes of a tree a second layer, or the first one
where inputs are bits themselves. A linear score is a unit with the best of all thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from bdnn.clock import BackgroundLoad, Slot
from bdnn.learning.around import Around
from bdnn.learning.robust_linear import RobustLinear, RobustVotes
from bdnn.learning.robust_trees import RobustTree
from bdnn.learning.stack import Lesson, Stack, Table
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.reach import BinReach
from bdnn.problem.regions import Regions
from bdnn.program import IndexArray
from bdnn.search.certified import Balls, best_cut, cut_network

_CUTS = 16  # of an input
_DEPTHS = (2, 3, 4)  # a tree of depth 1 is a stump


def robust_starts(
    shape: Architecture, balls: Balls, seed: int, slot: Slot
) -> Iterator[tuple[str, Network]]:
    """Networks of steps that fit into a shape, and what they are, the plainest first.

    They have as many layers as they need or fewer than the shape.
    """
    if shape.thresholds != "neuron" or not all(kind.zero for kind in shape.weights):
        return
    VOTES.start()
    yield "stump", cut_network(shape, *best_cut(balls.low, balls.high, balls, shape.n_outputs))
    cuts = Cuts.of(balls)
    lesson = cuts.lesson(balls, shape.n_outputs)
    stack = RobustLinear().fit(lesson, seed=seed, slot=slot)
    yield "linear", _linear(shape, balls, stack.weights[0].astype(float))
    has_room = cuts.is_bit or len(shape.hidden) > 1
    for depth in _DEPTHS if has_room else ():
        if slot.is_over():
            return
        stack = RobustTree(depth).fit(lesson, seed=seed, slot=slot)
        network = _tree(shape, cuts, stack)
        if network is not None:
            yield f"tree of depth {depth}", network
    if not VOTES.wait(slot):
        return
    widths = shape.hidden[-1] // max(1, balls.low.shape[1]), _CUTS
    for few in sorted({min(_CUTS, max(1, width)) for width in widths}):
        for is_improved in (False, True):
            if slot.is_over():
                return
            stack = RobustVotes(few, is_improved=is_improved).fit(lesson, seed=seed, slot=slot)
            name = f"votes of {few} cuts{', improved' if is_improved else ''}"
            yield name, _votes(shape, cuts, stack)


def _compile_votes() -> None:
    """Have compiled what votes are made with."""
    ends = np.array([[0.0], [1.0], [2.0]])
    labels = np.array([0, 1, 1], dtype=np.intp)
    balls = Balls(ends, ends, ends, np.zeros(3), "linf", labels, np.ones(3))
    lesson = Cuts.of(balls).lesson(balls, 2)
    RobustVotes(2, is_improved=True).fit(lesson, seed=0, slot=Slot())


VOTES = BackgroundLoad(_compile_votes, name="bdnn-compile-votes")


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts ``x[input] >= level`` of all inputs, those of one input next to each other."""

    inputs: IndexArray
    levels: FloatArray
    is_bit: bool  # whether all inputs are bits, of which a cut is the input itself

    @classmethod
    def of(cls, balls: Balls) -> Cuts:
        """Cuts at ends of balls: of equal parts of these the one that fewest balls cross."""
        inputs, levels = [], []
        for j, (low, high) in enumerate(zip(balls.low.T, balls.high.T, strict=True)):
            # Balls are above a cut at their least input, and below one just beyond their largest.
            ends = np.unique(np.concatenate([low, np.nextafter(high, np.inf)]))
            ends = ends[np.isfinite(ends)][1:-1]
            if ((low == 0) | (low == 1)).all() and ((high == 0) | (high == 1)).all():
                ends = np.ones(int(low.min() < high.max()))
            crossed = np.searchsorted(np.sort(low), ends) - np.searchsorted(np.sort(high), ends)
            parts = np.array_split(np.arange(len(ends)), min(_CUTS, max(1, len(ends))))
            chosen = [float(ends[part[crossed[part].argmin()]]) for part in parts if part.size]
            inputs += [j] * len(chosen)
            levels += chosen
        is_bit = bool(np.isin(balls.low, (0, 1)).all() and np.isin(balls.high, (0, 1)).all())
        return cls(np.array(inputs, dtype=np.intp), np.array(levels), is_bit)

    def lesson(self, balls: Balls, n_classes: int) -> Lesson:
        """Rows as robust candidates see them: inputs are numbers, and cuts bits."""
        least = balls.low[:, self.inputs] >= self.levels
        most = balls.high[:, self.inputs] >= self.levels
        n = balls.low.shape[1]
        bins, first, last = [], [], []
        for j in range(n):
            own = np.flatnonzero(self.inputs == j)
            if own.size:
                bottom, top = least[:, own].sum(axis=1), most[:, own].sum(axis=1)
                places = np.arange(len(own) + 1)
                is_out = (places < bottom[:, None]) | (places > top[:, None])
                costs = np.where(is_out, np.inf, 0.0)
                patterns = np.tri(len(own) + 1, len(own), -1)
                column = BinReach.create(n + own, patterns, costs, np.zeros(len(costs)))
                # Bins of no sample are left out.
                number = np.cumsum((~is_out).any(axis=0)) - 1
                bins.append(column)
                first.append(number[bottom])
                last.append(number[top])
        low, high = np.hstack([balls.low, least]), np.hstack([balls.high, most])
        radius, unit = np.zeros(len(low)), np.ones(low.shape[1])
        regions = Regions(low, high, low, radius, "linf", unit, 0.0, bins=tuple(bins))
        around = Around(
            regions,
            least.astype(np.float32),
            most.astype(np.float32),
            np.array(first, dtype=np.int64).T.reshape(len(least), -1),
            np.array(last, dtype=np.int64).T.reshape(len(least), -1),
            self.inputs,
            np.concatenate(
                [np.arange(0), *(np.arange((self.inputs == j).sum()) for j in range(n))]
            ),
        )
        table = Table(balls.centre.astype(np.float32), least.astype(np.uint8))
        weight = balls.sample_weight.astype(np.float32)
        return Lesson(table, balls.labels, weight, n_classes, around={1.0: around})

    def units(self, used: IndexArray, n_features: int) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of units that are on above some of the cuts."""
        W = np.zeros((len(used), n_features))
        W[np.arange(len(used)), self.inputs[used]] = 1.0
        return W, self.levels[used]


def _linear(shape: Architecture, balls: Balls, scores: FloatArray) -> Network:
    """The best threshold along the difference of two classes' scores."""
    pairs = [scores[b] - scores[a] for a, b in combinations(range(len(scores)), 2)]
    W = np.array([_allowed(w[None], shape.weights[0])[0] for w in pairs])
    found = best_cut(*balls.sums(W), balls, shape.n_outputs)
    return cut_network(shape, *found, W)


def _votes(shape: Architecture, cuts: Cuts, stack: Stack) -> Network:
    """Cuts with the largest votes below outputs."""
    votes = stack.weights[0].astype(float)
    size = np.abs(votes - votes.mean(axis=0)).sum(axis=0)
    used = np.sort(np.argsort(-size, kind="stable")[: shape.hidden[-1]])
    used = used[size[used] > 0]
    W, t = cuts.units(used, shape.n_features)
    top, votes = shape.weights[-1], votes[:, used]
    V = _allowed(votes, top)
    factor = float(np.abs(V).max(initial=0.0)) / max(float(np.abs(votes).max(initial=0.0)), 1e-12)
    T = stack.thresholds[0].astype(float) * factor
    return _network(shape, (W, V), (t, T))


def _tree(shape: Architecture, cuts: Cuts, stack: Stack) -> Network | None:
    """Boxes of a tree above the cuts that they need; None for a tree of one leaf."""
    boxes, V = (W.astype(float) for W in stack.weights)
    needed, T = (t.astype(float) for t in stack.thresholds)
    used = np.flatnonzero(boxes.any(axis=0))
    if not len(boxes):
        return None
    if cuts.is_bit:
        first = np.zeros((len(boxes), shape.n_features))
        first[:, cuts.inputs] = boxes
        return _network(shape, (first, V), (needed, T))
    W, t = cuts.units(used, shape.n_features)
    return _network(shape, (W, boxes[:, used], V), (t, needed, T))


def _network(
    shape: Architecture, weights: tuple[FloatArray, ...], thresholds: tuple[FloatArray, ...]
) -> Network:
    """A network of steps, with weight sets of the first layers of a shape and of its last one."""
    kinds = (*shape.weights[: len(weights) - 1], shape.weights[-1])
    hidden = tuple(len(W) for W in weights[:-1])
    own = replace(shape, hidden=hidden, weights=kinds, activations=())
    allowed = [_allowed(W, kind) for W, kind in zip(weights, kinds, strict=True)]
    return Network(own, tuple(allowed), tuple(t[:, None] for t in thresholds))


def _allowed(W: FloatArray, kind: WeightSet) -> FloatArray:
    """Weights of a set in about the same proportions; those that are in it stay as they are."""
    if kind.contains(W):
        return W
    W = W / max(float(np.abs(W).max(initial=0.0)), 1e-12) * kind.limit
    return np.asarray(np.rint(W) if kind.integer else W)
