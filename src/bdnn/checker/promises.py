"""Promises of a model file beside its training result, each kind with its own way to check it.

A promise is an object with a ``kind``. Kinds that are not known here are claims and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from bdnn.checker.claims import Claim, claimed, false, judged
from bdnn.checker.constraints import (
    check_count,
    check_monotone,
    check_parity,
    check_right,
    check_weight,
)
from bdnn.checker.evaluation import Evaluation
from bdnn.checker.model import CheckedModel
from bdnn.checker.radius import check_radius
from bdnn.checker.table import Samples


def check_promises(
    model: CheckedModel, samples: Samples | None, found: Evaluation | None
) -> list[Claim]:
    """Check every promise; those about training data are only claims without the data."""
    promises = model.part("certificate").get("promises", [])
    if not isinstance(promises, list):
        return [false("promises", "are no list")]
    return [_check(model, samples, found, promise) for promise in promises]


def _check(
    model: CheckedModel, samples: Samples | None, found: Evaluation | None, promise: Any
) -> Claim:
    kind = promise.get("kind") if isinstance(promise, dict) else None
    name = f"promise {kind}" if isinstance(kind, str) else "promise"
    check = _KINDS.get(kind) if isinstance(kind, str) else None
    if check is None:
        return claimed(name, "of a kind that this checker does not know")
    try:
        return check(name, model, samples, found, promise)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        return false(name, f"cannot be read ({type(error).__name__}: {error})")


def _sparsity(
    name: str, model: CheckedModel, samples: Any, found: Any, promise: dict[str, Any]
) -> Claim:
    """Units of a layer with few weights that are not 0."""
    del samples, found
    layer = model.layers[int(promise.get("layer", 1)) - 1]
    most = max(sum(1 for w in row if w) for row in layer.weights)
    limit = int(promise["at_most"])
    return judged(
        name, most <= limit, f"at most {most} weights of a unit are not 0, promised {limit}"
    )


def _unused(
    name: str, model: CheckedModel, samples: Any, found: Any, promise: dict[str, Any]
) -> Claim:
    """Features that no unit looks at."""
    del samples, found
    names = model.content.get("feature_names") or []
    wanted = promise["features"]
    places = [names.index(f) if isinstance(f, str) else int(f) for f in wanted]
    used = [
        f for f, j in zip(wanted, places, strict=True) if any(r[j] for r in model.layers[0].weights)
    ]
    return judged(
        name,
        not used,
        f"{len(wanted)} features have no weight"
        if not used
        else (f"{', '.join(map(str, used))} has a weight"),
    )


def _error(
    name: str,
    model: CheckedModel,
    samples: Samples | None,
    found: Evaluation | None,
    promise: dict[str, Any],
) -> Claim:
    """Share of wrong answers, of all training samples or of those of one class."""
    limit = Fraction(promise["at_most"])
    if samples is None or found is None:
        return claimed(name, "cannot be checked without the training data")
    label = promise.get("class")
    place = None if label is None else model.classes.index(label)
    is_wrong = [
        winner != c
        for winner, c in zip(found.winners, samples.classes, strict=True)
        if place is None or c == place
    ]
    wrong, n_rows = sum(is_wrong), len(is_wrong)
    share = Fraction(wrong, n_rows or 1)
    return judged(name, share <= limit, f"{wrong} of {n_rows} wrong, promised {float(limit):g}")


_KINDS: dict[str, Callable[..., Claim]] = {
    "count": check_count,
    "error": _error,
    "monotone": check_monotone,
    "parity": check_parity,
    "radius": check_radius,
    "right": check_right,
    "sparsity": _sparsity,
    "unused": _unused,
    "weight": check_weight,
}
