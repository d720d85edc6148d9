"""First-layer activations that no perturbation changes: what is asked, and networks that keep it.

Along a unit's weights the ball of every input covers an interval of sums. A threshold between these
intervals is one that no perturbation crosses, and there always is one below all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bdnn.mip import Robust
from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver

# Gaps must be wide enough to survive rounding, relative to the sums beside them.
_SMALLEST_GAP = 1e-9


def promised(
    problem: Problem[Any],
    radius: float | Sequence[float] | None,
    norm: str,
    solver: str | AbstractSolver,
) -> Robust | None:
    """What perturbations must not change, None where nothing is asked."""
    if radius is None:
        return None
    robust = Robust.create(radius, norm, len(problem.inputs))
    if not robust.radius.any():
        return None
    if norm == "l2":
        _check_cones(solver)
    return robust


def settled(network: Network, robust: Robust, inputs: FloatArray) -> Network | None:
    """Move first-layer thresholds to the nearest ones that no perturbation of an input crosses.

    Where thresholds are zero, units that are crossed lose their weights; None where weights cannot
    be zero either.
    """
    if robust.holds(network, inputs).all():
        return network
    shape = network.architecture
    W, t = network.weights[0], network.thresholds[0]
    sums = weighted_sums(inputs, W)
    reach = robust.radius[:, None] * robust.dual_norms(W)
    # Thresholds at fixed distances move together: none of them may lie in an interval.
    is_fixed = shape.activation_of(0).thresholds is not None
    span = t - t[:, :1] if is_fixed else np.zeros((len(t), 1))
    low, high = (
        (ends.T[:, None] - span[:, :, None]).reshape(len(t), -1)
        for ends in (sums - reach, sums + reach)
    )
    moving = t[:, :1] if is_fixed else t
    if shape.thresholds == "layer":
        low, high, moving = low.reshape(1, -1), high.reshape(1, -1), moving[:1]
    if shape.thresholds != "zero":
        gaps = np.stack([_nearest_gaps(low, high, level) for level in moving.T], axis=1)
        t = np.broadcast_to(np.sort(gaps, axis=1) + span, t.shape)
    elif shape.weights[0].zero:
        is_crossed = ((low < t[:, :1]) & (high >= t[:, :1])).any(axis=1, keepdims=True)
        W = np.where(is_crossed, 0.0, W)
    moved = Network(shape, (W, *network.weights[1:]), (t, *network.thresholds[1:]))
    return moved if robust.holds(moved, inputs).all() else None


def _nearest_gaps(low: FloatArray, high: FloatArray, t: FloatArray) -> FloatArray:
    """For every line of intervals the threshold itself, or the middle of the gap next to it."""
    order = np.argsort(low, axis=1, kind="stable")
    ends = np.full((len(t), 1), np.inf)
    covered = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    left = np.hstack([-ends, covered])
    right = np.hstack([np.take_along_axis(low, order, axis=1), ends])
    spread = high.max(axis=1, keepdims=True) - low.min(axis=1, keepdims=True)
    # The outer gaps have no middle.
    middle = np.where(np.isinf(left), right - spread / 2, left + spread / 2)
    inner = np.isfinite(left) & np.isfinite(right)
    middle[inner] = 0.5 * (left[inner] + right[inner])
    is_gap = ~inner
    is_gap[inner] = (right - left)[inner] > _SMALLEST_GAP * (1.0 + np.abs(left[inner]))
    level = t[:, None]
    distance = np.where(is_gap, np.maximum(left - level, level - right), np.inf)
    nearest = distance.argmin(axis=1)
    lines = np.arange(len(t))
    is_inside = (left[lines, nearest] < t) & (t <= right[lines, nearest])
    return np.asarray(np.where(is_inside, t, middle[lines, nearest]))


def _check_cones(solver: str | AbstractSolver) -> None:
    """Say before any work that a solver knows no cones."""
    program = Program()
    program.add_cones("norm1", *np.split(program.add_variables("norm1", (1, 2)), 2, axis=1))
    engine = choose_solver(program) if solver == "auto" else get_solver(solver)
    engine.check_supports(program)
