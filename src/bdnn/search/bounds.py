"""Lower bounds on the loss that need no MIP solver, each with the name of its argument.

All but the last hold for continuous weights and a threshold per unit, hence for every weight set
and kind of thresholds. With ``d`` units in the first hidden layer:

- *data conflicts*: inputs that carry several classes cost their minority, whatever the network;
- *output patterns*: a layer of ``d`` units has at most ``2**d`` states, so the outputs take at most
  that many patterns; an input whose own best pattern is not among them pays for its second best;
- *lines*: ``d`` planes cut a line into at most ``d + 1`` pieces, and the outputs are constant on
  each. Inputs that agree in all features but one lie on a line; lines of the same direction are
  disjoint;
- *half-space certificates*: where every output is a half-space of the inputs or constant (no hidden
  layer, or one unit in the first), a set of inputs wanted on whose convex hull meets that of a set
  of inputs wanted off contains a mistake, see :mod:`bdnn.search.half_spaces`;
- *all weights of one unit*: in the same case, few integer weights can be listed, see
  :mod:`bdnn.search.enumeration`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bdnn.activation import FloatArray
from bdnn.problem import TrainingProblem
from bdnn.search.enumeration import least_loss_of_one_unit
from bdnn.search.kernels.arrays import IntArray

# Looking for lines sorts all inputs once per feature; beyond this many numbers nobody waits for it.
_LARGEST_TABLE = 2_000_000


class Bound(NamedTuple):
    """A lower bound on the loss and the argument that proves it."""

    value: float
    origin: str


def lower_bound(problem: TrainingProblem, *, seconds: float = 1.0) -> Bound:
    """Find the best of the bounds; of equal ones the simplest argument is named.

    Parameters
    ----------
    problem : TrainingProblem
    seconds : float
        Time limit for each of the arguments that take long.
    """
    return max(lower_bounds(problem, seconds=seconds), key=lambda bound: bound.value)


def lower_bounds(problem: TrainingProblem, *, seconds: float = 1.0) -> list[Bound]:
    """All bounds that apply to the architecture, simplest argument first."""
    bounds = [Bound(problem.conflict_bound, "data conflicts")]
    problem = _of_steps(problem)
    hidden = problem.architecture.hidden
    if len(problem.inputs) == 0:
        return bounds
    if hidden:
        bounds.append(Bound(_pattern_bound(problem, min(hidden)), "output patterns"))
    # Without a hidden layer every output is one plane of its own.
    if problem.inputs.size <= _LARGEST_TABLE:
        deadline = time.monotonic() + seconds
        n_planes = hidden[0] if hidden else 1
        bounds.append(Bound(_line_bound(problem, n_planes, deadline), "lines"))
    if not hidden or hidden[0] == 1:
        listed = least_loss_of_one_unit(problem, deadline=time.monotonic() + seconds)
        if listed is not None:
            return [*bounds, Bound(listed, "all weights of one unit")]
        bounds.append(Bound(_half_space_bound(problem, seconds), "half-space certificates"))
    return bounds


def _of_steps(problem: TrainingProblem) -> TrainingProblem:
    """A problem of steps whose networks do all that units of several values can do.

    A unit of L thresholds is a choice among the L + 1 states of L steps with equal weights.
    """
    shape = problem.architecture
    if not shape.activations:
        return problem
    widths = tuple(
        units * shape.activation_of(k).n_thresholds for k, units in enumerate(shape.hidden)
    )
    steps = replace(shape, hidden=widths, thresholds="neuron", activations=())
    return replace(problem, architecture=steps)


def _pattern_bound(problem: TrainingProblem, width: int) -> float:
    """Loss that is left when the outputs take at most ``2**width`` patterns."""
    if width >= min(30, problem.architecture.n_outputs):  # every pattern has its place
        return problem.conflict_bound
    wanted = problem.cost_on < problem.cost_off
    # Any other pattern differs from the best one in at least one output.
    penalty = np.abs(problem.cost_on - problem.cost_off).min(axis=1)
    _, group = np.unique(wanted, axis=0, return_inverse=True)
    served = np.sort(np.bincount(group.reshape(-1), weights=penalty))[::-1]
    return float(problem.conflict_bound + served[2**width :].sum())


def _line_bound(problem: TrainingProblem, n_planes: int, deadline: float) -> float:
    """Largest sum over the lines of one direction of what their cuts must cost."""
    gains = problem.cost_off - problem.cost_on
    best = 0.0
    for j in _features_with_lines(problem.inputs, n_planes + 2):
        if time.monotonic() > deadline:
            break
        others = np.delete(problem.inputs, j, axis=1)
        order = np.lexsort((problem.inputs[:, j], *others.T))
        starts = np.ones(len(order), dtype=bool)
        if others.shape[1]:
            starts[1:] = (others[order[1:]] != others[order[:-1]]).any(axis=1)
        else:
            starts[1:] = False
        first = np.flatnonzero(starts)
        length = np.diff(np.append(first, len(order)))
        total = sum(
            _cut_cost(gains[order[first[line] : first[line] + length[line]], o], n_planes)
            for line in np.flatnonzero(length > n_planes + 1)
            for o in range(gains.shape[1])
        )
        best = max(best, total)
    return problem.conflict_bound + best


def _features_with_lines(X: FloatArray, length: int) -> IntArray:
    """Features in which so many inputs may differ that are equal in all others.

    Fingerprints of the other features can only agree too often, which costs time and nothing else.
    """
    if len(X) < length:
        return np.zeros(0, dtype=np.intp)
    words = (np.ascontiguousarray(X) + 0.0).view(np.uint64)
    marks = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        parts = (words ^ (words >> np.uint64(31))) * (marks | np.uint64(1))
        parts ^= parts >> np.uint64(29)
        others = np.sort(parts.sum(axis=1, keepdims=True) - parts, axis=0)
    return np.flatnonzero((others[length - 1 :] == others[: len(X) - length + 1]).any(axis=0))


def _cut_cost(gains: FloatArray, n_cuts: int) -> float:
    """Least cost, beyond conflicts, of a 0/1 sequence with at most ``n_cuts`` changes.

    Being on at position ``i`` is worth ``gains[i]``; dynamic programming over (changes, value).
    """
    runs = np.count_nonzero(np.diff(np.sign(gains[gains != 0.0])))
    if runs <= n_cuts:
        return 0.0
    price_on, price_off = np.maximum(0.0, -gains), np.maximum(0.0, gains)
    on = np.zeros(n_cuts + 1)
    off = np.zeros(n_cuts + 1)
    for i in range(len(gains)):
        switched_on = np.concatenate(([np.inf], off[:-1]))
        switched_off = np.concatenate(([np.inf], on[:-1]))
        on, off = (
            np.minimum(on, switched_on) + price_on[i],
            np.minimum(off, switched_off) + price_off[i],
        )
    return float(min(on.min(), off.min()))


def _half_space_bound(problem: TrainingProblem, seconds: float) -> float:
    """Sum over the outputs of what packed certificates say a half-space must cost."""
    from bdnn.search.half_spaces import half_space_cost

    gains = problem.cost_off - problem.cost_on
    deadline = time.monotonic() + seconds
    total = 0.0
    known: list[tuple[FloatArray, float]] = []
    for o in range(gains.shape[1]):
        price = gains[:, o]
        # The outputs of two classes are each other's complement, and so are half-spaces.
        cost = next((c for other, c in known if np.array_equal(other, -price)), None)
        if cost is None:
            cost = half_space_cost(problem.inputs, price, deadline=deadline)
            known.append((price, cost))
        total += problem.round_bound(cost)
    return problem.conflict_bound + total
