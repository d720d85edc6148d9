"""All claims of a model file, one after the other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from bdnn.checker.bounds import Masses, loss, merged, own_bounds
from bdnn.checker.certified import certified_claims, is_certified_training
from bdnn.checker.claims import Claim, claimed, false, judged, proven
from bdnn.checker.constraints import check_objective
from bdnn.checker.enumeration import TooLargeError, smallest_loss
from bdnn.checker.evaluation import Evaluation, evaluate, scaled
from bdnn.checker.model import CheckedModel, set_complaint
from bdnn.checker.promises import check_promises
from bdnn.checker.rows import parse_rows
from bdnn.checker.table import Samples
from bdnn.errors import DataError, ModelFileError

# Weights of samples that are no integers are added in another order here.
_ROUNDING = Fraction(1, 10**9)
# Solvers round objectives with prices.
_OBJECTIVE_ROUNDING = Fraction(1, 10**6)
_OTHER_DATA = "cannot be checked on other data than it was trained on"


def training_rows(model: CheckedModel, n_rows: int, first: int | None = None) -> list[int]:
    """Find the rows a model was trained on: the first so many, those the file names, or all."""
    if first is not None:
        if not 1 <= first <= n_rows:
            raise DataError(f"--rows must be from 1 to {n_rows}, got {first}: give such a number.")
        return list(range(first))
    named = model.part("extra").get("rows")
    data = model.part("certificate").get("data", {})
    used = data.get("used") if isinstance(data, dict) else None
    try:
        rows = list(range(n_rows)) if named is None else parse_rows(named)
        return rows if used is None else [rows[i] for i in parse_rows(used)]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(
            f"the model file names rows that DATA do not have ({error}): give the data it was "
            "trained on."
        ) from error


def check_model(
    model: CheckedModel, samples: Samples, *, enumerate_networks: bool = False
) -> list[Claim]:
    """Check every claim of a model file against the data it was trained on."""
    claims = [_checksum(model), *_sets(model)]
    data = model.part("certificate").get("data", {})
    data = data if isinstance(data, dict) else {}
    claims.append(_data(data, samples))
    is_same = claims[-1].verdict != "false"
    weights = _class_weights(model, data)
    if not is_same or weights is None or not samples.features:
        why = _OTHER_DATA if not is_same else "the weights of the samples are not in the file"
        return [*claims, *_unchecked(why), *check_promises(model, None, None)]
    inputs = [scaled(model, row) for row in samples.features]
    found = evaluate(model, inputs)
    masses = merged(found.points, samples.classes, weights)
    claims += [_ranges(data, samples), _arithmetic(found)]
    if _is_averaged(model):
        claims += _unchecked("of random perturbations, which this checker does not draw again")
        return [*claims, *check_promises(model, samples, found)]
    if is_certified_training(model):
        first, *rest = certified_claims(model, samples, weights)
    else:
        first, *rest = _result(model, masses, found, enumerate_networks=enumerate_networks)
    claims += [first, _error(model, masses, found), *rest]
    return [*claims, *check_promises(model, samples, found)]


def _unchecked(why: str) -> list[Claim]:
    return [claimed(name, why) for name in ("loss", "training error", "bound", "optimality")]


def _is_averaged(model: CheckedModel) -> bool:
    """Tell whether the file's loss is an average over perturbed copies of the samples."""
    settings = model.part("settings")
    return settings.get("robust_radius") is not None and settings.get("robust_loss") == "average"


def _checksum(model: CheckedModel) -> Claim:
    return judged(
        "checksum",
        model.checksum_holds,
        "fits the content" if model.checksum_holds else "the file was changed after it was written",
    )


def _sets(model: CheckedModel) -> list[Claim]:
    complaints = [
        f"layer {k}: {complaint}"
        for k, layer in enumerate(model.layers, start=1)
        if (complaint := set_complaint(layer, model.threshold_kind))
    ]
    widths = "-".join(map(str, [model.n_features, *model.hidden, len(model.classes)]))
    detail = "; ".join(complaints) or f"{widths}, every weight is of its set"
    return [judged("architecture", not complaints, detail)]


def _data(data: dict[str, Any], samples: Samples) -> Claim:
    n_rows = len(samples.features)
    if "sha256" not in data:
        return claimed("training data", f"the file has no hash of them; {n_rows} rows are taken")
    if data["sha256"] == samples.fingerprint():
        return proven("training data", f"the {n_rows} rows have the file's hash")
    return false("training data", f"these {n_rows} rows do not have the file's hash")


def _class_weights(model: CheckedModel, data: dict[str, Any]) -> list[Fraction] | None:
    """Weight of a sample of every class, None if samples have weights of their own."""
    if data.get("sample_weight"):
        return None
    weights = data.get("class_weight")
    if weights is None:
        is_weighted = model.part("settings").get("class_weight") is not None and not data
        return None if is_weighted else [Fraction(1)] * len(model.classes)
    fits = isinstance(weights, list) and len(weights) == len(model.classes)
    if not fits or any(type(w) not in (int, float) or not w >= 0 for w in weights):
        raise ModelFileError("the certificate's class weights make no sense: save the model again.")
    return [Fraction(w) for w in weights]


def _ranges(data: dict[str, Any], samples: Samples) -> Claim:
    name = "ranges of the inputs"
    if not all(key in data for key in ("low", "high", "per_unit")):
        return claimed(name, "are not in the file")
    columns = list(zip(*samples.features, strict=True))
    fits = [min(c) for c in columns] == data["low"] and [max(c) for c in columns] == data["high"]
    fits = fits and len(data["per_unit"]) == len(columns)
    for column, unit in zip(columns, data["per_unit"], strict=False):
        fits = fits and (unit is None or all(round(v * unit) / unit == v for v in column))
    return judged(name, fits, "as the file says" if fits else "differ from what the file says")


def _arithmetic(found: Evaluation) -> Claim:
    name = "activations"
    if found.rounded:
        return claimed(
            name, f"{found.rounded} of {found.n_decisions} decisions hang on rounding to double"
        )
    return proven(name, f"all {found.n_decisions} decisions are the same in exact arithmetic")


def _error(model: CheckedModel, masses: Masses, found: Evaluation) -> Claim:
    stated = _number(model.part("result").get("error"))
    if stated is None:
        return false("training error", "is no number")
    whole = sum((m for mass in masses.values() for m in mass), Fraction(0))
    wrong = sum((sum(mass) - mass[found.winner[x]] for x, mass in masses.items()), Fraction(0))
    return judged(
        "training error",
        abs(wrong / whole - Fraction(stated)) <= _ROUNDING,
        f"{_text(wrong)} of {_text(whole)} wrong",
    )


def _result(
    model: CheckedModel, masses: Masses, found: Evaluation, *, enumerate_networks: bool
) -> list[Claim]:
    result = model.part("result")
    stated = {key: _number(result.get(key)) for key in ("loss", "bound")}
    if None in stated.values():
        return [false("result", "loss or bound is no number")]
    total = loss(masses, found.outputs)
    whole = sum((m for mass in masses.values() for m in mass), Fraction(0))
    integral = all(m.denominator == 1 for mass in masses.values() for m in mass)
    tolerance = Fraction(0) if integral else _ROUNDING * max(whole, Fraction(1))
    claims = [
        judged(
            "loss",
            abs(total - _exact(stated["loss"])) <= tolerance,
            f"{_text(total)} recomputed, {_text(_exact(stated['loss']))} in the file",
        ),
    ]
    least: Fraction | None = None
    note = ""
    objective = check_objective(model, total)
    if objective is not None:
        # Bound and optimality are about loss and penalty together.
        claims.append(objective)
        total = Fraction(_number(result.get("objective")) or 0)
        tolerance = _OBJECTIVE_ROUNDING * max(total, Fraction(1))
    if enumerate_networks and model.part("certificate").get("constraints"):
        note = "; not enumerated: networks must keep constraints"
    elif enumerate_networks:
        try:
            least = smallest_loss(model, masses)
        except TooLargeError as error:
            note = f"; not enumerated: {error}"
    bound = _bound(model, masses, total, _exact(stated["bound"]), least, tolerance)
    if note:
        bound = Claim(bound.name, bound.verdict, bound.detail + note)
    return [*claims, bound, _optimality(result, bound, total, _exact(stated["bound"]), tolerance)]


def _bound(
    model: CheckedModel,
    masses: Masses,
    total: Fraction,
    bound: Fraction,
    least: Fraction | None,
    tolerance: Fraction,
) -> Claim:
    """A lower bound on the loss of all networks of the architecture."""
    origin = str(model.part("result").get("bound_origin", "nobody"))[:100]
    if bound > total + tolerance:
        return false("bound", f"{_text(bound)} is above the loss {_text(total)}")
    if least is not None:
        return judged(
            "bound",
            bound <= least + tolerance,
            f"{_text(bound)}; the smallest loss of all networks is {_text(least)}, by enumeration",
        )
    own = own_bounds(masses, model.n_steps)
    argument = next((name for name, value in own.items() if bound <= value + tolerance), None)
    if argument is not None:
        return proven("bound", f"{_text(bound)} by {argument}")
    best = max(own.values())
    return claimed("bound", f"{_text(bound)} by {origin}; {_text(best)} is proven here")


def _optimality(
    result: dict[str, Any], bound: Claim, total: Fraction, value: Fraction, tolerance: Fraction
) -> Claim:
    is_met = total <= value + tolerance
    status = result.get("status")
    if status == "optimal" and not is_met:
        return false("optimality", f"loss {_text(total)} and bound {_text(value)} differ")
    if not is_met:
        return proven("optimality", f"not claimed: the file says {str(status)[:30]!r}")
    detail = "rests on a false bound" if bound.verdict == "false" else "loss and bound are equal"
    return Claim("optimality", bound.verdict, detail)


def _number(value: Any) -> float | None:
    if type(value) not in (int, float):
        return None
    return value if math.isfinite(value) else None


def _exact(value: float | None) -> Fraction:
    return Fraction(value or 0)


def _text(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.9g}"
