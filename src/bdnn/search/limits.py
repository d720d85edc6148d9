"""What terms ask of a search: bounds and numbers of weights, and charges for outputs.

Terms about weights become bounds of every weight and numbers of weights that no move breaks.
Features, units and signs of paths leave a choice; it is made at random for one walk and another one
for the next, so that within a walk everything is a bound or a number. Terms about outputs have
prices as wrong samples have: what breaks a row is charged more with every sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm, Draw, WeightLimits
from bdnn.search.kernels.arrays import IntArray, LevelArray, MoveLimits

# What a broken row's multiplier grows by with every sweep, or the share of all samples that a row
# over a single one is charged for, since so many others may speak against it; and how much of its
# multiplier a kept row keeps.
_CHARGE, _AGAINST_ALL, _KEPT = 0.5, 0.005, 0.95


def drawn_limits(
    problem: Problem[Any], guide: Network, rng: np.random.Generator, *, paired: bool
) -> MoveLimits | None:
    """Make the choices that terms leave, features by their weights in a guide.

    A unit whose bounds only say which weights may be positive, negative or 0 keeps the freedom to
    be multiplied, if it has it. None where a pair of outputs that are each other's complement
    cannot keep the terms.
    """
    shape = problem.architecture
    limits = WeightLimits.of(shape)
    for term in problem.terms:
        term.bound_weights(limits)
    for kind, terms in _by_kind(problem.terms).items():
        kind.narrow(terms, limits, Draw(rng, guide))
    if paired:
        low, high = limits.low[-1], limits.high[-1]
        limits.low[-1] = np.maximum(low[1:], -high[:1])
        limits.high[-1] = np.minimum(high[1:], -low[:1])
    copies, least = 2 if paired else 1, 0
    for k, kind_of in enumerate(shape.weights):
        low, high = limits.low[k], limits.high[k]
        if not kind_of.zero:
            low, high = np.where(low > -1.0, 1.0, -1.0), np.where(high < 1.0, -1.0, 1.0)
        if (low > high).any():
            return None
        must = (low > 0.0) | (high < 0.0) | (not kind_of.zero)
        least += int(must.sum()) * (copies if k == shape.n_layers - 1 else 1)
        only_signs = np.isin(low, (-1.0, 0.0)) & np.isin(high, (0.0, 1.0))
        if shape.has_free_scale(k) and not problem.scale_dependent and only_signs.all():
            low, high = np.where(low < 0.0, -np.inf, 0.0), np.where(high > 0.0, np.inf, 0.0)
        limits.low[k], limits.high[k] = low, high
    total = limits.total
    if any(term.prices_weights for term in problem.terms):
        # How many weights are worth their price is not known: another guess for every walk.
        used = sum(np.count_nonzero(W) for W in guide.weights)
        total = min(total, int(rng.integers(least + 2, least + 3 + used)))
    if least > total:
        return None
    low, high = (
        np.concatenate([part.ravel() for part in side]) for side in (limits.low, limits.high)
    )
    most = np.array([limits.per_unit, limits.per_layer], dtype=np.int64)
    return MoveLimits(low, high, most, total, copies)


def must_differ(limits: MoveLimits, shape: Architecture, weight_at: IntArray) -> BoolArray:
    """Tell which weights cannot be 0."""
    has_zero = np.repeat([kind.zero for kind in shape.weights], np.diff(weight_at))
    return np.asarray((limits.low > 0.0) | (limits.high < 0.0) | ~has_zero)


def projected(problem: Problem[Any], network: Network, rng: np.random.Generator) -> Network:
    """Move a network's weights to where terms about weights let them be, if they can be moved.

    Terms about outputs may still be broken.
    """
    if not problem.terms or problem.is_feasible(network):
        return network
    limits = drawn_limits(problem, network, rng, paired=False)
    if limits is None:
        return network
    shape = problem.architecture
    widths = np.array(shape.widths)
    flat = np.concatenate([W.ravel() for W in network.weights])
    moved = into_limits(flat, limits, shape, widths, rng)
    parts = np.split(moved, np.cumsum(widths[1:] * widths[:-1])[:-1])
    weights = [part.reshape(W.shape) for part, W in zip(parts, network.weights, strict=True)]
    return Network(shape, tuple(weights), network.thresholds)


def into_limits(
    weights: FloatArray,
    limits: MoveLimits,
    shape: Architecture,
    widths: IntArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Move weights into their bounds and drop the smallest ones beyond the numbers.

    ``widths`` are those of the layers that a search has, inputs first.
    """
    kept = np.clip(weights, limits.low, limits.high)
    ends = np.concatenate(([0], np.cumsum(widths[1:] * widths[:-1])))
    copies = np.ones(len(widths) - 1, dtype=np.int64)
    copies[-1] = limits.copies
    # A weight that must not be zero is dropped last.
    order = np.abs(kept) + 0.5 * rng.random(len(kept)) + 1e6 * must_differ(limits, shape, ends)
    for k, (first, last) in enumerate(pairwise(ends)):
        for at in range(first, last, widths[k]):
            unit = slice(at, at + widths[k])
            _drop(kept[unit], order[unit], int(limits.most[0, k]))
        _drop(kept[first:last], order[first:last], int(limits.most[1, k] // copies[k]))
    used = np.flatnonzero(kept)
    ranked = used[np.argsort(-order[used])]
    counted = np.cumsum(np.repeat(copies, np.diff(ends))[ranked])
    kept[ranked[counted > limits.total]] = 0.0
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


class OutputCharges:
    """Rows over outputs, and what breaking them costs at present (Lagrange multipliers)."""

    def __init__(
        self,
        problem: Problem[Any],
        *,
        paired: bool,  # whether one output stands for two classes
    ) -> None:
        found = [term.output_rows(problem) for term in problem.terms]
        rows = [row for row in found if row is not None]
        self.is_empty = not rows
        if self.is_empty:
            return
        self.A = csr_array(vstack([row.A for row in rows], format="csr"))
        size = np.maximum(abs(self.A).max(axis=1).toarray().ravel(), 1.0)
        self.A = csr_array(self.A.multiply(1.0 / size[:, None]).tocsr())
        self.lower = np.concatenate([row.lower for row in rows]) / size
        self.upper = np.concatenate([row.upper for row in rows]) / size
        if paired:
            # The first output is what the second is not; lines are always decided.
            first, second = self.A[:, 0::2], self.A[:, 1::2]
            constant = np.asarray(first.sum(axis=1)).ravel()
            self.A = csr_array(second - first)
            self.lower, self.upper = self.lower - constant, self.upper - constant
        self._charges = np.zeros((2, len(self.lower)))
        terms = np.maximum(np.diff(self.A.indptr), 1)
        self._step = np.maximum(_CHARGE, _AGAINST_ALL * problem.samples.n_lines / terms)

    def follow(self, outputs: LevelArray) -> bool:
        """Charge for what outputs of shape (outputs, lines) break; tell whether that is any."""
        values = self.A @ outputs.T.ravel().astype(float)
        broken = np.stack([values > self.upper + 1e-9, values < self.lower - 1e-9])
        self._charges = np.where(broken, self._charges + self._step, _KEPT * self._charges)
        return bool(broken.any())

    def on(self, n_outputs: int) -> FloatArray:
        """What an output costs more when it is on, of shape (outputs, lines)."""
        charge = self.A.T @ (self._charges[0] - self._charges[1])
        return np.asarray(charge.reshape(-1, n_outputs).T)
