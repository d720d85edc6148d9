"""Outputs with integer weights: how a class is chosen without floating point.

With ties by score the class is that of the largest sum minus threshold, computed in doubles and
rounded. Rounding keeps the order of numbers but may join two of them, and then the first class
wins; so what integers say is compared with what doubles say before it is trusted.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from bdnn.export.inputs import Integers
from bdnn.export.plan.plan import FirstOn, LargestScore, Ranges, Units, reach
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network

_ROUNDING = Fraction(1, 2**51)
_MOST_PAIRS = 10**6


def integer_outputs(
    network: Network, ranges: Ranges, unit: float
) -> FirstOn | LargestScore | Units | None:
    """Choose a class by integers; None if weights are none, or doubles would choose another.

    A single unit stands for two outputs: it is on iff the second class wins.

    Parameters
    ----------
    network : Network
    ranges : pairs of int
        Least and largest integer that every input of the outputs may be.
    unit : float
        What an input of 1 stands for, a power of two.
    """
    W, t = network.weights[-1], network.output_thresholds
    if not (np.rint(W) == W).all():
        return None
    weights = W.astype(np.int64)
    whole = [whole_limit(value, unit) for value in t]
    if network.architecture.ties == "first":
        return FirstOn(Units(weights, tuple(whole)))
    if len(weights) == 2:
        limit = _rival_limit(weights, t, ranges, unit)
        difference = (weights[1] - weights[0])[None, :]
        return None if limit is None else Units(difference, (limit,))
    if not _order_is_kept(weights, t, ranges, unit):
        return None
    rests = _rests(t, unit)
    order = sorted(set(rests))
    factor = 1 << (len(order) - 1).bit_length()  # a power of two, which needs no product
    offsets = (factor * up - order.index(rest) for up, rest in zip(whole, rests, strict=True))
    return LargestScore(Units(weights, tuple(offsets), factor))


def whole_limit(value: float, unit: float) -> int:
    """Least integer whose multiple of the unit reaches a threshold."""
    return math.ceil(Fraction(value) / Fraction(unit))


def _rests(t: FloatArray, unit: float) -> list[Fraction]:
    """By how much whole limits exceed their thresholds."""
    return [whole_limit(value, unit) - Fraction(value) / Fraction(unit) for value in t]


def _rival_limit(weights: Integers, t: FloatArray, ranges: Ranges, unit: float) -> int | None:
    """Least difference of the two sums with which the second class wins."""
    low, high = reach(weights, ranges)
    n_first, n_second = (int(high[i]) - int(low[i]) + 1 for i in (0, 1))
    are_opposite = bool((weights[0] == -weights[1]).all())
    if n_first * (1 if are_opposite else n_second) > _MOST_PAIRS:
        if not _order_is_kept(weights, t, ranges, unit):
            return None
        return math.floor((Fraction(t[1]) - Fraction(t[0])) / Fraction(unit)) + 1
    first = np.arange(low[0], high[0] + 1)
    if are_opposite:
        pairs = np.stack([first, -first])  # no others occur
    else:
        pairs = np.stack(np.meshgrid(first, np.arange(low[1], high[1] + 1))).reshape(2, -1)
    wins = pairs[1] * unit - t[1] > pairs[0] * unit - t[0]
    difference = pairs[1] - pairs[0]
    least = int(difference[wins].min()) if wins.any() else int(difference.max()) + 1
    most = int(difference[~wins].max()) if not wins.all() else least - 1
    return least if most < least else None


def _order_is_kept(weights: Integers, t: FloatArray, ranges: Ranges, unit: float) -> bool:
    """Whether rounding makes no two different scores equal.

    Scores differ by at least the distance of the thresholds' rests, on a circle of one unit; each
    moves by half a last place at most.
    """
    low, high = reach(weights, ranges)
    sums = max(int(np.abs(low).max()), int(np.abs(high).max())) * Fraction(unit)
    largest = sums + max(abs(Fraction(value)) for value in t)
    order = sorted(set(_rests(t, unit)))
    gaps = [after - before for before, after in pairwise(order)] + [order[0] + 1 - order[-1]]
    return min(gaps) * Fraction(unit) > largest * _ROUNDING
