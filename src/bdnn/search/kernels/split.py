"""Compiled choice of the inputs that a unit switches on, with its output weights fitted along.

A unit below identity outputs that is on for a set of inputs, of weight ``N`` and with sums ``S_l``
of weighted residuals, lowers the squared loss by

    sum_l p_l max_a (2 a S_l - a^2 D),   D = N (1 - N / W) + ridge

over the weights ``a`` that are allowed; ``W`` is the weight of all inputs and the second factor is
due to the bias, which follows (without a bias it is missing). Along a line in weight space inputs
switch one after the other, so that sorting the breakpoints and adding up visits every set.
"""

from __future__ import annotations

import numpy as np

from bdnn.compiled import compiled
from bdnn.network.activation import FloatArray
from bdnn.search.kernels.intervals import sorted_order

# Narrower intervals could be lost to rounding when the sums are formed anew.
_SMALLEST_WIDTH = 1e-9
# What an interval without end counts as.
_END_WIDTH = 1.0


@compiled
def set_gain(
    total: FloatArray, size: float, weight: float, price: FloatArray, rules: FloatArray
) -> float:
    """Gain of a set of inputs with sums ``total`` and weight ``size``.

    ``rules`` are the ridge, the largest output weight, and three flags: whether output weights are
    whole, whether they may be 0, and whether a bias follows.
    """
    damping = size + rules[0]
    if rules[4] > 0.0:
        damping = size * (1.0 - size / weight) + rules[0]
    if not damping > 1e-12 * weight:
        return 0.0
    gain = 0.0
    for out in range(len(total)):
        a = total[out] / damping
        if rules[2] > 0.0:
            a = np.rint(a)
            if a == 0.0 and rules[3] == 0.0:
                a = 1.0 if total[out] >= 0.0 else -1.0
        a = min(max(a, -rules[1]), rules[1])
        gain += price[out] * (2.0 * a * total[out] - a * a * damping)
    return gain


@compiled
def best_split(
    breaks: FloatArray,  # (n,): steps at which inputs switch
    # (n,): 1 where an input switches on with growing steps, -1 where it switches off.
    signs: FloatArray,
    moments: FloatArray,  # (n, 1 + n_outputs): weight and weighted residuals of every input
    base: FloatArray,  # (1 + n_outputs,): moments of the inputs that are on far left
    weight: float,  # of all inputs
    price: FloatArray,  # (n_outputs,)
    rules: FloatArray,  # (5,): see :func:`set_gain`
    # Smallest and largest allowed step, perhaps infinite.
    low: float,
    high: float,
) -> tuple[float, float]:
    """Find the step with the largest gain; return the middle of its interval and the gain."""
    n = len(breaks)
    order = sorted_order(breaks, n)
    state = base.copy()
    best = -np.inf
    found = 0.0
    left = low
    p = 0
    while p < n and breaks[order[p]] <= low:
        state += signs[order[p]] * moments[order[p]]
        p += 1
    while True:
        is_last = p >= n or breaks[order[p]] >= high
        right = high if is_last else breaks[order[p]]
        start, end = left, right
        if start == -np.inf and end == np.inf:
            start, end = -0.5 * _END_WIDTH, 0.5 * _END_WIDTH
        elif start == -np.inf:
            start = end - _END_WIDTH
        elif end == np.inf:
            end = start + _END_WIDTH
        if end - start > _SMALLEST_WIDTH * (1.0 + abs(start)):
            gain = set_gain(state[1:], state[0], weight, price, rules)
            if gain > best:
                best = gain
                found = 0.5 * (start + end)
        if is_last:
            return found, best
        state += signs[order[p]] * moments[order[p]]
        left = right
        p += 1
