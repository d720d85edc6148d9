"""What network is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from bdnn.errors import ModelError


@dataclass(frozen=True)
class Shape:
    """Layers, weights and inputs; what is not given is the estimator's choice."""

    hidden: Annotated[
        list[str] | None,
        Option(
            help="Width of a hidden layer, once per layer; or all as in 50,50; or none.",
            show_default="25; 50 for --regression",
        ),
    ] = None
    weights: Annotated[
        str | None,
        Option(
            help="continuous, ternary, binary or int:P; one for all layers, or one per layer as in "
            "int:3,ternary.",
            show_default="ternary",
        ),
    ] = None
    thresholds: Annotated[
        str | None, Option(help="neuron, layer or zero.", show_default="neuron")
    ] = None
    activation: Annotated[
        str | None,
        Option(
            help="step, sign, ternary, levels:N or values:V/V/...; one for all hidden layers, or "
            "one per hidden layer as in ternary,step.",
            show_default="step",
        ),
    ] = None
    ties: Annotated[str | None, Option(help="score or first.", show_default="score")] = None
    scale: Annotated[
        str | None,
        Option(
            help="auto, standard, common, minmax or none.",
            show_default="auto; standard for --regression",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        given: dict[str, Any] = {
            "weights": _listed(self.weights),
            "thresholds": self.thresholds,
            "activation": _listed(self.activation),
            "ties": self.ties,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if self.hidden:
            given["hidden"] = _widths(self.hidden)
        if self.scale not in (None, "auto"):
            given["scale"] = None if self.scale == "none" else self.scale
        return given


def _listed(text: str | None) -> str | list[str] | None:
    return text.split(",") if text and "," in text else text


def _widths(values: list[str]) -> tuple[int, ...]:
    words = [word.strip() for value in values for word in value.split(",")]
    if words == ["none"]:
        return ()
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise ModelError(
            f"--hidden must be whole numbers, got {', '.join(values)!r}: give for example 25 or "
            "50,50."
        ) from None
