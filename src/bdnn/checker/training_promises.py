"""Promises about training samples: errors, shares, rows to be right, certified radii."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

from bdnn.checker.deadline import OutOfTimeError
from bdnn.checker.guarantee import Ball, Guarantee, Norm, Units
from bdnn.checker.intervals import is_too_large
from bdnn.checker.known import Known, PromiseError, require
from bdnn.checker.statements import exact, number_text

# Shares are promised as doubles.
_ROUNDING = Fraction(1, 10**9)


def check_error(known: Known, promise: dict[str, Any]) -> str:
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


def check_parity(known: Known, promise: dict[str, Any]) -> str:
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
    for row, c, winner in zip(samples.rows(), samples.classes, found.winners, strict=True):
        if c == output or not only_own:
            shares.setdefault(row[feature], []).append(int(winner == output))
    require(len(shares) > 0, "it is about no rows")
    rates = [Fraction(sum(hits), len(hits)) for hits in shares.values()]
    gap = max(rates) - min(rates)
    detail = f"shares differ by {number_text(gap)}, promised {number_text(limit)}"
    require(gap <= limit + _ROUNDING, detail)
    return detail


def check_right(known: Known, promise: dict[str, Any]) -> str:
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


def check_radius(known: Known, promise: dict[str, Any]) -> str:
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
