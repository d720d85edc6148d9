"""Constraints on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bdnn.errors import ModelError

if TYPE_CHECKING:
    from bdnn.constraints import AbstractConstraint

_PANEL = "Constraints"
_PRICES = ("weight_price", "l1", "l2")
_OF_REGRESSORS = ("max_weights", "max_weights_per_unit", "max_features", "max_units", "forbid")

MaxWeights = Annotated[
    int | None,
    typer.Option(
        help="Most weights of the network that are not 0.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
MaxWeightsPerUnit = Annotated[
    int | None,
    typer.Option(help="Most weights of every unit.", show_default=False, rich_help_panel=_PANEL),
]
MaxFeatures = Annotated[
    int | None,
    typer.Option(help="Most features in use.", show_default=False, rich_help_panel=_PANEL),
]
MaxUnits = Annotated[
    int | None,
    typer.Option(
        help="Most hidden units in use; the others are removed.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
WeightPrice = Annotated[
    float,
    typer.Option(help="Added to the loss for every weight.", rich_help_panel=_PANEL),
]
L1 = Annotated[
    float,
    typer.Option("--l1", help="Price of the weights' absolute values.", rich_help_panel=_PANEL),
]
L2 = Annotated[
    float, typer.Option("--l2", help="Price of the weights' squares.", rich_help_panel=_PANEL)
]
ForbidFeatures = Annotated[
    list[str] | None,
    typer.Option(
        "--forbid", metavar="FEATURE", help="A feature to do without.", rich_help_panel=_PANEL
    ),
]
MonotoneFeatures = Annotated[
    list[str] | None,
    typer.Option(
        "--monotone",
        metavar="FEATURE:SIGN",
        help="A feature that only speaks for (+) or against (-) the second of two classes.",
        rich_help_panel=_PANEL,
    ),
]
Parity = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FEATURE:EPS",
        help="Shares of the second class differ by at most EPS between the feature's values.",
        rich_help_panel=_PANEL,
    ),
]
Opportunity = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FEATURE:EPS",
        help="The same among the rows of the second class.",
        rich_help_panel=_PANEL,
    ),
]


def constraint_options(*, regression: bool, **options: Any) -> dict[str, Any]:
    """Make the estimator's parameters of the options that were given."""
    from bdnn.constraints import (
        DemographicParity,
        EqualOpportunity,
        Forbid,
        Monotone,
        Regularizer,
        Sparsity,
    )

    given = [
        name
        for name, value in options.items()
        if value not in (None, []) and not (name in _PRICES and value == 0.0)
    ]
    unknown = [name for name in given if name not in _OF_REGRESSORS]
    if regression and unknown:
        raise ModelError(
            f"--{unknown[0].replace('_', '-')} is for classification, got it with --regression: "
            "leave one of them out."
        )
    limits = {
        "total": options["max_weights"],
        "per_unit": options["max_weights_per_unit"],
        "features": options["max_features"],
        "units": options["max_units"],
    }
    found: dict[str, Any] = {}
    price, l1, l2 = (options[name] for name in _PRICES)
    if price or any(limit is not None for limit in limits.values()):
        found["sparsity"] = Sparsity(price=price, **limits)
    if l1 or l2:
        found["regularizer"] = Regularizer(l1=l1, l2=l2)
    constraints: list[AbstractConstraint] = [Forbid(name) for name in options["forbid"] or ()]
    for text in options["monotone"] or ():
        feature, sign = _parts(text, "--monotone", "age:+ or age:-", _sign)
        constraints.append(Monotone(feature, sign))
    for text in options["parity"] or ():
        constraints.append(DemographicParity(*_parts(text, "--parity", "region:0.05", float)))
    for text in options["opportunity"] or ():
        constraints.append(EqualOpportunity(*_parts(text, "--opportunity", "region:0.05", float)))
    if constraints:
        found["constraints"] = constraints
    return found


def _parts(text: str, option: str, example: str, read: Callable[[str], Any]) -> tuple[str, Any]:
    """Split at the last colon, since names of features may hold some."""
    feature, colon, value = text.rpartition(":")
    try:
        if not colon or not feature:
            raise ValueError
        return feature, read(value)
    except (ValueError, KeyError):
        raise ModelError(f"{option} must be as in {example}, got {text!r}: correct it.") from None


def _sign(text: str) -> int:
    return {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1}[text.strip()]
