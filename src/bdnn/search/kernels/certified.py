"""Compiled moves on the worst case of a network with one hidden layer.

Around every sample lies a ball of inputs. In it the sum of a hidden unit stays between two bounds,
so that the unit is on, off, or free: free units take whichever value is worse for the sample. With
``d = v_cj - v_lj`` the unit ``j`` adds to the worst lead of the true class ``c`` over class ``l``

    0 if it is off,    d if it is on,    min(0, d) if it is free.

A unit's state follows from two columns per sample, its upper and its lower bound: none of them, one
or both reach the threshold. What each column is worth is known when all other units are fixed, so
that improving a unit is again a weighted half-space problem, with twice as many columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import compiled, part
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.search.kernels.arrays import IntArray, MoveLimits
from bdnn.search.kernels.line import level_merit, threshold_search
from bdnn.search.moves.anneal import REACH, accepts, proposal
from bdnn.search.moves.improve import shuffled
from bdnn.search.moves.unit import assign, fill, nonzeros, room_of

BOX, MAXIMUM, EUCLIDEAN = 0, 1, 2
# Share of the proposals of continuous weights that take one out: sums then move less in a ball.
_ZEROS = 0.2


class Columns(NamedTuple):
    """Raw columns whose bins decide inputs, one after the other in flat arrays."""

    column_of: IntArray  # (n_features,): the column that decides an input, -1 for none
    inputs: IntArray  # places of the inputs of all columns, and where those of each begin
    input_at: IntArray
    patterns: FloatArray  # inputs of all bins of all columns, and where those of each begin
    pattern_at: IntArray
    sets: BoolArray  # bins in all sets of all columns, and where those of each begin
    set_at: IntArray
    n_bins: IntArray
    set_of: IntArray  # (n_columns, n_samples): bins that a sample reaches


class Worst(NamedTuple):
    """A network, the balls around all samples, and the worst case in them."""

    # (n_features, n_samples): box around every ball.
    low: FloatArray
    high: FloatArray
    centre: FloatArray  # (n_features, n_samples)
    columns: Columns
    radius: FloatArray  # (n_samples,)
    # Array of one code: dual norm of the weights that limits a sum beside the box: none, the
    # largest entry, or the Euclidean length.
    norm: IntArray
    label: NDArray[np.int64]  # (n_samples,)
    sample_weight: FloatArray  # (n_samples,)
    # Weights of the hidden layer and then of the outputs, and where each begin.
    weights: FloatArray
    weight_at: IntArray
    limits: MoveLimits
    # (n_hidden, n_features) and (n_outputs, n_hidden): views of the weights.
    W: FloatArray
    V: FloatArray
    # Thresholds of the hidden layer and of the outputs.
    t: FloatArray
    T: FloatArray
    # (n_hidden, n_samples): bounds of the hidden sums.
    lower: FloatArray
    upper: FloatArray
    # (n_samples, n_outputs): worst lead of the true class over every other, infinite over itself.
    lead: FloatArray
    # Allowed weights of both layers, empty where they are continuous.
    values: FloatArray
    top_values: FloatArray
    free: BoolArray  # whether every unit has a threshold of its own
    wanted: FloatArray  # array of one entry: lead beyond which nothing is gained


@part
def box_sums(s: Worst, w: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Write the bounds of a unit's sums over boxes and bins."""
    fill(lower, 0.0)
    fill(upper, 0.0)
    for k in range(len(w)):
        column = s.columns.column_of[k]
        if column < 0 or s.columns.inputs[s.columns.input_at[column]] == k:
            add_part(s, w, k, 1.0, lower, upper)


@part
def add_part(
    s: Worst, w: FloatArray, k: int, sign: float, lower: FloatArray, upper: FloatArray
) -> None:
    """Add to bounds what an input, or the column that decides it, contributes, or take it away."""
    if s.columns.column_of[k] >= 0:
        add_column(s.columns, w, s.columns.column_of[k], sign, lower, upper)
        return
    value = w[k]
    factor = sign * value
    if value > 0.0:
        for i in range(len(lower)):
            lower[i] += factor * s.low[k, i]
            upper[i] += factor * s.high[k, i]
    elif value < 0.0:
        for i in range(len(lower)):
            lower[i] += factor * s.high[k, i]
            upper[i] += factor * s.low[k, i]


@part
def add_column(
    c: Columns, w: FloatArray, j: int, sign: float, lower: FloatArray, upper: FloatArray
) -> None:
    """Add the least and the largest part of a column in the bins that samples reach."""
    first, last, n_bins = c.input_at[j], c.input_at[j + 1], c.n_bins[j]
    is_seen = False
    for place in range(first, last):
        is_seen |= w[c.inputs[place]] != 0.0
    if not is_seen:
        return
    parts = np.zeros(n_bins)
    for b in range(n_bins):
        at = c.pattern_at[j] + b * (last - first)
        for place in range(first, last):
            parts[b] += w[c.inputs[place]] * c.patterns[at + place - first]
    n_sets = (c.set_at[j + 1] - c.set_at[j]) // n_bins
    least, most = np.full(n_sets, np.inf), np.full(n_sets, -np.inf)
    for number in range(n_sets):
        at = c.set_at[j] + number * n_bins
        for b in range(n_bins):
            if c.sets[at + b]:
                least[number] = min(least[number], parts[b])
                most[number] = max(most[number], parts[b])
    for i in range(len(lower)):
        lower[i] += sign * least[c.set_of[j, i]]
        upper[i] += sign * most[c.set_of[j, i]]


@part
def tighten(s: Worst, w: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Cut the bounds of a box to those of the ball: the centre's sum, and r times a dual norm."""
    if s.norm[0] == BOX:
        return
    dual = 0.0
    for k in range(len(w)):
        dual = max(dual, abs(w[k])) if s.norm[0] == MAXIMUM else dual + w[k] * w[k]
    if s.norm[0] == EUCLIDEAN:
        dual = np.sqrt(dual)
    for i in range(len(lower)):
        middle = 0.0
        for k in range(len(w)):
            middle += w[k] * s.centre[k, i]
        lower[i] = max(lower[i], middle - s.radius[i] * dual)
        upper[i] = min(upper[i], middle + s.radius[i] * dual)


@part
def contribution(difference: float, reached: int) -> float:
    """What a unit adds to a lead when none, one or both of its columns reach the threshold."""
    if reached == 2:
        return difference
    return min(0.0, difference) if reached == 1 else 0.0


@compiled
def refresh_leads(s: Worst) -> float:
    """Compute all bounds and leads anew; return the cost."""
    units, m = s.lower.shape
    outputs = len(s.T)
    for j in range(units):
        box_sums(s, s.W[j], s.lower[j], s.upper[j])
        tighten(s, s.W[j], s.lower[j], s.upper[j])
    for i in range(m):
        c = s.label[i]
        for o in range(outputs):
            s.lead[i, o] = np.inf if o == c else s.T[o] - s.T[c]
    for j in range(units):
        add_unit(s, j, 1.0)
    return total_cost(s)


@part
def add_unit(s: Worst, j: int, sign: float) -> None:
    """Add a unit to all leads, or take it away."""
    for i in range(len(s.label)):
        reached = int(s.upper[j, i] >= s.t[j]) + int(s.lower[j, i] >= s.t[j])
        if reached > 0:
            c = s.label[i]
            for o in range(len(s.T)):
                if o != c:
                    s.lead[i, o] += sign * contribution(s.V[c, j] - s.V[o, j], reached)


@compiled
def total_cost(s: Worst) -> float:
    """Sum over the samples of what their worst lead lacks."""
    total = 0.0
    for i in range(len(s.label)):
        total += sample_cost(s, i, -1, 0)
    return total


@part
def sample_cost(s: Worst, i: int, j: int, reached: int) -> float:
    """What the worst lead of one sample lacks; a unit ``j`` that is not in the leads is added."""
    c = s.label[i]
    worst: float = np.inf
    for o in range(len(s.T)):
        if o != c:
            lead = s.lead[i, o]
            if j >= 0:
                lead += contribution(s.V[c, j] - s.V[o, j], reached)
            worst = min(worst, lead)
    return float(s.sample_weight[i] * max(0.0, s.wanted[0] - worst))


@compiled
def anneal_unit(s: Worst, j: int, temperature: float, rng: np.random.Generator) -> None:
    """Propose a change of every weight of a hidden unit, each with the best threshold."""
    n, m = s.low.shape
    add_unit(s, j, -1.0)
    gains = np.empty((1, 2 * m))
    for i in range(m):
        none, one = sample_cost(s, i, j, 0), sample_cost(s, i, j, 1)
        gains[0, i] = none - one
        gains[0, m + i] = one - sample_cost(s, i, j, 2)
    # Upper bounds first, then lower ones: of boxes, and cut to the balls.
    box, other = np.empty(2 * m), np.empty(2 * m)
    columns = np.empty(2 * m)
    at, w = j * n, s.W[j]
    box_sums(s, w, box[m:], box[:m])
    assign(columns, box)
    tighten(s, w, columns[m:], columns[:m])
    threshold = s.t[j : j + 1]
    merit = level_merit(columns, threshold, gains)
    spare = room_of(s.weights, s.weight_at, s.limits, 0, at, n) - nonzeros(s.weights, at, at + n)
    for k in shuffled(n + 1, rng):
        old, value = 0.0, 0.0
        assign(other, box)
        if k < n:
            old = w[k]
            value = proposal(
                s.values, old, s.limits.low[at + k], s.limits.high[at + k], _ZEROS, rng
            )
            if value == old or (old == 0.0 and spare <= 0):
                continue
            add_part(s, w, k, -1.0, other[m:], other[:m])
            w[k] = value
            add_part(s, w, k, 1.0, other[m:], other[:m])
        assign(columns, other)
        tighten(s, w, columns[m:], columns[:m])
        level, reached = threshold[0], level_merit(columns, threshold, gains)
        if s.free[0]:
            level, reached, _width = threshold_search(columns, gains[0], -np.inf, np.inf)
        if accepts(merit - reached, temperature, rng):
            merit, threshold[0] = reached, level
            box, other = other, box
            spare += (1 if old != 0.0 else 0) - (1 if value != 0.0 else 0)
        elif k < n:
            w[k] = old
    # Sums formed anew, in one order, are what the network will be judged by.
    box_sums(s, w, s.lower[j], s.upper[j])
    tighten(s, w, s.lower[j], s.upper[j])
    add_unit(s, j, 1.0)


@compiled
def anneal_tops(s: Worst, temperature: float, rng: np.random.Generator) -> None:
    """Propose a change of every weight and threshold of the outputs."""
    units, m = s.lower.shape
    outputs = len(s.T)
    total = total_cost(s)
    lead = s.lead.reshape(-1)
    kept = np.empty(len(lead))
    for item in shuffled(outputs * (units + 1), rng):
        o, j = item // (units + 1), item % (units + 1)
        if j == units and not s.free[0]:
            continue
        old = s.T[o] if j == units else s.V[o, j]
        new = old + REACH * (1.0 if rng.random() < 0.5 else -1.0)
        if j < units:
            first = s.weight_at[1] + o * units
            low, high = s.limits.low[first + j], s.limits.high[first + j]
            new = proposal(s.top_values, old, low, high, _ZEROS, rng)
            if old == 0.0 and new != 0.0:
                room = room_of(s.weights, s.weight_at, s.limits, 1, first, units)
                if room <= nonzeros(s.weights, first, first + units):
                    continue
        if new == old:
            continue
        assign(kept, lead)
        if j < units:
            add_unit(s, j, -1.0)
            s.V[o, j] = new
            add_unit(s, j, 1.0)
        else:
            s.T[o] = new
            for i in range(m):
                for other in range(outputs):
                    if other != s.label[i]:
                        if o == s.label[i]:
                            s.lead[i, other] -= new - old
                        elif o == other:
                            s.lead[i, other] += new - old
        cost = total_cost(s)
        if accepts(cost - total, temperature, rng):
            total = cost
            continue
        assign(lead, kept)
        if j < units:
            s.V[o, j] = old
        else:
            s.T[o] = old
