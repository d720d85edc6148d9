"""Certified radii: no input within a distance of a training sample changes its class.

Within the ball every sum of the first layer stays within its reach of the sample's, so that a unit
farther from its threshold than that cannot switch. If all patterns of the other units give the
same class, the radius is proven. Otherwise corners of the ball are tried, and a changed class there
makes the promise false.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from bdnn.checker.claims import Claim, claimed, false, judged
from bdnn.checker.evaluation import Evaluation, Vector, evaluate, scaled, scaled_feature
from bdnn.checker.model import CheckedModel
from bdnn.checker.rows import parse_rows
from bdnn.checker.table import Samples

_MOST_OPEN = 10


def check_radius(
    name: str,
    model: CheckedModel,
    samples: Samples | None,
    found: Evaluation | None,
    promise: dict[str, Any],
) -> Claim:
    """Check the radius of all or some training samples.

    The promise has ``radius``, ``norm`` (``linf``), ``space`` (``raw`` inputs, or ``scaled`` ones)
    and ``rows`` (numbers of training samples from 1; all if missing).
    """
    radius = Fraction(promise["radius"])
    if promise.get("norm", "linf") != "linf" or promise.get("space", "raw") not in (
        "raw",
        "scaled",
    ):
        return claimed(name, "of a norm or space that this checker does not know")
    if radius < 0:
        return false(name, "the radius is negative")
    if samples is None or found is None:
        return claimed(name, "cannot be checked without the training data")
    rows = promise.get("rows")
    chosen = range(len(samples.features)) if rows is None else parse_rows(rows)
    is_raw = promise.get("space", "raw") == "raw"
    winners = found.winners
    open_rows = 0
    for i in chosen:
        low, high = _box(model, samples.features[i], radius, is_raw=is_raw)
        wanted = winners[i]
        if _is_proven(model, low, high, wanted):
            continue
        corner = _changed(model, low, high, wanted)
        if corner:
            return false(name, f"sample {i + 1} changes its class within {float(radius):g}")
        open_rows += 1
    n_rows = len(list(chosen))
    if open_rows:
        return claimed(name, f"{n_rows - open_rows} of {n_rows} samples proven, no counter-example")
    return judged(name, True, f"{float(radius):g} holds around {n_rows} samples")


def _box(
    model: CheckedModel, row: list[float], radius: Fraction, *, is_raw: bool
) -> tuple[Vector, Vector]:
    """Least and largest scaled value of every feature; scaling is monotone."""
    if not is_raw:
        centre = scaled(model, row)
        return tuple(x - radius for x in centre), tuple(x + radius for x in centre)
    ends = []
    for sign in (-1, 1):
        moved = [_rounded(Fraction(x) + sign * radius, sign) for x in row]
        if model.scale_kind is None:
            ends.append([Fraction(x) for x in moved])
        else:
            ends.append([scaled_feature(model, j, x) for j, x in enumerate(moved)])
    pairs = [(min(a, b), max(a, b)) for a, b in zip(*ends, strict=True)]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _rounded(value: Fraction, sign: int) -> float:
    """Nearest double that is not inside: a larger box proves more than was promised."""
    number = float(value)
    if (Fraction(number) - value) * sign < 0:
        number = math.nextafter(number, math.inf * sign)
    return number


def _is_proven(model: CheckedModel, low: Vector, high: Vector, wanted: int) -> bool:
    layer = model.layers[0]
    if len(model.layers) == 1 and model.ties == "score":
        return _scores_hold(model, low, high, wanted)
    states: list[tuple[int, ...]] = []
    slack = _slack(model)
    for row, limits in zip(layer.weights, layer.limits, strict=True):
        least, most = _reach(row, low, high)
        sure = sum(least >= limit + slack for limit in limits)
        possible = sum(most >= limit - slack for limit in limits)
        states.append(layer.values[sure : possible + 1])
    if math.prod(map(len, states)) > 2**_MOST_OPEN:
        return False
    tail = _tail(model)
    return all(_class_after(model, tail, bits) == wanted for bits in product(*states))


def _slack(model: CheckedModel) -> Fraction:
    """How far a sum in double arithmetic may be from the exact one; 0 where all sums are exact."""
    layer = model.layers[0]
    if layer.kind != "continuous" and model.step and math.frexp(model.step)[0] == 0.5:
        return Fraction(0)
    return Fraction(len(layer.weights[0]) + 2, 2**20)


def _reach(row: list[Any], low: Vector, high: Vector) -> tuple[Fraction, Fraction]:
    weights = [Fraction(w) for w in row]
    least = sum(
        (w * (a if w > 0 else b) for w, a, b in zip(weights, low, high, strict=True)), Fraction(0)
    )
    most = sum(
        (w * (b if w > 0 else a) for w, a, b in zip(weights, low, high, strict=True)), Fraction(0)
    )
    return least, most


def _scores_hold(model: CheckedModel, low: Vector, high: Vector, wanted: int) -> bool:
    layer = model.layers[0]
    for other in range(len(layer.thresholds)):
        if other == wanted:
            continue
        row = [
            Fraction(a) - Fraction(b)
            for a, b in zip(layer.weights[wanted], layer.weights[other], strict=True)
        ]
        least, _ = _reach(row, low, high)
        least -= Fraction(layer.thresholds[wanted]) - Fraction(layer.thresholds[other])
        slack = _slack(model)
        if not (least > slack or (least == 0 == slack and wanted < other)):
            return False
    return True


def _tail(model: CheckedModel) -> CheckedModel | None:
    """What follows the first layer, as a model of its own."""
    if len(model.layers) == 1:
        return None
    return replace(model, layers=model.layers[1:])


def _class_after(model: CheckedModel, tail: CheckedModel | None, bits: tuple[int, ...]) -> int:
    if tail is None:
        return bits.index(1) if 1 in bits else 0
    return evaluate(tail, [tuple(Fraction(bit) for bit in bits)]).winners[0]


def _changed(model: CheckedModel, low: Vector, high: Vector, wanted: int) -> bool:
    """Whether a corner towards or away from some unit has another class."""
    corners = [
        tuple(b if (w > 0) == up else a for w, a, b in zip(row, low, high, strict=True))
        for row in model.layers[0].weights
        for up in (False, True)
    ]
    return any(winner != wanted for winner in evaluate(model, corners).winners)
