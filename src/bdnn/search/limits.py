"""Rules about weights as the search keeps them: bounds of every weight, and how many there may be.

Features, units and signs of paths leave a choice; it is made at random for one walk and another one
for the next, so that within a walk everything is a bound or a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.constraints.rules import Count, PathSigns
from bdnn.network import Network
from bdnn.search.kernels.arrays import IntArray

Box = list[tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class WeightLimits:
    """Bounds of all weights in the order of the search's arrays, and limits on their number.

    Parameters
    ----------
    low, high : arrays with one entry per weight
    most : array
        Largest numbers of weights per unit of every layer, per layer, and of the whole network.
    copies : array with one entry per layer
        How often a weight counts.
    must : array with one entry per weight
        Weights that cannot be zero.
    """

    low: FloatArray
    high: FloatArray
    most: IntArray
    copies: IntArray
    must: BoolArray

    @classmethod
    def draw(
        cls,
        problem: ConstrainedProblem,
        rng: np.random.Generator,
        guide: Network,
        *,
        paired: bool,
    ) -> WeightLimits | None:
        """Make the choices that rules leave, features by their weights in a guide.

        None where a pair of outputs that are each other's complement cannot keep the rules.
        """
        box = [(low.copy(), high.copy()) for low, high in problem.weight_box]
        _choose_signs(problem, box, rng)
        for rule in problem.rules:
            if isinstance(rule, Count) and rule.kind == "features":
                _choose_features(box, rule.limits[0] or 0, guide, rng)
            elif isinstance(rule, Count) and rule.kind == "units":
                _choose_units(box, rule.limits[0] or 0)
        if paired:
            low, high = box[-1]
            box[-1] = (np.maximum(low[1:], -high[:1]), np.minimum(high[1:], -low[:1]))
        for k, kind in enumerate(problem.architecture.weights):
            if not kind.zero:
                low, high = box[k]
                box[k] = (np.where(low > -1.0, 1.0, -1.0), np.where(high < 1.0, -1.0, 1.0))
        if any((low > high).any() for low, high in box):
            return None
        n_layers = len(box)
        most = np.full(2 * n_layers + 1, np.iinfo(np.int64).max // 4, dtype=np.int64)
        for rule in problem.rules:
            if isinstance(rule, Count) and rule.kind in ("per_unit", "per_layer", "total"):
                place = {"per_unit": 0, "per_layer": n_layers, "total": 2 * n_layers}[rule.kind]
                for k, limit in enumerate(rule.limits):
                    if limit is not None:
                        most[place + k] = min(most[place + k], limit)
        copies = np.ones(n_layers, dtype=np.int64)
        copies[-1] = 2 if paired else 1
        must = [
            (low > 0.0) | (high < 0.0) | (not kind.zero)
            for (low, high), kind in zip(box, problem.architecture.weights, strict=True)
        ]
        least = sum(int(n) * int(part.sum()) for n, part in zip(copies, must, strict=True))
        if problem.penalty.weight or problem.penalty.l1 or problem.penalty.l2:
            # How many weights are worth their price is not known: another guess for every walk.
            used = sum(np.count_nonzero(W) for W in guide.weights)
            most[-1] = min(most[-1], rng.integers(least + 2, least + 3 + used))
        if least > most[-1]:
            return None
        low, high = (np.concatenate([part[i].ravel() for part in box]) for i in (0, 1))
        return cls(low, high, most, copies, np.concatenate([part.ravel() for part in must]))

    def project(self, weights: FloatArray, rng: np.random.Generator, sizes: IntArray) -> FloatArray:
        """Move weights into their bounds and drop the smallest ones beyond the numbers.

        ``sizes`` are the layers' widths, inputs first.
        """
        kept = np.clip(weights, self.low, self.high)
        n_layers = len(sizes) - 1
        ends = np.concatenate(([0], np.cumsum(sizes[1:] * sizes[:-1])))
        order = np.abs(kept) + 0.5 * rng.random(len(kept))
        # A weight that must not be zero is dropped last.
        order += 1e6 * self.must
        for k in range(n_layers):
            part = slice(ends[k], ends[k + 1])
            lines = kept[part].reshape(-1, sizes[k])
            for line, rank in zip(lines, order[part].reshape(lines.shape), strict=True):
                _drop(line, rank, int(self.most[k]))
            _drop(kept[part], order[part], int(self.most[n_layers + k] // self.copies[k]))
        per_weight = np.repeat(self.copies, np.diff(ends))
        used = np.flatnonzero(kept)
        ranked = used[np.argsort(-order[used])]
        kept[ranked[np.cumsum(per_weight[ranked]) > self.most[-1]]] = 0.0
        return np.asarray(kept)


def _drop(weights: FloatArray, rank: FloatArray, most: int) -> None:
    """Keep only the weights of highest rank."""
    used = np.flatnonzero(weights)
    if len(used) > most:
        weights[used[np.argsort(-rank[used])][most:]] = 0.0


def _narrow(box: Box, k: int, places: Any, low: float, high: float) -> None:
    box[k][0][places] = np.maximum(box[k][0][places], low)
    box[k][1][places] = np.minimum(box[k][1][places], high)


def _choose_features(box: Box, most: int, guide: Network, rng: np.random.Generator) -> None:
    low, high = box[0]
    must = ((low > 0.0) | (high < 0.0)).any(axis=0)
    size = np.abs(guide.weights[0]).sum(axis=0)
    rank = size / max(float(size.max(initial=0.0)), 1e-300) + rng.random(len(size)) + 1e6 * must
    for feature in np.argsort(-rank)[most:]:
        _narrow(box, 0, (slice(None), feature), 0.0, 0.0)


def _choose_units(box: Box, most: int) -> None:
    """Leave the first units of all hidden layers in turn; no unit differs from another one."""
    widths = [low.shape[1] for low, _ in box[1:]]
    turns = [(j, k) for j in range(max(widths, default=0)) for k in range(len(widths))]
    turns = [(j, k) for j, k in turns if j < widths[k]]
    for j, k in turns[most:]:
        _narrow(box, k + 1, (slice(None), j), 0.0, 0.0)


def _choose_signs(problem: ConstrainedProblem, box: Box, rng: np.random.Generator) -> None:
    """Give every hidden unit one class it may speak for, or none, when features are monotone."""
    rules = [rule for rule in problem.rules if isinstance(rule, PathSigns)]
    if not rules:
        return
    outputs = problem.architecture.n_outputs
    # Of two classes, what speaks for one speaks against the other.
    wanted = [
        (r.feature, -r.sign, 1) if outputs == 2 and r.output == 0 else (r.feature, r.sign, r.output)
        for r in rules
    ]
    classes = sorted({output for *_, output in wanted})
    limit = np.inf
    if len(box) == 1:
        for feature, sign, output in wanted:
            for o in range(outputs):
                upward = (o == output) == (sign > 0)
                _narrow(box, 0, (o, feature), 0.0 if upward else -limit, limit if upward else 0.0)
        return
    # With a threshold per unit any single unit below a single pair of outputs can be turned round.
    complete = outputs == 2 and len(box) == 2 and problem.architecture.thresholds == "neuron"
    kinds = classes if complete else [*classes, -1]
    below: list[int] = []
    for k, (low, _) in enumerate(box):
        is_last = k == len(box) - 1
        units = (
            list(range(outputs))
            if is_last
            else [kinds[(u + int(rng.integers(len(kinds)))) % len(kinds)] for u in range(len(low))]
        )
        for u, kind in enumerate(units):
            if k == 0:
                for feature, sign, output in wanted:
                    ends = (0.0, limit) if sign > 0 else (-limit, 0.0)
                    _narrow(box, 0, (u, feature), *(ends if output == kind else (0.0, 0.0)))
                continue
            for j, source in enumerate(below):
                if source == -1:
                    continue
                if is_last:
                    ends = (0.0, limit) if source == kind else (-limit, 0.0)
                else:
                    ends = (0.0, limit) if source == kind else (0.0, 0.0)
                _narrow(box, k, (u, j), *ends)
        below = units
