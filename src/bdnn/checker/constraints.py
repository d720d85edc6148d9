"""Promises about the weights alone: counts, single weights, signs of paths, unused features."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from bdnn.checker.claims import Claim, claimed, false, proven
from bdnn.checker.deadline import Deadline
from bdnn.checker.known import Known, require
from bdnn.checker.model import CheckedModel, Number
from bdnn.checker.result import Result, compared, differing, is_above
from bdnn.checker.statements import exact, number_text, place
from bdnn.errors import ModelFileError


def check_count(known: Known, promise: dict[str, Any]) -> str:
    """At most so many weights, units or features: one limit, or one per layer."""
    layers = [
        [[1 if w else 0 for w in row] for row in layer.weights] for layer in known.model.layers
    ]
    counts = {
        "per_unit": [max(map(sum, rows)) for rows in layers],
        "per_layer": [sum(map(sum, rows)) for rows in layers],
        "total": [sum(sum(map(sum, rows)) for rows in layers)],
        "features": [sum(map(max, zip(*layers[0], strict=True)))],
        "units": [sum(sum(map(max, zip(*rows, strict=True))) for rows in layers[1:])],
    }
    used, limits = counts[str(promise["what"])], promise["at_most"]
    if not isinstance(limits, list):
        raise ValueError("the limits are no list")
    limits = [None if limit is None else exact(limit) for limit in limits]
    require(len(limits) == len(used), f"{len(limits)} limits for {len(used)} layers")
    words = ", ".join("any" if limit is None else number_text(limit) for limit in limits)
    detail = f"{promise['what']}: {', '.join(map(str, used))}, promised {words}"
    require(all(limit is None or n <= limit for n, limit in zip(used, limits, strict=True)), detail)
    return detail


def check_sparsity(known: Known, promise: dict[str, Any]) -> str:
    """Units of a layer with few weights that are not 0."""
    number, limit = place(promise.get("layer", 1)), exact(promise["at_most"])
    layers = known.model.layers
    require(1 <= number <= len(layers), f"there is no layer {number}")
    most = max(sum(1 for w in row if w) for row in layers[number - 1].weights)
    detail = f"at most {most} weights of a unit are not 0, promised {number_text(limit)}"
    require(most <= limit, detail)
    return detail


def check_unused(known: Known, promise: dict[str, Any]) -> str:
    """Features that no unit looks at."""
    if not isinstance(promise["features"], list):
        raise ValueError("the features are no list")
    places = [known.feature(feature) for feature in promise["features"]]
    for j in places:
        has_weight = any(row[j] for row in known.model.layers[0].weights)
        require(not has_weight, f"{known.name(j)} has a weight")
    return f"{len(places)} features have no weight"


def check_weight(known: Known, promise: dict[str, Any]) -> str:
    """One weight has a value."""
    k, unit, j = (place(promise[key]) for key in ("layer", "unit", "input"))
    layers, value = known.model.layers, exact(promise["value"])
    exists = k < len(layers) and unit < len(layers[k].weights) and j < len(layers[k].weights[0])
    require(exists, "there is no such weight")
    weight = layers[k].weights[unit][j]
    require(Fraction(weight) == value, f"the weight is {weight:g}")
    return f"the weight is {weight:g}"


def check_monotone(known: Known, promise: dict[str, Any]) -> str:
    """No path of weights from a feature to an output has the wrong sign."""
    feature, output = known.feature(promise["feature"]), known.output(promise["class"])
    sign = exact(promise["sign"])
    require(sign in (1, -1), "the sign is neither 1 nor -1")
    signs = [{_sign(row[feature])} - {0} for row in known.model.layers[0].weights]
    for layer in known.model.layers[1:]:
        signs = [
            {_sign(w) * s for w, reached in zip(row, signs, strict=True) for s in reached} - {0}
            for row in layer.weights
        ]
    for o, reached in enumerate(signs):
        is_wrong = (-sign if o == output else sign) in reached
        require(not is_wrong, f"a path of the wrong sign leads to output {o}")
    return f"by all paths from {known.name(feature)}"


def check_objective(
    model: CheckedModel, result: Result, total: Fraction, deadline: Deadline
) -> Claim | None:
    """Loss plus penalty, None where the loss is all that was minimised."""
    stated = result.objective
    if stated is None:
        return None
    penalty: Any = model.part("certificate").get("penalty")
    prices = _prices(penalty)
    if is_above(total, stated, is_exact=False):
        return false("objective", f"{number_text(stated)} is below the loss {number_text(total)}")
    if prices is None:
        return claimed("objective", "the prices are not in the file")
    if prices["saturated"] or prices["maximal"]:
        detail = f"{number_text(stated)}; prices of margins are not recomputed"
        return claimed("objective", detail)
    numbers: list[Number] = [w for layer in model.layers for row in layer.weights for w in row]
    value = total + prices["weight"] * sum(1 for w in numbers if w)
    if penalty["biases"]:
        shared = model.threshold_kind == "layer"
        for layer in model.layers:
            lines = layer.limits[:1] if shared else layer.limits
            numbers += [t for line in lines for t in line]
    for number, count in Counter(map(abs, numbers)).items():
        deadline.check()
        size = Fraction(number)
        value += count * (prices["l1"] * size + prices["l2"] * size**2)
    is_right, note = compared(stated, value, is_exact=False)
    detail = differing(value, stated) + note
    return proven("objective", detail) if is_right else false("objective", detail)


def _prices(penalty: Any) -> dict[str, Fraction] | None:
    if not isinstance(penalty, dict):
        return None
    try:
        prices = {
            key: exact(penalty[key]) for key in ("weight", "l1", "l2", "saturated", "maximal")
        }
        if min(prices.values()) < 0 or type(penalty["biases"]) is not bool:
            raise ValueError("a price below 0")
    except (KeyError, ValueError) as error:
        raise ModelFileError(
            f"the certificate's prices make no sense ({error}): save the model again."
        ) from error
    return prices


def _sign(weight: Number) -> int:
    return (weight > 0) - (weight < 0)
