"""From a network and the format of its inputs to a plan.

Where weights are integers a class is chosen without floating point. With ties by score it is that
of the largest sum minus threshold, computed in doubles and rounded. Rounding keeps the order of
numbers but may join two of them, and then the first class wins; so what integers say is compared
with what doubles say before it is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.export.inputs import InputFormat, Integers
from bdnn.export.plan.fixed_point import fix_unit
from bdnn.export.plan.levels import Level, fit_level, most_levels
from bdnn.export.plan.plan import (
    BIT,
    Decision,
    Entries,
    FirstOn,
    LargestScore,
    Numbers,
    Plan,
    Ranges,
    Table,
    Units,
    prune,
    reach,
)
from bdnn.model import Calibration, TargetScaler
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network

# A table of all patterns is no larger than masks and the loops over them up to about here.
_WIDEST_TABLE = 6
_WIDEST_REAL_TABLE = 10
_EXACT = 2**53
_ROUNDING = Fraction(1, 2**51)
_MOST_PAIRS = 10**6


def make_plan(
    network: Network,
    scaler: Encoder,
    inputs: InputFormat,
    targets: TargetScaler | None = None,
    calibration: Calibration | None = None,
) -> Plan:
    """Decide how an exported function computes what a network of steps computes.

    With a calibration it gives the weights of all classes beside the class.
    """
    shape = network.architecture
    levels, ranges, unit = _levels(network, scaler, inputs)
    n_direct = _table_place(shape) if targets is None and not calibration else shape.n_layers
    layers = []
    for k in range(min(n_direct, len(shape.hidden))):
        W, t = network.weights[k], network.step_thresholds[k]
        if k == 0 and unit is not None:
            layers.append(Units(W.astype(np.int64), tuple(whole_limit(v, unit) for v in t)))
        else:
            found = _bit_units(W, t) if k else _count_units(W, t, scaler, inputs)
            layers.append(found or _real_units(W, t))
    W, t = network.weights[-1], network.output_thresholds
    decision: Decision | Units | None = None
    if targets is not None:
        shift, factor = (tuple(part.tolist()) for part in (targets.shift, targets.factor))
        decision = Numbers(_real_units(W, t), shift, factor)
    elif calibration is not None:
        bits = BIT * shape.hidden[-1] if shape.hidden else ranges
        decision = _entries(network, calibration, bits, 1.0 if shape.hidden else unit)
    elif n_direct < shape.n_layers:
        decision = _table(network, n_direct)
    elif shape.hidden:
        decision = _integer_outputs(network, BIT * shape.hidden[-1], 1.0)
    elif unit is not None:
        decision = _integer_outputs(network, ranges, unit)
    if decision is None and not shape.hidden and shape.ties == "first":
        fixed = _count_units(W, t, scaler, inputs)
        decision = None if fixed is None else FirstOn(fixed)
    if decision is None:
        choose = FirstOn if shape.ties == "first" else LargestScore
        decision = choose(_real_units(W, t))
    if isinstance(decision, Units):
        layers, decision = [*layers, decision], Table((0, 1))
    return prune(Plan(levels, ranges, unit, tuple(layers), decision))


def _table_place(shape: Architecture) -> int:
    """Number of layers before the first one that is narrow enough for a table, all if none is."""
    for k, width in enumerate(shape.hidden):
        real = not all(weights.integer for weights in shape.weights[k + 1 :])
        if width <= (_WIDEST_REAL_TABLE if real else _WIDEST_TABLE):
            return k + 1
    return shape.n_layers


def _levels(
    network: Network, scaler: Encoder, inputs: InputFormat
) -> tuple[dict[int, Level], Ranges, float | None]:
    """Levels of the features with what one of them is worth; no worth if there are none."""
    W = network.weights[0]
    n_features = W.shape[1]
    ranges: list[tuple[int, int]] = [(0, 0)] * n_features
    if not network.architecture.weights[0].integer:
        return {}, inputs.ranges, None
    step = scaler.step or float(inputs.kind == "scaled")
    if inputs.kind != "scaled" and not scaler.step:
        if not inputs.is_integer or set(inputs.per_unit) != {1}:
            return {}, inputs.ranges, None
        step = 1.0
    if step <= 0 or math.frexp(step)[0] != 0.5:
        return {}, inputs.ranges, None
    levels = {}
    for j in np.flatnonzero(W.any(axis=0)).tolist():
        if not inputs.is_integer:
            ends = inputs.values(j, np.array([-inputs.largest, inputs.largest]), scaler)
            low, high = sorted(round(end / step) for end in ends.tolist())
            ranges[j] = (low, high)
            continue
        counts = inputs.counts(j)
        multiples = np.rint(inputs.values(j, counts, scaler) / step).astype(np.int64)
        slope = 1.0
        if inputs.kind != "scaled" and scaler.step:
            slope = float(scaler.factor[j]) / (inputs.per_unit[j] * step)
        level = fit_level(counts, multiples, slope)
        if level is None:
            return {}, inputs.ranges, None
        levels[j] = level
        ranges[j] = (int(multiples.min()), int(multiples.max()))
    weights = W.astype(np.int64)
    largest = np.array([max(map(abs, ends)) for ends in ranges], dtype=float)
    if not inputs.is_integer:
        largest = np.where(W.any(axis=0), most_levels(scaler), 0.0)
    if (np.abs(weights) @ largest).max(initial=0.0) * 2 >= _EXACT:
        return {}, inputs.ranges, None  # sums of the forward pass itself might round
    return levels, tuple(ranges), step


def _real_units(W: FloatArray, t: FloatArray) -> Units:
    return Units(W, tuple(t.tolist()))


def _bit_units(W: FloatArray, t: FloatArray) -> Units | None:
    """Units of 0/1 inputs; weights that are no integers are fixed where that is proven."""
    if (np.rint(W) == W).all():
        return Units(W.astype(np.int64), tuple(math.ceil(value) for value in t))
    bits = [np.arange(2, dtype=np.int64)] * W.shape[1]
    return _proven_units(W, t, bits, [np.arange(2.0)] * W.shape[1])


def _count_units(
    W: FloatArray, t: FloatArray, scaler: Encoder, inputs: InputFormat
) -> Units | None:
    """Units of raw counts with the scaler folded into integer weights, None without a proof."""
    if not inputs.is_integer:
        return None
    counts = [inputs.counts(j) for j in range(W.shape[1])]
    values = [inputs.values(j, k, scaler) for j, k in enumerate(counts)]
    unit = None
    if not scaler.step and (np.rint(W) == W).all():
        unit = 1.0 / math.lcm(*inputs.per_unit)
    return _proven_units(W, t, counts, values, unit)


def _proven_units(
    W: FloatArray,
    t: FloatArray,
    counts: Sequence[Integers],
    values: Sequence[FloatArray],
    unit: float | None = None,
) -> Units | None:
    """Units with integer weights that decide alike, None if one of them cannot be proven."""
    units = []
    for row, limit in zip(W, t, strict=True):
        found = fix_unit(row, float(limit), counts, values, unit=unit)
        if found is None:
            return None
        units.append(found)
    weights = np.array([found.weights for found in units], dtype=np.int64)
    return Units(weights, tuple(found.threshold for found in units))


def _table(network: Network, place: int) -> Table:
    """Classes of all patterns of a hidden layer, by the forward pass of what follows it."""
    shape = network.architecture
    width = shape.widths[place]
    tail = Network(
        replace(
            shape,
            n_features=width,
            hidden=shape.hidden[place:],
            weights=shape.weights[place:],
            activations=shape.activations[place:],
        ),
        network.weights[place:],
        network.thresholds[place:],
    )
    patterns = (np.arange(2**width)[:, None] >> np.arange(width)) & 1
    return Table(tuple(tail.predict(patterns).tolist()))


def _integer_outputs(
    network: Network, ranges: Ranges, unit: float
) -> FirstOn | LargestScore | Units | None:
    """Choose a class by integers; None if weights are none, or doubles would choose another.

    Inputs are integers in their ranges, of which 1 stands for ``unit``, a power of two. A single
    unit stands for two outputs: it is on iff the second class wins.
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
    return LargestScore(_ranked(weights, t, unit))


def _entries(
    network: Network, calibration: Calibration, ranges: Ranges, unit: float | None
) -> Entries:
    """Count leads in integers where Python's scores are exact, else compute as Python does.

    Ranks of rests below a common factor tell on which side of a whole number of units a lead lies.
    """
    W, t = network.weights[-1], network.output_thresholds
    by_outputs = network.architecture.ties == "first"
    real = Entries(_real_units(W, t), calibration.tables, calibration.unit, by_outputs)
    if unit is None or not (np.rint(W) == W).all():
        return real
    weights = W.astype(np.int64)
    whole = [whole_limit(value, unit) for value in t]
    if by_outputs:
        return replace(real, units=Units(weights, tuple(whole)))
    if calibration.unit < unit or not _is_exact(weights, t, ranges, unit):
        return real
    units = _ranked(weights, t, unit)
    return replace(real, units=units, unit=units.factor * calibration.unit / unit)


def _is_exact(weights: Integers, t: FloatArray, ranges: Ranges, unit: float) -> bool:
    """Whether no score and no difference of two of them is rounded."""
    low, high = reach(weights, ranges)
    sums = max(int(np.abs(low).max()), int(np.abs(high).max())) * Fraction(unit)
    finest = max(Fraction(value).denominator for value in (unit, *t.tolist()))
    return 2 * finest * (sums + max(abs(Fraction(value)) for value in t.tolist())) < _EXACT


def _ranked(weights: Integers, t: FloatArray, unit: float) -> Units:
    """Units whose integers keep the order of sum minus threshold."""
    whole = [whole_limit(value, unit) for value in t]
    rests = _rests(t, unit)
    order = sorted(set(rests))
    factor = 1 << (len(order) - 1).bit_length()  # a power of two, which needs no product
    offsets = (factor * up - order.index(rest) for up, rest in zip(whole, rests, strict=True))
    return Units(weights, tuple(offsets), factor)


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
