"""Units of the first layer that cut no cluster of an epoch.

Along a direction every cluster covers an interval of sums. A threshold between these intervals
makes a unit that the epoch's problem allows, and all thresholds between two neighbouring intervals
make the same one; so a direction offers as many units as there are gaps, each with a known margin.
Balls around the inputs make the intervals wider by what a perturbation can add.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.architecture import WeightSet
from bdnn.program import IndexArray
from bdnn.training.paper.clusters import fit_to_set
from bdnn.training.paper.epoch import EpochProblem

# Gaps must be wide enough to survive rounding, in units of the inputs.
_SMALLEST_GAP = 1e-7
# Thresholds that a layer shares are chosen among this many.
_SHARED_TRIALS = 64
# Directions of the first pool; every further one has twice as many.
_DIRECTIONS = 300
_POOLS = 3
# Penalties of the regressions, relative to the inputs' variance.
_PENALTIES = (1e-6, 1e-2, 1.0)


@dataclass(frozen=True, eq=False)
class UnitPool:
    """Units that cut no cluster.

    Parameters
    ----------
    W, t : arrays
        Weights and threshold of every unit.
    on : array of shape (n_units, n_clusters)
        Which clusters a unit holds.
    margin : array
        Distance of the nearest input from the unit's plane.
    """

    W: FloatArray
    t: FloatArray
    on: BoolArray
    margin: FloatArray

    def __len__(self) -> int:
        return len(self.W)

    def take(self, places: IndexArray) -> UnitPool:
        """Some of the units."""
        return UnitPool(self.W[places], self.t[places], self.on[places], self.margin[places])


def unit_pools(epoch: EpochProblem, rng: np.random.Generator) -> Iterator[UnitPool]:
    """Pools of ever more units."""
    shape = epoch.problem.architecture
    for attempt in range(_POOLS):
        directions = propose_directions(epoch, shape.weights[0], _DIRECTIONS << attempt, rng)
        yield allowed_units(epoch, directions, shape.thresholds)


def allowed_units(epoch: EpochProblem, directions: FloatArray, thresholds: str) -> UnitPool:
    """All units along given directions that cut no cluster and are not the same on all."""
    low, high = _intervals(epoch, directions)
    if thresholds == "zero":
        return _at_threshold(directions, low, high, np.zeros(len(directions)))
    order = np.argsort(low, axis=1, kind="stable")
    sorted_low = np.take_along_axis(low, order, axis=1)
    covered = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    gaps = sorted_low[:, 1:] - covered[:, :-1]
    line, place = np.nonzero(gaps > _SMALLEST_GAP * (1.0 + np.abs(covered[:, :-1])))
    t = 0.5 * (sorted_low[line, place + 1] + covered[line, place])
    W = directions[line]
    if thresholds == "layer":
        return _sharing(directions, low, high, W, t)
    return _at_threshold(W, low[line], high[line], t)


def _intervals(epoch: EpochProblem, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest sum of every cluster along every direction."""
    order = np.argsort(epoch.groups, kind="stable")
    first = np.unique(epoch.groups[order], return_index=True)[1]
    low = high = weighted_sums(epoch.problem.inputs[order], directions).T
    if epoch.robust is not None:
        reach = epoch.robust.dual_norms(directions)[:, None] * epoch.robust.radius[order]
        low, high = low - reach, high + reach
    return np.minimum.reduceat(low, first, axis=1), np.maximum.reduceat(high, first, axis=1)


def _at_threshold(W: FloatArray, low: FloatArray, high: FloatArray, t: FloatArray) -> UnitPool:
    """Those of the units with these thresholds that cut no cluster."""
    on = low >= t[:, None]
    distance = np.where(on, low - t[:, None], t[:, None] - high).min(axis=1, initial=np.inf)
    allowed = (on | (high < t[:, None])).all(axis=1) & on.any(axis=1) & ~on.all(axis=1)
    length = np.maximum(np.linalg.norm(W, axis=1), 1e-300)
    return UnitPool(W, t, on, distance / length).take(np.flatnonzero(allowed))


def _sharing(
    directions: FloatArray, low: FloatArray, high: FloatArray, W: FloatArray, t: FloatArray
) -> UnitPool:
    """Units that all have the threshold at which most directions cut no cluster."""
    if not len(t):
        return _at_threshold(W, np.zeros((0, low.shape[1])), np.zeros((0, low.shape[1])), t)
    candidates = np.unique(t)[:: max(1, len(np.unique(t)) // _SHARED_TRIALS)]
    pools = (
        _at_threshold(directions, low, high, np.full(len(directions), level))
        for level in candidates
    )
    return max(pools, key=len)


def propose_directions(
    epoch: EpochProblem, weights: WeightSet, count: int, rng: np.random.Generator
) -> FloatArray:
    """Directions along which clusters may be told apart, in the box of a weight set.

    A part is sparse and random; the others regress a dichotomy of the clusters on the inputs: a
    class against the rest, some classes against the others, or clusters at random.
    """
    X = epoch.problem.inputs
    n = X.shape[1]
    sparse = np.zeros((count // 3, n))
    terms = rng.integers(1, min(n, 4) + 1, size=len(sparse))
    ranks = rng.random(sparse.shape).argsort(axis=1)
    chosen = ranks < terms[:, None]
    sparse[chosen] = rng.choice([-1.0, 1.0], size=int(chosen.sum())) * rng.uniform(
        0.5, 1.0, size=int(chosen.sum())
    )
    planes = _regressions(epoch, count - len(sparse), rng)
    return fit_to_set(np.vstack([np.eye(n), sparse, planes]), weights, rng)


def _regressions(epoch: EpochProblem, count: int, rng: np.random.Generator) -> FloatArray:
    X, p = epoch.problem.inputs, epoch.n_clusters
    leading = epoch.mass.argmax(axis=1)
    n_classes = epoch.mass.shape[1]
    kind = rng.integers(0, 3, size=count)
    sides = rng.random((count, n_classes)) < 0.5
    sides[kind == 0] = np.eye(n_classes, dtype=bool)[rng.integers(0, n_classes, (kind == 0).sum())]
    side = sides[:, leading]
    side[kind == 2] = rng.random((int((kind == 2).sum()), p)) < 0.5
    wanted = np.where(side, 1.0, -1.0)[:, epoch.groups]
    centred = X - X.mean(axis=0)
    wanted = wanted - wanted.mean(axis=1, keepdims=True)
    gram, moments = centred.T @ centred, wanted @ centred
    scale = max(float(np.trace(gram)) / max(1, X.shape[1]), 1e-300)
    planes: FloatArray = np.empty_like(moments)
    for place, penalty in enumerate(_PENALTIES):
        rows = slice(place, None, len(_PENALTIES))
        damped = gram + penalty * scale * np.eye(len(gram))
        planes[rows] = np.linalg.solve(damped, moments[rows].T).T
    return planes
