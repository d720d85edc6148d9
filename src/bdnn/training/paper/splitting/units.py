"""Units of the first layer that cut no cluster of an epoch.

Along a direction every cluster covers an interval of sums. A threshold between these intervals
makes a unit that the epoch's problem allows, and all thresholds between two neighbouring intervals
make the same one; so a direction offers as many units as there are gaps, each with a known margin.
Balls around the inputs make the intervals wider by what a perturbation can add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.program import IndexArray
from bdnn.training.paper.splitting.epoch import EpochProblem

# Gaps must be wide enough to survive rounding, in units of the inputs.
_SMALLEST_GAP = 1e-7
# Thresholds that a layer shares are chosen among this many.
_SHARED_TRIALS = 64


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
