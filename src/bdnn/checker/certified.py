"""The loss of certified training, and its bound, recomputed in exact arithmetic.

A sample counts as right only if its class holds in the whole ball of the training radius (l_inf,
one hidden layer): units that can switch in it take whichever value is worse. No classifier keeps
two samples of different classes whose balls meet, so that a matching of such pairs is a bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from bdnn.checker.claims import Claim, Verdict, claimed, false, judged, proven
from bdnn.checker.evaluation import Vector
from bdnn.checker.model import CheckedModel
from bdnn.checker.table import Samples

# The box is widened by more than the scaler's double arithmetic can be off.
_SLACK = Fraction(1, 2**40)
# Pairs of samples are compared one by one.
_MOST_SAMPLES = 2000
_ORDER: list[Verdict] = ["false", "claimed", "proven"]


def is_certified_training(model: CheckedModel) -> bool:
    """Tell whether the file's loss counts samples whose class does not hold in a ball."""
    return model.part("result").get("method") == "certified"


def certified_claims(model: CheckedModel, samples: Samples, weights: list[Fraction]) -> list[Claim]:
    """Check loss, bound and optimality of certified training."""
    result = model.part("result")
    stated: list[Any] = [result.get(key) for key in ("loss", "bound")]
    if any(type(value) not in (int, float) or not math.isfinite(value) for value in stated):
        return [false("result", "loss or bound is no number")]
    loss, bound = (Fraction(value) for value in stated)
    radius = training_radius(model)
    if radius is None:
        why = "of a norm, depth or radii that this checker does not recompute"
        return [claimed(name, why) for name in ("loss", "bound", "optimality")]
    given_up = uncertified(model, samples, radius)
    lost = [weights[c] for c, lost in zip(samples.classes, given_up, strict=True) if lost]
    claims = [_loss(model, loss, sum(lost, Fraction(0))), _bound(model, samples, radius, bound)]
    if loss > bound:
        status = str(result.get("status"))[:30]
        detail = f"loss and bound differ, and the file says {status!r}"
        return [*claims, judged("optimality", status != "optimal", detail)]
    verdict = min((claim.verdict for claim in claims), key=_ORDER.index)
    return [*claims, Claim("optimality", verdict, "loss and bound are equal")]


def _loss(model: CheckedModel, stated: Fraction, found: Fraction) -> Claim:
    detail = f"{float(found):g} not certified, {float(stated):g} in the file"
    if found > stated and model.layers[0].kind == "continuous":
        return claimed("loss", f"{detail}; rounding leaves the others open")
    return judged("loss", found <= stated, detail)


def _bound(model: CheckedModel, samples: Samples, radius: Fraction, stated: Fraction) -> Claim:
    origin = str(model.part("result").get("bound_origin", "nobody"))[:100]
    unweighted = model.part("settings").get("class_weight") is None
    own = overlap_bound(model, samples, radius) if unweighted else 0
    if stated <= (own or 0):
        return proven("bound", f"{float(stated):g} by overlapping balls")
    return claimed("bound", f"{float(stated):g} by {origin}; {own or 0} is proven here")


def training_radius(model: CheckedModel) -> Fraction | None:
    """The one radius of all samples, None where this checker cannot recompute the loss."""
    settings = model.part("settings")
    radius: Any = settings.get("robust_radius")
    plain = type(radius) in (int, float) and math.isfinite(radius) and radius >= 0
    known = settings.get("robust_norm") == "linf" and model.ties == "score"
    if not plain or not known or len(model.layers) != 2 or not model.step:
        return None
    if not model.layers[0].is_step:
        return None
    return Fraction(radius)


def uncertified(model: CheckedModel, samples: Samples, radius: Fraction) -> list[bool]:
    """Tell for every sample whether another class is possible within the radius."""
    return [
        not _holds(model, *_box(model, row, radius), label)
        for row, label in zip(samples.features, samples.classes, strict=True)
    ]


def _box(model: CheckedModel, row: list[float], radius: Fraction) -> tuple[Vector, Vector]:
    """Grid points that an input within the radius of a raw row can be rounded to."""
    low, high = [], []
    step = Fraction(model.step)
    for value, shift, factor in zip(row, model.shift, model.factor, strict=True):
        centre = (Fraction(value) - Fraction(shift)) * Fraction(factor)
        wide = radius + step / 2 + _SLACK * (abs(centre) + radius)
        low.append(math.ceil((centre - wide) / step) * step)
        high.append(math.floor((centre + wide) / step) * step)
    return tuple(low), tuple(high)


def _holds(model: CheckedModel, low: Vector, high: Vector, label: int) -> bool:
    hidden, top = model.layers
    slack = Fraction(0)
    if hidden.kind == "continuous":
        slack = Fraction(len(low) + 2, 2**30)
    sure, possible = [], []
    for row, threshold in zip(hidden.weights, hidden.thresholds, strict=True):
        parts = [(Fraction(w), a, b) for w, a, b in zip(row, low, high, strict=True)]
        least = sum((w * (a if w > 0 else b) for w, a, b in parts), Fraction(0))
        most = sum((w * (b if w > 0 else a) for w, a, b in parts), Fraction(0))
        sure.append(least >= Fraction(threshold) + slack)
        possible.append(most >= Fraction(threshold) - slack)
    limits = [Fraction(t) for t in top.thresholds]
    for other in range(len(limits)):
        if other == label:
            continue
        lead = limits[other] - limits[label]
        for a, b, is_on, may_be in zip(
            top.weights[label], top.weights[other], sure, possible, strict=True
        ):
            difference = Fraction(a) - Fraction(b)
            if is_on or (may_be and difference < 0):
                lead += difference
        if not (lead > 0 or (lead == 0 and label < other)):
            return False
    return True


def overlap_bound(model: CheckedModel, samples: Samples, radius: Fraction) -> int | None:
    """Number of samples that no classifier certifies, None where there are too many to compare."""
    if len(samples.features) > _MOST_SAMPLES:
        return None
    factor = [abs(Fraction(f)) for f in model.factor]
    points = [
        [Fraction(v) * f for v, f in zip(row, factor, strict=True)] for row in samples.features
    ]
    meets: list[list[int]] = [[] for _ in points]
    for i, one in enumerate(points):
        for j in range(i):
            if samples.classes[i] != samples.classes[j] and all(
                abs(a - b) <= 2 * radius for a, b in zip(one, points[j], strict=True)
            ):
                # Every pair in both directions: half a matching of these is a bound.
                meets[i].append(j)
                meets[j].append(i)
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    size = sum(_augment(i, meets, left, right) for i in range(len(points)))
    return math.ceil(Fraction(size, 2))


def _augment(
    first: int, meets: list[list[int]], left: dict[int, int], right: dict[int, int]
) -> bool:
    """Look for an alternating path from an unmatched sample, and switch it."""
    came_from: dict[int, int] = {}
    queue = [first]
    for i in queue:
        for j in meets[i]:
            if j in came_from:
                continue
            came_from[j] = i
            if j in right:
                queue.append(right[j])
                continue
            end: int | None = j
            while end is not None:
                begin = came_from[end]
                following = left.get(begin)
                left[begin], right[end] = end, begin
                end = following
            return True
    return False
