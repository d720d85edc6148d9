"""How far inputs may be moved: in training, and when a model is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from bdnn.errors import ModelError


@dataclass(frozen=True)
class Guarantee:
    """What holds around the training rows."""

    radius: Annotated[
        float | None,
        Option(
            help="Train for balls of this radius around the scaled training rows.",
            show_default="none",
        ),
    ] = None
    norm: Annotated[str | None, Option(help="linf, l1 or l2.", show_default="linf")] = None
    robust_loss: Annotated[
        str | None,
        Option(
            help="certified: classes hold; average: random noise of that size; pattern: "
            "first-layer activations hold.",
            show_default="certified",
        ),
    ] = None

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
class Perturbation:
    """What may be done to the rows of a table."""

    radius: Annotated[float, Option(help="How far inputs may be moved.")] = 0.1
    norm: Annotated[str, Option(help="linf, l1 or l2.")] = "linf"
    units: Annotated[str, Option(help="What the radius measures: scaled inputs, or raw ones.")] = (
        "scaled"
    )
    integer: Annotated[
        list[str] | None,
        Option(metavar="COL", help="A column of whole numbers; repeat it for several."),
    ] = None
    fixed: Annotated[
        list[str] | None,
        Option(metavar="COL", help="A column that cannot be changed; repeat it for several."),
    ] = None
    in_range: Annotated[
        bool, Option("--in-range", help="Keep every column within its range in DATA.")
    ] = False
