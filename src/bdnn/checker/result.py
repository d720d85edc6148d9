"""What a model file says of its training, as exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bdnn.checker.model import CheckedModel
from bdnn.checker.statements import exact, number_text, shown
from bdnn.errors import ModelFileError

# Numbers that no double holds are stated rounded, or added up in another order than here.
_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class Result:
    """Loss, bound and their like.

    Attributes
    ----------
    loss, error : Fraction
    bound, objective : Fraction or None
    status, origin : str
        Fit to be printed; the origin says what the bound takes for granted.
    margin, tolerance : Fraction
        What the bound takes for granted: that units keep a distance from their thresholds, and that
        nobody minds a loss that is so much below it.
    is_exact : bool
        Whether loss and bound are stated as texts, which need no rounding.
    """

    loss: Fraction
    error: Fraction
    bound: Fraction | None
    objective: Fraction | None
    status: str
    origin: str
    margin: Fraction
    tolerance: Fraction
    is_exact: bool

    @property
    def is_conditional(self) -> bool:
        """Whether the bound takes anything for granted."""
        return bool(self.margin or self.tolerance)

    @classmethod
    def of(cls, model: CheckedModel) -> Result:
        """Read the result of a file.

        Raises
        ------
        ModelFileError
            If it states no loss, no bound or no error.
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
