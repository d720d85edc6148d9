"""Promises of a model file beside its training result, each kind with its own way to check it.

A promise is an object with a ``kind``. Kinds that are not known here are claims and nothing more;
one that cannot be read makes the file one that cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from bdnn.checker.claims import (
    Claim,
    Deadline,
    OutOfTimeError,
    Verdict,
    claimed,
    exact,
    key_of,
    number_text,
    parse_rows,
    place,
    proven,
    shown,
)
from bdnn.checker.evaluation import Evaluation
from bdnn.checker.guarantee import Ball, Guarantee, Norm, Units
from bdnn.checker.intervals import is_too_large
from bdnn.checker.layers import Number
from bdnn.checker.model import CheckedModel
from bdnn.checker.samples import Samples
from bdnn.errors import ModelFileError


class PromiseError(Exception):
    """Why a promise is false, or why nobody knows."""

    def __init__(self, verdict: Verdict, why: str) -> None:
        super().__init__(why)
        self.verdict: Verdict = verdict


def require(holds: bool, why: str) -> None:
    """Call a promise false unless something holds."""
    if not holds:
        raise PromiseError("false", why)


@dataclass(frozen=True)
class Known:
    """What promises are checked with."""

    model: CheckedModel
    deadline: Deadline
    samples: Samples | None = None  # None where the training data were not given
    found: Evaluation | None = None  # answers on the samples
    # What is told of claims about training data where there are none.
    why: str = "cannot be checked on other data than it was trained on"

    def training(self) -> tuple[Samples, Evaluation]:
        """Training data and the answers on them."""
        if self.samples is None or self.found is None:
            raise PromiseError("claimed", self.why)
        return self.samples, self.found

    def rows(self, text: Any) -> list[int]:
        """Numbers of training samples, from 0; all for None."""
        samples, _ = self.training()
        if text is None:
            return list(range(len(samples)))
        rows = parse_rows(text)
        require(len(rows) > 0, "it is about no rows")
        require(rows.last < len(samples), f"there are {len(samples)} rows and no {rows.last + 1}")
        return list(rows)

    def feature(self, wanted: Any) -> int:
        """Place of a column that is given by its place, or by the name that DATA have for it."""
        if not isinstance(wanted, str):
            j, encoder = place(wanted), self.model.encoder
            n_places = len(encoder.numbers if encoder.of_features else encoder.columns)
            require(j < n_places, f"there is no feature {j}")
            return j
        if self.samples is None or self.samples.names is None:
            raise PromiseError("claimed", f"{shown(wanted)} is no name that the given data tell")
        names = self.samples.names
        require(wanted in names, f"the data have no feature {shown(wanted)}")
        j = names.index(wanted)
        stated = self.model.names
        is_same = stated is None or stated[j] == wanted
        require(is_same, f"{shown(wanted)} is another feature of the data than of the file")
        return j

    def name(self, j: int) -> str:
        """Write a column as the data call it."""
        names = None if self.samples is None else self.samples.names
        return f"feature {j}" if names is None else shown(names[j])

    def output(self, label: Any) -> int:
        """Place of a class."""
        keys = list(map(key_of, self.model.classes))
        require(key_of(label) in keys, f"{shown(label)} is no class of the model")
        return keys.index(key_of(label))


# Shares are promised as doubles.
_ROUNDING = Fraction(1, 10**9)


def check_promises(known: Known) -> list[Claim]:
    """Check every promise; those about training data are only claims without the data."""
    promises = known.model.part("certificate").get("promises", [])
    return [_check(known, number, promise) for number, promise in enumerate(promises, start=1)]


def _check(known: Known, number: int, promise: dict[str, Any]) -> Claim:
    kind = promise.get("kind")
    name = f"promise {shown(kind)[1:-1]}" if isinstance(kind, str) else "promise"
    check = _KINDS.get(kind) if isinstance(kind, str) else None
    if check is None:
        return claimed(name, "of a kind that this checker does not know")
    try:
        known.deadline.check()
        return proven(name, check(known, promise))
    except PromiseError as problem:
        return Claim(name, problem.verdict, str(problem))
    except OutOfTimeError as error:
        return claimed(name, str(error))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"promise {number} of the model file ({kind}) cannot be read ({error}): save the "
            "model again."
        ) from error


def _count(known: Known, promise: dict[str, Any]) -> str:
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


def _sparsity(known: Known, promise: dict[str, Any]) -> str:
    """Units of a layer with few weights that are not 0."""
    number, limit = place(promise.get("layer", 1)), exact(promise["at_most"])
    layers = known.model.layers
    require(1 <= number <= len(layers), f"there is no layer {number}")
    most = max(sum(1 for w in row if w) for row in layers[number - 1].weights)
    detail = f"at most {most} weights of a unit are not 0, promised {number_text(limit)}"
    require(most <= limit, detail)
    return detail


def _unused(known: Known, promise: dict[str, Any]) -> str:
    """Columns that no unit looks at."""
    if not isinstance(promise["features"], list):
        raise ValueError("the features are no list")
    places = [known.feature(feature) for feature in promise["features"]]
    for j in places:
        inputs = known.model.encoder.inputs_of(j)
        has_weight = any(row[i] for row in known.model.layers[0].weights for i in inputs)
        require(not has_weight, f"{known.name(j)} has a weight")
    return f"{len(places)} features have no weight"


def _weight(known: Known, promise: dict[str, Any]) -> str:
    """One weight has a value."""
    k, unit, j = (place(promise[key]) for key in ("layer", "unit", "input"))
    layers, value = known.model.layers, exact(promise["value"])
    exists = k < len(layers) and unit < len(layers[k].weights) and j < len(layers[k].weights[0])
    require(exists, "there is no such weight")
    weight = layers[k].weights[unit][j]
    require(Fraction(weight) == value, f"the weight is {weight:g}")
    return f"the weight is {weight:g}"


def _monotone(known: Known, promise: dict[str, Any]) -> str:
    """No path of weights from a column's numbers and cuts to an output has the wrong sign."""
    feature, output = known.feature(promise["feature"]), known.output(promise["class"])
    sign = exact(promise["sign"])
    require(sign in (1, -1), "the sign is neither 1 nor -1")
    encoder = known.model.encoder
    inputs = [j for j in encoder.inputs_of(feature) if encoder.is_ascending(j)]
    signs = [{_sign(row[j]) for j in inputs} - {0} for row in known.model.layers[0].weights]
    for layer in known.model.layers[1:]:
        signs = [
            {_sign(w) * s for w, reached in zip(row, signs, strict=True) for s in reached} - {0}
            for row in layer.weights
        ]
    for o, reached in enumerate(signs):
        is_wrong = (-sign if o == output else sign) in reached
        require(not is_wrong, f"a path of the wrong sign leads to output {o}")
    return f"by all paths from {known.name(feature)}"


def _sign(weight: Number) -> int:
    return (weight > 0) - (weight < 0)


def _error(known: Known, promise: dict[str, Any]) -> str:
    """Share of wrong answers, of all training samples or of those of one class."""
    limit, label = exact(promise["at_most"]), promise.get("class")
    output = None if label is None else known.output(label)
    samples, found = known.training()
    is_wrong = [
        winner != c
        for winner, c in zip(found.winners, samples.classes, strict=True)
        if output is None or c == output
    ]
    require(len(is_wrong) > 0, "it is about no rows")
    wrong, n_rows = sum(is_wrong), len(is_wrong)
    detail = f"{wrong} of {n_rows} wrong, promised {number_text(limit)}"
    require(Fraction(wrong, n_rows) <= limit, detail)
    return detail


def _parity(known: Known, promise: dict[str, Any]) -> str:
    """Shares of a class differ little between the values of a feature."""
    if promise.get("feature") is None:
        raise PromiseError("claimed", "the groups are not in the file")
    limit, output = exact(promise["at_most"]), known.output(promise["class"])
    only_own = promise["only_own"]
    if type(only_own) is not bool:
        raise ValueError("only_own is neither true nor false")
    samples, found = known.training()
    feature = known.feature(promise["feature"])
    shares: dict[float, list[int]] = {}
    rows = samples.described(known.model.encoder).rows()
    for row, c, winner in zip(rows, samples.classes, found.winners, strict=True):
        if c == output or not only_own:
            shares.setdefault(row[feature], []).append(int(winner == output))
    require(len(shares) > 0, "it is about no rows")
    rates = [Fraction(sum(hits), len(hits)) for hits in shares.values()]
    gap = max(rates) - min(rates)
    detail = f"shares differ by {number_text(gap)}, promised {number_text(limit)}"
    require(gap <= limit + _ROUNDING, detail)
    return detail


def _right(known: Known, promise: dict[str, Any]) -> str:
    """Some training rows get exactly their own output."""
    rows = known.rows(promise["rows"] or "")
    samples, found = known.training()
    wrong = 0
    for i in rows:
        outputs = found.outputs[found.numbers[i]]
        wrong += [o for o, on in enumerate(outputs) if on] != [samples.classes[i]]
    detail = f"{len(rows) - wrong} of {len(rows)} rows are right"
    require(not wrong, detail)
    return detail


def _radius(known: Known, promise: dict[str, Any]) -> str:
    """No input within a distance of a training sample changes its class.

    The promise has ``radius``, ``norm`` (``linf`` if missing, ``l1`` or ``l2``), ``space`` (``raw``
    if missing, or ``scaled``) and ``rows`` (numbers of training samples from 1; all if missing).
    """
    radius = exact(promise["radius"])
    norm, units = promise.get("norm", "linf"), promise.get("space", "raw")
    if norm not in get_args(Norm) or units not in get_args(Units):
        raise PromiseError("claimed", "of a norm or space that this checker does not know")
    require(radius >= 0, "the radius is negative")
    rows = known.rows(promise.get("rows"))
    samples, found = known.training()
    if is_too_large(known.model):
        raise PromiseError("claimed", "of a network that is too large to look at")
    guarantee = Guarantee(known.model, Ball(radius, norm, units))
    verdicts: dict[bytes, bool] = {}
    n_proven, size = 0, number_text(radius)
    for done, i in enumerate(rows):
        record, winner = samples.records[i], found.winner[found.numbers[i]]
        try:
            known.deadline.check()
        except OutOfTimeError as error:
            raise OutOfTimeError(f"{n_proven} of {done} samples proven, then {error}") from error
        if record not in verdicts:
            verdicts[record] = guarantee.holds(samples.row(i), winner)
            if not verdicts[record]:
                found_one = guarantee.counter_example(samples.row(i), winner, known.deadline)
                require(found_one is None, f"sample {i + 1} changes its class within {size}")
        n_proven += verdicts[record]
    if n_proven < len(rows):
        detail = f"{n_proven} of {len(rows)} samples proven, no counter-example"
        raise PromiseError("claimed", detail)
    return f"{size} ({norm}, {units}) holds around {len(rows)} samples"


# What holds, in words; a problem says why it does not, or why nobody knows.
_Check = Callable[[Known, dict[str, Any]], str]
_KINDS: dict[str, _Check] = {
    "count": _count,
    "error": _error,
    "monotone": _monotone,
    "parity": _parity,
    "radius": _radius,
    "right": _right,
    "sparsity": _sparsity,
    "unused": _unused,
    "weight": _weight,
}
