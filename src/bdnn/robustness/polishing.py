"""Nearer counter-examples by linear programs, for networks with one hidden layer.

At a counter-example some hidden units speak for the other class. The nearest point at which these
still do, whatever becomes of the rest, is found by a linear program. Where the other class leads by
more than a unit is worth, that unit is let go, the most expensive one of the program first. Units
that happen to speak for the class at the new point make up for it, and so on while it gets nearer.
"""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.robustness.attacks import CounterExamples, pulled_back
from bdnn.robustness.perturbation import PerturbationSet

_ROUNDS, _FAILURES = 60, 6
# How far sums stay away from thresholds, beside what rounding to the grid can do.
_ROOM = 1e-9


def suits(around: PerturbationSet) -> bool:
    """Whether inputs are free numbers, lengths linear, and units steps of one layer."""
    shape = around.network.architecture
    is_plain = type(around) is PerturbationSet and not around.domain.groups
    is_plain = is_plain and not around.domain.integer.any()
    return is_plain and around.norm != "l2" and len(shape.hidden) == 1 and not shape.has_levels


def polished(around: PerturbationSet, found: CounterExamples) -> CounterExamples:
    """Bring the counter-example of a single sample nearer."""
    if not found.found[0] or not suits(around):
        return found
    network = around.network
    W, t = network.weights[0], network.step_thresholds[0]
    own, rng = int(around.classes[0]), np.random.default_rng(0)
    failures = 0
    for _ in range(_ROUNDS):
        other = int(around.predict(found.X)[0])
        d = network.weights[1][other] - network.weights[1][own]
        T = network.output_thresholds
        is_on = W @ around.scaler.transform(found.X)[0] >= t
        speaks = (is_on & (d > 0)) | (~is_on & (d < 0))
        # The lead of the other class where all units that do not speak for it are against it.
        lead = float(np.abs(d[speaks]).sum() + np.minimum(d, 0.0).sum() - (T[other] - T[own]))
        near = found
        while (answer := _nearest(around, speaks, is_on)) is not None:
            point, prices = answer
            near = near.with_better(around, around.raw(point))
            costly = speaks & (np.abs(d) < lead) & (prices > 0)
            if not costly.any():
                break
            worth = prices / np.where(costly, np.abs(d), np.inf)
            if failures:  # what was best one after the other led nowhere
                worth *= rng.random(len(worth)) ** 2
            let_go = int(worth.argmax())
            lead -= abs(d[let_go])
            speaks[let_go] = False
        failures += bool(near.lengths[0] > found.lengths[0] * (1 - _ROOM))
        found = near
        if failures > _FAILURES:
            break
    return pulled_back(around, found)


def _nearest(
    around: PerturbationSet, kept: BoolArray, is_on: BoolArray
) -> tuple[FloatArray, FloatArray] | None:
    """The nearest coordinates at which units keep their state, and what each of them costs."""
    from scipy.optimize import linprog  # slow to load

    network, step = around.network, around.scaler.step or 1.0
    W, t = network.weights[0][kept], network.step_thresholds[0][kept]
    sign = np.where(is_on[kept], 1.0, -1.0)
    centre, n = around.centre[0], W.shape[1]
    room = (_ROOM + around.half_step) * (1.0 + np.abs(W).sum(axis=1))
    units = np.column_stack(
        [-sign[:, None] * W, np.zeros((len(W), 1 if around.norm == "linf" else n))]
    )
    limits = -sign * t - room
    eye = np.eye(n)
    reach = -around.unit[:, None] if around.norm == "linf" else -np.diag(around.unit)
    ball = np.block([[eye, reach], [-eye, reach]])
    edges = np.concatenate([centre, -centre]) + around.half_step
    lowest, highest = around.lowest[0] * step, around.highest[0] * step
    bounds = [*zip(lowest, highest, strict=True)] + [(0.0, None)] * (units.shape[1] - n)
    cost = np.concatenate([np.zeros(n), np.ones(units.shape[1] - n)])
    answer = linprog(
        cost,
        A_ub=np.vstack([units, ball]),
        b_ub=np.concatenate([limits, edges]),
        bounds=bounds,
        method="highs-ds",
    )
    if answer.status != 0:
        return None
    prices = np.zeros(len(kept))
    prices[kept] = -answer.ineqlin.marginals[: len(W)]
    z = answer.x[:n]
    point = np.rint(z / step) if around.scaler.step else z
    return point[None], prices
