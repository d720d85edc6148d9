"""Which combinations mean nothing, and why: the one table that tests and documentation read."""

from __future__ import annotations

from typing import NamedTuple

from tests.combinations.values import Value

_Beginnings = tuple[str, ...]


class Reason(NamedTuple):
    """Why values mean nothing together; each side lists how their names begin."""

    left: _Beginnings
    right: _Beginnings
    why: str

    def speaks_of(self, a: Value, b: Value) -> bool:
        """Whether it is about this pair, in either order."""
        ab, ba = (str(a), str(b)), (str(b), str(a))
        return any(x.startswith(self.left) and y.startswith(self.right) for x, y in (ab, ba))


_NUMBERS = ("loss squared", "loss absolute")
_COUNTS = tuple(
    f"term Sparsity({what})" for what in ("per_unit", "per_layer", "total", "units", "features")
)
_LEVELS = tuple(f"activation {name}" for name in ("sign", "ternary", "levels", "values"))

REASONS: list[Reason] = [
    Reason(
        _NUMBERS,
        ("robust certified",),
        "a certified row keeps its class in the whole ball, and a number is no class",
    ),
    Reason(_NUMBERS, ("ties",), "ties decide between classes"),
    Reason(_NUMBERS, ("term must",), "a number is not right or wrong, but near or far"),
    Reason(
        _NUMBERS,
        ("term DemographicParity", "term EqualOpportunity"),
        "what is shared fairly is a class",
    ),
    Reason(
        _NUMBERS,
        ("term Regularizer(saturated_margin)", "term Regularizer(max_margin)"),
        "a margin is the distance from an output's threshold, and numbers have none",
    ),
    Reason(
        ("weights binary",),
        (*_COUNTS, "term Forbid"),
        "no weight of this set is 0, so that none can be left out",
    ),
    Reason(
        ("hidden layers none",),
        (*_LEVELS, "term Sparsity(units)"),
        "there is no hidden unit to speak of",
    ),
]


def reason_of(a: Value, b: Value) -> Reason | None:
    """Why two values mean nothing together; None where they do mean something."""
    if a.is_default or b.is_default:
        return None
    return next((reason for reason in REASONS if reason.speaks_of(a, b)), None)
