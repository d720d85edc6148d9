"""What a network must keep, and prices it pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from bdnn.errors import ModelError


@dataclass(frozen=True)
class Constraints:
    """Limits, prices, and what features may do."""

    max_weights: Annotated[
        int | None,
        Option(help="Most weights of the network that are not 0.", show_default="no limit"),
    ] = None
    max_weights_per_unit: Annotated[
        int | None, Option(help="Most weights of every unit.", show_default="no limit")
    ] = None
    max_features: Annotated[
        int | None, Option(help="Most features in use.", show_default="no limit")
    ] = None
    max_units: Annotated[
        int | None,
        Option(help="Most hidden units in use; the others are removed.", show_default="no limit"),
    ] = None
    weight_price: Annotated[float, Option(help="Added to the loss for every weight.")] = 0.0
    l1: Annotated[float, Option("--l1", help="Price of the weights' absolute values.")] = 0.0
    l2: Annotated[float, Option("--l2", help="Price of the weights' squares.")] = 0.0
    forbid: Annotated[
        list[str] | None, Option(metavar="FEATURE", help="A feature to do without.")
    ] = None
    monotone: Annotated[
        list[str] | None,
        Option(
            metavar="FEATURE:SIGN",
            help="A feature that only speaks for (+) or against (-) the second of two classes.",
        ),
    ] = None
    parity: Annotated[
        list[str] | None,
        Option(
            metavar="FEATURE:EPS",
            help="Shares of the second class differ by at most EPS between the feature's values.",
        ),
    ] = None
    opportunity: Annotated[
        list[str] | None,
        Option(metavar="FEATURE:EPS", help="The same among the rows of the second class."),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        from bdnn.constraints import (
            DemographicParity,
            EqualOpportunity,
            Forbid,
            Monotone,
            Regularizer,
            Sparsity,
        )

        given: list[Any] = []
        limits: dict[str, Any] = {
            "total": self.max_weights,
            "per_unit": self.max_weights_per_unit,
            "features": self.max_features,
            "units": self.max_units,
        }
        if self.weight_price or any(limit is not None for limit in limits.values()):
            given.append(Sparsity(price=self.weight_price, **limits))
        if self.l1 or self.l2:
            given.append(Regularizer(l1=self.l1, l2=self.l2))
        given += [
            *(Forbid(name) for name in self.forbid or ()),
            *(Monotone(*_parts("--monotone", text, "+", _sign)) for text in self.monotone or ()),
            *(
                DemographicParity(*_parts("--parity", text, "0.05", float))
                for text in self.parity or ()
            ),
            *(
                EqualOpportunity(*_parts("--opportunity", text, "0.05", float))
                for text in self.opportunity or ()
            ),
        ]
        return {"constraints": given} if given else {}


def _parts(option: str, text: str, example: str, read: Callable[[str], Any]) -> tuple[str, Any]:
    """Split at the last colon, since names of features may hold some."""
    feature, colon, value = text.rpartition(":")
    try:
        if not colon or not feature:
            raise ValueError
        return feature, read(value)
    except (ValueError, KeyError):
        raise ModelError(
            f"{option} must be a feature and a value as in age:{example}, got {text!r}: correct it."
        ) from None


def _sign(text: str) -> int:
    return {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1}[text.strip()]
