"""Terms about weights as the search keeps them: bounds of every weight, and how many there may be.

Features, units and signs of paths leave a choice; it is made at random for one walk and another one
for the next, so that within a walk everything is a bound or a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.limits import WeightLimits as TermLimits
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm, Draw
from bdnn.search.kernels.arrays import IntArray, MoveLimits


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
        problem: Problem[Any],
        rng: np.random.Generator,
        guide: Network,
        *,
        paired: bool,
    ) -> WeightLimits | None:
        """Make the choices that terms leave, features by their weights in a guide.

        None where a pair of outputs that are each other's complement cannot keep the terms.
        """
        shape = problem.architecture
        limits = TermLimits.of(shape)
        for term in problem.terms:
            term.bound_weights(limits)
        for kind, terms in _by_kind(problem.terms).items():
            kind.narrow(terms, limits, Draw(rng, guide))
        box = list(zip(limits.low, limits.high, strict=True))
        if paired:
            low, high = box[-1]
            box[-1] = (np.maximum(low[1:], -high[:1]), np.minimum(high[1:], -low[:1]))
        for k, kind_of in enumerate(shape.weights):
            if not kind_of.zero:
                low, high = box[k]
                box[k] = (np.where(low > -1.0, 1.0, -1.0), np.where(high < 1.0, -1.0, 1.0))
        if any((low > high).any() for low, high in box):
            return None
        copies = np.ones(len(box), dtype=np.int64)
        copies[-1] = 2 if paired else 1
        must = [
            (low > 0.0) | (high < 0.0) | (not kind_of.zero)
            for (low, high), kind_of in zip(box, shape.weights, strict=True)
        ]
        most = np.array([*limits.per_unit, *limits.per_layer, limits.total], dtype=np.int64)
        least = sum(int(n) * int(part.sum()) for n, part in zip(copies, must, strict=True))
        if any(term.prices_weights for term in problem.terms):
            # How many weights are worth their price is not known: another guess for every walk.
            used = sum(np.count_nonzero(W) for W in guide.weights)
            most[-1] = min(most[-1], rng.integers(least + 2, least + 3 + used))
        if least > most[-1]:
            return None
        low, high = (np.concatenate([part[i].ravel() for part in box]) for i in (0, 1))
        return cls(low, high, most, copies, np.concatenate([part.ravel() for part in must]))

    def of_moves(self, free: MoveLimits, weight_at: IntArray, *, rigid: bool) -> MoveLimits:
        """The same for compiled moves, given those without rules.

        A unit whose bounds only say which weights may be positive, negative or 0 keeps the freedom
        to be multiplied, unless everything is ``rigid``.
        """
        low, high = self.low.copy(), self.high.copy()
        for first, last in pairwise(weight_at):
            part = slice(first, last)
            is_free = bool(np.isinf(free.high[part]).any()) and not rigid
            only_signs = np.isin(low[part], (-1.0, 0.0)) & np.isin(high[part], (0.0, 1.0))
            if is_free and only_signs.all():
                low[part] = np.where(low[part] < 0.0, -np.inf, 0.0)
                high[part] = np.where(high[part] > 0.0, np.inf, 0.0)
        most = self.most[:-1].reshape(2, -1)
        return MoveLimits(low, high, most, int(self.most[-1]), free.copies)

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


def _by_kind(terms: Sequence[AbstractTerm]) -> dict[type[AbstractTerm], list[AbstractTerm]]:
    """Terms of one class make their choices together."""
    found: dict[type[AbstractTerm], list[AbstractTerm]] = {}
    for term in terms:
        found.setdefault(type(term), []).append(term)
    return found
