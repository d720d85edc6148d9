"""A lower limit of leads in a box that knows that units move together, compiled.

In a box a hidden unit whose sum s lies between l and u adds d to the lead of a class where s
reaches the threshold t. The largest convex function below that is

    max(0, d (s - t) / (u - t))   if d > 0,        max(d, d (s - l) / (t - l))   if d < 0.

Any mixture of the two lines of every unit is a linear function of the input below the lead, whose
least value in the box is known at once. Mixtures are improved by steps along the slope of that
value, which is concave in them. Its best is that of the linear program of the box. A lead that is
to be zero or less also needs its linear function to be so, which cuts off parts of the box.

Network and surroundings of a sample are flat arrays, as compiled code takes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.compiled import part
from bdnn.network.activation import BoolArray, FloatArray

IntArray = NDArray[np.int64]


class Layers(NamedTuple):
    """A network, one layer after the other in flat arrays."""

    widths: IntArray  # number of inputs, then of the units of every layer
    levels: IntArray  # thresholds per unit of every layer
    weights: FloatArray
    thresholds: FloatArray
    values: FloatArray  # of activations, one more per layer than thresholds
    error: FloatArray  # of the units of all layers: the most by which sums are off
    lead_error: FloatArray  # (n_outputs,): of the scores
    # (n_outputs,): what limits of the label's lead over another class have to be above.
    needed: FloatArray
    label: int
    influence: FloatArray  # (n_units of the first layer, n_features)
    # (n_features, n_units): weights of the first layer, and their sizes.
    first: FloatArray
    first_size: FloatArray
    # Whether boxes are settled by lines below the leads too, see `relaxation`.
    is_relaxed: bool


class Space(NamedTuple):
    """One sample and how far away coordinates are."""

    current: FloatArray
    centre: FloatArray
    unit: FloatArray
    whole: BoolArray
    step: float  # what a coordinate of 1 is as an input
    free: float  # how far rounding moves an input, which costs nothing
    slack: float
    norm: int
    narrow: FloatArray


#: What is left of a box: all, less, less that is farther away, nothing.
WHOLE, LESS, FARTHER, NOTHING = 0, 1, 2, 3
# Share of a side that may be left for a box to be cut.
_ENOUGH = 0.9
# Improvements of mixtures, and how much beyond zero they aim at, in parts of what is missing.
_ROUNDS, _BEYOND = 12, 0.1
# Lines that are steeper than the rest of the numbers allow are left out.
_FLAT = 1e-7
# Share by which a slope is lessened to be below for certain, whatever rounding does to it.
_SAFE = 1e-8


@part
def open_steps(
    net: Layers,
    q: int,
    bounds: FloatArray,
    lines: FloatArray,
    unit_of: IntArray,
) -> tuple[int, float, float]:
    """Write the steps that are open in a box, for the lead of the label over another class.

    ``bounds`` are those of first-layer sums, rounding included. Lines are constant, slope, and
    where the slope is zero. Returns how many there are, the lead without them, and its size.
    """
    n, units, n_levels = net.widths[0], net.widths[1], net.levels[0]
    at, level_at = units * n, units * n_levels
    own = net.label
    count, base = 0, net.thresholds[level_at + q] - net.thresholds[level_at + own]
    size = abs(base)
    for u in range(units):
        d = net.weights[at + own * units + u] - net.weights[at + q * units + u]
        if d == 0.0:
            continue
        base += d * net.values[0]
        size += abs(d * net.values[0])
        error, least, most = net.error[u], bounds[0, u], bounds[1, u]
        for level in range(n_levels):
            t = net.thresholds[u * n_levels + level]
            jump = d * (net.values[level + 1] - net.values[level])
            if least >= t:
                base += jump
            size += abs(jump)
            if least >= t or most < t:
                continue
            lines[0, count] = min(jump, 0.0)
            start, end = (t + error, most) if jump > 0.0 else (least, t - error)
            width = end - start
            if width > _FLAT * (1.0 + abs(start) + abs(end)):
                lines[1, count] = jump / width * (1.0 - _SAFE if jump > 0.0 else 1.0 + _SAFE)
            else:
                lines[1, count] = 0.0
            lines[2, count] = start
            # The mixture to begin with: the line that leaves the smaller area.
            is_slope = (most - t > t - least) == (jump > 0.0)
            lines[3, count] = 1.0 if is_slope and lines[1, count] != 0.0 else 0.0
            unit_of[count] = u
            count += 1
    return count, base, size


@part
def least_lead(
    net: Layers,
    count: int,
    base: float,
    size: float,
    low: FloatArray,
    high: FloatArray,
    lines: FloatArray,
    unit_of: IntArray,
    slope: FloatArray,
    work: FloatArray,
) -> float:
    """A lower limit of a lead in a box, and the slope of the linear function that has it."""
    n = len(low)
    trial, corner = work[0], work[1]
    best = -np.inf
    for _ in range(_ROUNDS):
        for k in range(n):
            trial[k] = 0.0
        value, room = base, size
        for i in range(count):
            share = lines[3, i]
            value += (1.0 - share) * lines[0, i]
            steep = share * lines[1, i]
            if steep != 0.0:
                value -= steep * lines[2, i]
                room += abs(steep * lines[2, i])
                u = unit_of[i]
                for k in range(n):
                    part = steep * net.first[k, u]
                    trial[k] += part
                    room += abs(part) * max(abs(low[k]), abs(high[k]))
        for k in range(n):
            corner[k] = low[k] if trial[k] > 0.0 else high[k]
            value += trial[k] * corner[k]
        # All that rounding of these sums can be.
        value -= (count + n + 16) * 2.0**-51 * room
        if value > best:
            best = value
            for k in range(n):
                slope[k] = trial[k]
        if best > 0.0:
            break
        # Towards the higher line at the corner, by as much as would be enough.
        reached, total = base, 0.0
        for i in range(count):
            u = unit_of[i]
            s = -lines[2, i]
            for k in range(n):
                s += net.first[k, u] * corner[k]
            step = lines[1, i] * s - lines[0, i] if lines[1, i] != 0.0 else 0.0
            reached += lines[0, i] + max(step, 0.0)
            lines[4, i] = step
            share = lines[3, i]
            if (step > 0.0 and share < 1.0) or (step < 0.0 and share > 0.0):
                total += step * step
        if reached <= 0.0 or total <= 0.0:
            break  # no mixture is above zero at this corner
        rate = (_BEYOND * reached - value) / total
        for i in range(count):
            lines[3, i] = min(1.0, max(0.0, lines[3, i] + rate * lines[4, i]))
    return best


@part
def reduced(
    net: Layers,
    space: Space,
    low: FloatArray,
    high: FloatArray,
    a: FloatArray,
    b: FloatArray,
    work: FloatArray,
    lines: FloatArray,
    unit_of: IntArray,
    found: FloatArray,
) -> int:
    """Cut off what linear functions below the leads rule out; a code above says what is left.

    The box is given by coordinates and by inputs, and ``work`` holds the bounds of its sums. The
    third line of what is found is the slope of the lead that may be least.
    """
    n = len(low)
    least, most, slope = found[0], found[1], found[3]
    lowest: float = np.inf
    for j in range(n):
        least[j], most[j] = np.inf, -np.inf
    for q in range(len(net.lead_error)):
        if q == net.label:
            continue
        count, base, size = open_steps(net, q, work[6:8], lines, unit_of)
        base -= net.needed[q]
        value = least_lead(net, count, base, size, a, b, lines, unit_of, slope, found[4:])
        if value > 0.0:
            continue
        room, is_lowest = -value * (1.0 + 1e-9), value < lowest
        lowest = min(lowest, value)
        for j in range(n):
            if is_lowest:
                found[2, j] = slope[j]
            first, last = a[j], b[j]
            if slope[j] > 0.0:
                last = min(last, first + room / slope[j])
            elif slope[j] < 0.0:
                first = max(first, last + room / slope[j])
            least[j], most[j] = min(least[j], first), max(most[j], last)
    ratio, is_farther = 1.0, False
    for j in range(n):
        if least[j] > most[j]:
            return NOTHING
        if high[j] == low[j]:
            continue
        # Outwards by what rounding can be.
        first = least[j] / space.step - 1e-9 * (1.0 + abs(low[j]))
        last = most[j] / space.step + 1e-9 * (1.0 + abs(high[j]))
        if space.whole[j]:
            first, last = np.ceil(first), np.floor(last)
        least[j], most[j] = max(low[j], first), min(high[j], last)
        if least[j] > most[j]:
            return NOTHING
        ratio = min(ratio, (most[j] - least[j]) / (high[j] - low[j]))
    if ratio > _ENOUGH:
        return WHOLE
    for j in range(n):
        if high[j] == low[j]:
            continue
        before = min(max(space.current[j], low[j]), high[j])
        low[j], high[j] = least[j], most[j]
        is_farther |= min(max(space.current[j], low[j]), high[j]) != before
        a[j], b[j] = low[j] * space.step, high[j] * space.step
    return FARTHER if is_farther else LESS
