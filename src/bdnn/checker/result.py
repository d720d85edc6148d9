"""What a model file says of its training, as exact numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bdnn.checker.claims import (
    Claim,
    Deadline,
    claimed,
    exact,
    false,
    judged,
    number_text,
    proven,
    shown,
)
from bdnn.checker.layers import Number
from bdnn.checker.model import CheckedModel
from bdnn.errors import ModelFileError

# Numbers that no double holds are stated rounded, or added up in another order than here.
_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class Result:
    """Loss, bound and their like."""

    loss: Fraction
    error: Fraction
    bound: Fraction | None
    objective: Fraction | None
    status: str  # fit to be printed; the origin says what the bound takes for granted
    origin: str
    # What the bound takes for granted: that units keep a distance from their thresholds, and that
    # nobody minds a loss that is so much below it.
    margin: Fraction
    tolerance: Fraction
    is_exact: bool  # whether loss and bound are stated as texts, which need no rounding

    @property
    def is_conditional(self) -> bool:
        """Whether the bound takes anything for granted."""
        return bool(self.margin or self.tolerance)

    @classmethod
    def of(cls, model: CheckedModel) -> Result:
        """Read the result of a file.

        Raises ModelFileError if it states no loss, no bound or no error.
        """
        result = model.part("result")
        try:
            objective = result.get("objective")
            bound = result["bound"]
            margin, tolerance = _condition(bound.get("condition"))
            return cls(
                exact(result["loss"]),
                exact(result["error"]),
                _bound(bound["value"]),
                None if objective is None else exact(objective),
                str(result.get("status"))[:60],
                _origin(bound["origin"], margin, tolerance),
                margin,
                tolerance,
                isinstance(result["loss"], str) and isinstance(bound["value"], str),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"the model file states a result that cannot be read ({error}): save the model "
                "again."
            ) from error


def compared(stated: Fraction, found: Fraction, *, is_exact: bool) -> tuple[bool, str]:
    """Tell whether a stated number is the one that was found, and how that is to be read."""
    if stated == found or is_exact:
        return stated == found, ""
    is_near = abs(stated - found) <= _ROUNDING * abs(found)
    return is_near, ", equal to a part in 10^9" if is_near else ""


def is_above(stated: Fraction, found: Fraction, *, is_exact: bool) -> bool:
    """Tell whether a stated number is certainly more than the one that was found."""
    return stated > found and not compared(stated, found, is_exact=is_exact)[0]


def differing(found: Fraction, stated: Fraction) -> str:
    """Write both numbers."""
    return f"{number_text(found)} recomputed, {number_text(stated)} in the file"


def check_bound(
    result: Result,
    total: Fraction,
    own: dict[str, Fraction],
    least: Fraction | None = None,
    *,
    is_exact: bool,
) -> Claim:
    """Compare a bound with the loss, with bounds recomputed by name, and with the least loss."""
    value = result.bound
    if value is None:
        return proven("bound", "is not claimed")
    stated = number_text(value)
    if is_above(value, total, is_exact=is_exact):
        return false("bound", f"{stated} is above the loss {number_text(total)}")
    if least is not None and not result.is_conditional:
        holds = not is_above(value, least, is_exact=is_exact)
        detail = f"the smallest loss of all networks is {number_text(least)}, by enumeration"
        return judged("bound", holds, f"{stated}; {detail}")
    for name, found in own.items():
        if value <= found:
            return proven("bound", f"{stated} by {name}")
        is_near, note = compared(value, found, is_exact=is_exact)
        if is_near:
            return proven("bound", f"{stated} by {name}{note}")
    best = number_text(max(own.values()))
    return claimed("bound", f"{stated} by {result.origin}; {best} is proven here")


def check_optimality(
    result: Result, bound: Claim, total: Fraction, best: Fraction, *, is_exact: bool
) -> Claim:
    """Tell whether loss and bound meet, and whether the file says no more than that."""
    is_met = result.bound is not None and not is_above(
        total, result.bound + result.tolerance, is_exact=is_exact
    )
    is_claimed = result.status.startswith("optimal")
    if is_claimed and not is_met:
        return false("optimality", f"the loss {number_text(total)} is above the bound")
    if not is_met:
        return proven("optimality", f"not claimed: the file says {shown(result.status)}")
    if bound.verdict == "false":
        return false("optimality", "rests on a false bound")
    if best >= total:
        return proven("optimality", "loss and bound are equal")
    if result.status == "optimal" and result.is_conditional:
        return false("optimality", f"rests on a condition that is not told: {result.origin}")
    # Two numbers that are near each other prove nothing.
    return claimed("optimality", f"loss and bound are equal, by {result.origin}")


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


def _bound(value: Any) -> Fraction | None:
    """A bound, None for one that says nothing."""
    return None if value == {"float": "-inf"} else exact(value)


def _condition(value: Any) -> tuple[Fraction, Fraction]:
    if value is None:
        return Fraction(0), Fraction(0)
    margin, tolerance = exact(value["margin"]), exact(value["tolerance"])
    if margin < 0 or tolerance < 0:
        raise ValueError("a condition below 0")
    return margin, tolerance


def _origin(name: Any, margin: Fraction, tolerance: Fraction) -> str:
    words = [shown(name).strip("'\"")]
    if margin:
        words.append(f"for units that keep a margin of {number_text(margin)}")
    if tolerance:
        words.append(f"within {number_text(tolerance)}")
    return " ".join(words)


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
