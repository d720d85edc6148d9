"""Promises about constraints: counts, single weights, signs of paths, shares, rows to be right."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from bdnn.checker.claims import Claim, claimed, false, judged, proven
from bdnn.checker.evaluation import Evaluation
from bdnn.checker.model import CheckedModel, Number
from bdnn.checker.rows import parse_rows
from bdnn.checker.table import Samples

_NO_DATA = "cannot be checked without the training data"
_ROUNDING = Fraction(1, 10**9)


def check_count(
    name: str, model: CheckedModel, samples: Any, found: Any, promise: dict[str, Any]
) -> Claim:
    """At most so many weights, units or features: one limit, or one per layer."""
    del samples, found
    layers = [[[1 if w else 0 for w in row] for row in layer.weights] for layer in model.layers]
    used = {
        "per_unit": [max(map(sum, rows)) for rows in layers],
        "per_layer": [sum(map(sum, rows)) for rows in layers],
        "total": [sum(sum(map(sum, rows)) for rows in layers)],
        "features": [sum(map(max, zip(*layers[0], strict=True)))],
        "units": [sum(sum(map(max, zip(*rows, strict=True))) for rows in layers[1:])],
    }[promise["what"]]
    limits = promise["at_most"]
    if len(limits) != len(used):
        return false(name, f"{len(limits)} limits for {len(used)} layers")
    kept = all(limit is None or n <= int(limit) for n, limit in zip(used, limits, strict=True))
    return judged(name, kept, f"{promise['what']}: {_text(used)}, promised {_text(limits)}")


def check_weight(
    name: str, model: CheckedModel, samples: Any, found: Any, promise: dict[str, Any]
) -> Claim:
    """One weight has a value."""
    del samples, found
    k, unit, j = (_place(promise[key]) for key in ("layer", "unit", "input"))
    weight = model.layers[k].weights[unit][j]
    return judged(name, weight == promise["value"], f"the weight is {weight:g}")


def check_monotone(
    name: str, model: CheckedModel, samples: Any, found: Any, promise: dict[str, Any]
) -> Claim:
    """No path of weights from a feature to an output has the wrong sign."""
    del samples, found
    names = model.content.get("feature_names") or []
    wanted, sign = promise["feature"], promise["sign"]
    feature = names.index(wanted) if isinstance(wanted, str) else _place(wanted)
    output = model.classes.index(promise["class"])
    if sign not in (1, -1):
        return false(name, "the sign is neither 1 nor -1")
    signs = [{_sign(row[feature])} - {0} for row in model.layers[0].weights]
    for layer in model.layers[1:]:
        signs = [
            {_sign(w) * s for w, reached in zip(row, signs, strict=True) for s in reached} - {0}
            for row in layer.weights
        ]
    wrong = [o for o, reached in enumerate(signs) if (-sign if o == output else sign) in reached]
    detail = f"a path of the wrong sign leads to output {wrong[0]}" if wrong else "by all paths"
    return judged(name, not wrong, detail)


def check_parity(
    name: str,
    model: CheckedModel,
    samples: Samples | None,
    found: Evaluation | None,
    promise: dict[str, Any],
) -> Claim:
    """Shares of a class differ little between the values of a feature."""
    if samples is None or found is None:
        return claimed(name, _NO_DATA)
    if promise.get("feature") is None:
        return claimed(name, "the groups are not in the file")
    feature, limit = _place(promise["feature"]), Fraction(promise["at_most"])
    output, only_own = model.classes.index(promise["class"]), bool(promise["only_own"])
    shares: dict[float, list[int]] = {}
    for row, c, winner in zip(samples.features, samples.classes, found.winners, strict=True):
        if c == output or not only_own:
            shares.setdefault(row[feature], []).append(int(winner == output))
    rates = [Fraction(sum(hits), len(hits)) for hits in shares.values()]
    gap = max(rates) - min(rates)
    return judged(
        name, gap <= limit + _ROUNDING, f"shares differ by {float(gap):.4g}, promised {limit}"
    )


def check_right(
    name: str,
    model: CheckedModel,
    samples: Samples | None,
    found: Evaluation | None,
    promise: dict[str, Any],
) -> Claim:
    """Some training rows get exactly their own output."""
    del model
    if samples is None or found is None:
        return claimed(name, _NO_DATA)
    rows = parse_rows(promise["rows"])
    wrong = []
    for i in rows:
        outputs = found.outputs[found.points[i]]
        if [o for o, on in enumerate(outputs) if on] != [samples.classes[i]]:
            wrong.append(i)
    return judged(name, not wrong, f"{len(rows) - len(wrong)} of {len(rows)} rows are right")


def check_objective(model: CheckedModel, total: Fraction) -> Claim | None:
    """Loss plus penalty, None where the loss is all that was minimised."""
    stated = model.part("result").get("objective")
    if stated is None:
        return None
    penalty = model.part("certificate").get("penalty")
    if not isinstance(penalty, dict) or type(stated) not in (int, float):
        return claimed("objective", "the prices are not in the file")
    if penalty.get("saturated") or penalty.get("maximal"):
        return claimed("objective", f"{stated:g}; prices of margins are not recomputed")
    prices = [Fraction(penalty.get(key) or 0) for key in ("weight", "l1", "l2")]
    numbers: list[Number] = [w for layer in model.layers for row in layer.weights for w in row]
    value = total + prices[0] * sum(1 for w in numbers if w)
    if penalty.get("biases"):
        shared = model.threshold_kind == "layer"
        for layer in model.layers:
            numbers += layer.thresholds[:1] if shared else layer.thresholds
    value += sum((prices[1] * abs(Fraction(n)) + prices[2] * Fraction(n) ** 2 for n in numbers), 0)
    is_right = abs(value - Fraction(stated)) <= _ROUNDING * max(Fraction(1), abs(value))
    detail = f"{float(value):.9g} recomputed, {stated:.9g} in the file"
    return proven("objective", detail) if is_right else false("objective", detail)


def _place(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no place")
    return value


def _sign(weight: Number) -> int:
    return (weight > 0) - (weight < 0)


def _text(numbers: list[Any]) -> str:
    return ", ".join("any" if n is None else str(n) for n in numbers)
