"""What a network must keep, prices it pays, and what holds around the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bdnn.cli.options import option
from bdnn.errors import ModelError


@dataclass(frozen=True)
class Guarantee:
    """What holds around the training rows."""

    radius: float | None = option(
        "Train for balls of this radius around the scaled training rows.", shown="none"
    )
    norm: str | None = option("linf, l1 or l2.", shown="linf")
    robust_loss: str | None = option(
        "certified: classes hold; average: random noise of that size; pattern: first-layer "
        "activations hold.",
        shown="certified",
    )

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        from bdnn.estimators import Robust

        asked = {"norm": self.norm, "loss": self.robust_loss}
        given = {name: value for name, value in asked.items() if value is not None}
        if self.radius is None:
            if given:
                raise ModelError(
                    "--norm and --robust-loss are for --radius, which was not given: add it or "
                    "leave them out."
                )
            return {}
        return {"robust": Robust(self.radius, **given)}


@dataclass(frozen=True)
class Constraints:
    """Limits, prices, and what features may do."""

    max_weights: int | None = option(
        "Most weights of the network that are not 0.", shown="no limit"
    )
    max_weights_per_unit: int | None = option("Most weights of every unit.", shown="no limit")
    max_features: int | None = option("Most features in use.", shown="no limit")
    max_units: int | None = option(
        "Most hidden units in use; the others are removed.", shown="no limit"
    )
    weight_price: float = option("Added to the loss for every weight.", 0.0)
    l1: float = option("Price of the weights' absolute values.", 0.0)
    l2: float = option("Price of the weights' squares.", 0.0)
    forbid: list[str] | None = option("A feature to do without.", metavar="FEATURE")
    monotone: list[str] | None = option(
        "A feature that only speaks for (+) or against (-) the second of two classes.",
        metavar="FEATURE:SIGN",
    )
    parity: list[str] | None = option(
        "Shares of the second class differ by at most EPS between the feature's values.",
        metavar="FEATURE:EPS",
    )
    opportunity: list[str] | None = option(
        "The same among the rows of the second class.", metavar="FEATURE:EPS"
    )

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
