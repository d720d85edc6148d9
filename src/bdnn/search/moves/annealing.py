"""Annealed moves of single weights, for objectives that are not half-space problems.

Along a hinge on output margins, improving moves soon run out in corners; accepting a move that
costs ``d`` more with probability ``exp(-d / temperature)`` leaves them. Given the gains of a hidden
unit, a proposal for one of its weights costs one pass over the inputs that matter; a proposal for
an output's weight shifts that output's sums.
"""

from __future__ import annotations

import numpy as np

from bdnn.search.kernels.arrays import PER_UNIT, Arrays, IntArray
from bdnn.search.kernels.backend import (
    add_scaled,
    assign,
    combine,
    commit,
    compiled,
    fill,
    gather,
    input_line,
    merit_of,
    output_costs,
    switch,
    threshold_search,
    total_of,
    unit_gains,
)
from bdnn.search.moves.unit import shuffled

# Continuous weights and thresholds move by up to this much at once.
REACH = 0.5


@compiled
def proposal(s: Arrays, k: int, weight: float, rng: np.random.Generator) -> float:
    """Another value for a weight of layer ``k``; in large sets half of the steps are short."""
    first, last = s.value_at[k], s.value_at[k + 1]
    if last == first:
        return min(1.0, max(-1.0, weight + REACH * (2.0 * rng.random() - 1.0)))
    value: float = s.values[first + int(rng.random() * (last - first))]
    if rng.random() < 0.5 and last - first > 3:
        value = weight + (1.0 if rng.random() < 0.5 else -1.0)
        value = min(s.values[last - 1], max(s.values[first], value))
    return value


@compiled
def accepts(rise: float, temperature: float, rng: np.random.Generator) -> bool:
    """Decide on a move that raises the cost by so much."""
    return rise <= 0.0 or (temperature > 0.0 and rng.random() < np.exp(-rise / temperature))


@compiled
def anneal_hidden(
    s: Arrays, units: IntArray, temperature: float, rng: np.random.Generator
) -> float:
    """Propose a change of every weight and threshold of hidden units; return the cost."""
    total: float = total_of(s.cost)
    free_threshold = s.threshold_kind[0] == PER_UNIT
    for unit in units:
        k = 0
        while unit >= s.unit_at[k + 1]:
            k += 1
        H, gains = gather(s, k, unit_gains(s, k, unit))
        if len(gains) == 0:
            continue
        n = s.widths[k]
        at = s.weight_at[k] + (unit - s.unit_at[k]) * n
        sums = combine(H, s.weights[at : at + n], 0.0)
        trial = np.empty(len(sums))
        merit = merit_of(sums, s.thresholds[unit], gains)
        for j in shuffled(n + 1, rng):
            assign(trial, sums)
            threshold = s.thresholds[unit]
            value = 0.0
            if j < n:
                if s.frozen[at + j]:
                    continue
                value = proposal(s, k, s.weights[at + j], rng)
                add_scaled(trial, value - s.weights[at + j], H[j])
            elif free_threshold:
                threshold += 2.0 * REACH * (2.0 * rng.random() - 1.0)
            reached = merit_of(trial, threshold, gains)
            if accepts(merit - reached, temperature, rng):
                merit = reached
                assign(sums, trial)
                s.thresholds[unit] = threshold
                if j < n:
                    s.weights[at + j] = value
        total = commit(s, k, unit)
    return total


@compiled
def anneal_outputs(s: Arrays, temperature: float, rng: np.random.Generator) -> float:
    """Propose a change of every weight and threshold of the outputs; return the cost."""
    top = len(s.widths) - 2
    n, outputs, m = s.widths[top], s.widths[top + 1], s.sums.shape[1]
    free_threshold = s.threshold_kind[0] == PER_UNIT
    shift = np.zeros((outputs, m))
    trial = np.empty(m)
    below = np.empty(m)
    total: float = total_of(s.cost)
    for item in shuffled(outputs * (n + 1), rng):
        o, j = item // (n + 1), item % (n + 1)
        unit, at = s.unit_at[top] + o, s.weight_at[top] + o * n + j
        jump = 0.0
        if j == n:
            if not free_threshold:
                continue
            jump = 2.0 * REACH * (2.0 * rng.random() - 1.0)
            fill(shift[o], -jump)
        else:
            if s.frozen[at]:
                continue
            jump = proposal(s, top, s.weights[at], rng) - s.weights[at]
            if jump == 0.0:
                continue
            input_line(s, top, j, below)
            fill(shift[o], 0.0)
            add_scaled(shift[o], jump, below)
        output_costs(s, shift, trial)
        cost = total_of(trial)
        if accepts(cost - total, temperature, rng):
            total = cost
            if j == n:
                s.thresholds[unit] += jump
            else:
                s.weights[at] += jump
                add_scaled(s.sums[unit], 1.0, shift[o])
            assign(s.cost, trial)
        fill(shift[o], 0.0)
    for unit in range(s.unit_at[top], s.unit_at[top + 1]):
        switch(s, unit)
    return total


@compiled
def try_zero(s: Arrays, positions: IntArray, tolerance: float) -> float:
    """Set weights to zero where that does not raise the cost; return the cost.

    A unit that loses a weight gets the best threshold for what is left of it.
    """
    total: float = total_of(s.cost)
    for at in positions:
        k = 0
        while at >= s.weight_at[k + 1]:
            k += 1
        n = s.widths[k]
        unit = s.unit_at[k] + (at - s.weight_at[k]) // n
        old, old_threshold = s.weights[at], s.thresholds[unit]
        s.weights[at] = 0.0
        H, gains = gather(s, k, unit_gains(s, k, unit))
        if s.threshold_kind[0] == PER_UNIT and len(gains) > 0:
            first = s.weight_at[k] + (unit - s.unit_at[k]) * n
            sums = combine(H, s.weights[first : first + n], 0.0)
            s.thresholds[unit] = threshold_search(sums, gains, -np.inf, np.inf)[0]
        cost = commit(s, k, unit)
        if cost > total + tolerance:
            s.weights[at] = old
            s.thresholds[unit] = old_threshold
            cost = commit(s, k, unit)
        total = cost
    return total
