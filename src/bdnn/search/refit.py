"""The best last layer above given activations.

Squared losses are a ridge regression in a box, solved by its normal equations and, where the box
cuts, by exact steps along coordinates. Absolute losses are a linear program. Integer weights are
rounded and improved along coordinates, which need not find the best of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.absolute import weighted_median
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem

_SWEEPS = 200
_MEDIAN_SWEEPS = 20
_TOLERANCE = 1e-12
# Beyond this many numbers a linear program of the absolute loss takes longer than a search should.
_LARGEST_PROGRAM = 200_000


def refit(problem: Problem[DistanceLoss], network: Network) -> Network:
    """Fit the last layer anew; the result is never worse than the network itself."""
    values = problem.inputs
    if problem.architecture.hidden:
        values = network.activations(problem.inputs)[-2].astype(float)
    best, least = network, merit(problem, network)
    for keeps_zeros in (False, True):
        W, bias = fit_outputs(problem, values, network.weights[-1], keeps_zeros=keeps_zeros)
        fitted = Network(
            network.architecture, (*network.weights[:-1], W), (*network.thresholds[:-1], -bias)
        )
        if (now := merit(problem, fitted)) < least:
            best, least = fitted, now
        if problem.is_feasible(fitted):
            break
    return best


def merit(problem: Problem[DistanceLoss], network: Network) -> float | Fraction:
    """Objective of a network, infinite where it breaks a term."""
    return problem.objective(network) if problem.is_feasible(network) else np.inf


def fit_outputs(
    problem: Problem[DistanceLoss],
    values: FloatArray,
    start: FloatArray,
    *,
    keeps_zeros: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Weights and biases of the outputs above inputs of shape (n_inputs, width).

    Weights lie within the bounds that terms give them; with ``keeps_zeros`` those that are 0 at the
    start stay so.
    """
    shape, limits = problem.architecture, problem.weight_limits
    low, high = limits.low[-1], limits.high[-1]
    if keeps_zeros:
        low, high = np.where(start == 0.0, 0.0, low), np.where(start == 0.0, 0.0, high)
    fit = _least_absolute if not problem.loss.is_squared else _least_squares
    W = fit(problem, values, start, _Box(shape.weights[-1], low, high))
    if shape.thresholds == "zero":
        return W, np.zeros(len(W))
    return W, problem.loss.best_shift(shape, values @ W.T)


@dataclass(frozen=True, eq=False)
class _Box:
    """Weights that outputs may have: a set, between bounds."""

    kind: WeightSet
    low: FloatArray
    high: FloatArray

    def nearest(self, weights: FloatArray, places: Any) -> FloatArray:
        return np.clip(self.kind.nearest(weights), self.low[places], self.high[places])


def has_own_bias(problem: Problem[DistanceLoss]) -> bool:
    """Whether every output has a bias for itself."""
    shape = problem.architecture
    return shape.thresholds == "neuron" or (shape.thresholds == "layer" and shape.n_outputs == 1)


def _least_squares(
    problem: Problem[DistanceLoss], values: FloatArray, start: FloatArray, box: _Box
) -> FloatArray:
    weight = problem.loss.weight  # inputs and samples are the same for squared losses
    targets = problem.loss.targets
    if has_own_bias(problem):
        # A bias takes the means off both sides.
        values = values - np.average(values, axis=0, weights=weight)
        targets = targets - np.average(targets, axis=0, weights=weight)
    gram = (values * weight[:, None]).T @ values
    gram[np.diag_indices_from(gram)] += problem.loss.ridge
    right = (values * weight[:, None]).T @ targets
    safe = gram + 1e-10 * max(1.0, float(np.trace(gram))) / len(gram) * np.eye(len(gram))
    free = np.linalg.solve(safe, right).T
    found = np.empty_like(free)
    for row in range(len(free)):
        options = [free[row], start[row]]
        fitted = [_in_box(gram, right[:, row], option, box, row) for option in options]
        merits = [2 * right[:, row] @ a - a @ gram @ a for a in fitted]
        found[row] = fitted[int(np.argmax(merits))]
    return found


def _in_box(
    gram: FloatArray, right: FloatArray, start: FloatArray, box: _Box, row: int
) -> FloatArray:
    """Improve the weights of one output along coordinates until none moves."""
    a = box.nearest(start, row)
    if not box.kind.integer and np.array_equal(a, start):
        return a
    diagonal, low, high = np.diag(gram), box.low[row].tolist(), box.high[row].tolist()
    slope = right - gram @ a
    for _ in range(_SWEEPS):
        moved = 0.0
        for j in np.flatnonzero(diagonal > 0):
            # The same as `box.nearest`, which is slow for single numbers.
            wanted = float(a[j] + slope[j] / diagonal[j])
            if box.kind.integer:
                wanted = float(round(wanted)) if box.kind.zero else math.copysign(1.0, wanted)
            wanted = min(high[j], max(low[j], wanted))
            change = wanted - a[j]
            if change:
                a[j] = wanted
                slope -= change * gram[:, j]
                moved = max(moved, abs(change))
        if moved <= _TOLERANCE:
            break
    return a


def _least_absolute(
    problem: Problem[DistanceLoss], values: FloatArray, start: FloatArray, box: _Box
) -> FloatArray:
    """Improve weights along coordinates, and by a linear program where they are continuous."""
    rows = values[problem.loss.group]
    found = start.copy()
    for row, y in enumerate(problem.loss.targets.T):
        found[row] = _by_medians(problem, rows, y, start[row], box, row)
        if not box.kind.integer and rows.size <= _LARGEST_PROGRAM:
            found[row] = _by_program(problem, rows, y, found[row], box, row)
    return found


def _by_medians(
    problem: Problem[DistanceLoss],
    rows: FloatArray,
    y: FloatArray,
    start: FloatArray,
    box: _Box,
    row: int,
) -> FloatArray:
    """Move one weight after the other, and the bias, to where the absolute loss is least."""
    a, weight = box.nearest(start, row), problem.loss.weight
    bias = 0.0
    for _ in range(_MEDIAN_SWEEPS):
        left = y - rows @ a - bias
        before = float(weight @ np.abs(left))
        if has_own_bias(problem):
            shift = weighted_median(left, weight)
            bias, left = bias + shift, left - shift
        for j in range(len(a)):
            on = rows[:, j] != 0.0
            if not on.any():
                continue
            h = rows[on, j]
            best = a[j] + weighted_median(left[on] / h, weight[on] * np.abs(h))
            options = box.nearest(np.array([np.floor(best), np.ceil(best), best]), (row, j))
            costs = np.abs(left[on] - (options[:, None] - a[j]) * h) @ weight[on]
            wanted = options[int(np.argmin(costs))]
            left[on] -= (wanted - a[j]) * h
            a[j] = wanted
        if float(weight @ np.abs(left)) >= before * (1.0 - 1e-6):
            break
    return a


def _by_program(
    problem: Problem[DistanceLoss],
    rows: FloatArray,
    y: FloatArray,
    start: FloatArray,
    box: _Box,
    row: int,
) -> FloatArray:
    """Weights of least absolute loss by a linear program: f >= D z - y and f >= y - D z."""
    n, width = rows.shape
    low, high = box.low[row], box.high[row]
    bias = np.full((n, 1), float(has_own_bias(problem)))
    design, sizes = csr_array(np.hstack([rows, bias])), eye_array(n)
    answer = linprog(
        np.concatenate([np.zeros(width + 1), problem.loss.weight]),
        A_ub=vstack([hstack([design, -sizes]), hstack([-design, -sizes])]),
        b_ub=np.concatenate([y, -y]),
        bounds=[*zip(low, high, strict=True), (None, None), *[(0, None)] * n],
    )
    return np.clip(answer.x[:width], low, high) if answer.status == 0 else start
