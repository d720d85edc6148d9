"""Few weights, few units, few features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.constraints.context import Context, amount, sequence, whole
from bdnn.constraints.penalty import Penalty
from bdnn.constraints.rules import AbstractRule, Count
from bdnn.constraints.weights import Forbid
from bdnn.errors import ModelError

LayerLimit = int | Sequence[int | None] | None


@dataclass(frozen=True, eq=False)
class Sparsity:
    """Limits on the weights that are not zero, on the units and on the features in use.

    Parameters
    ----------
    per_unit : int or sequence of int or None
        Most weights of any unit, for all layers or one number (or None) per layer.
    per_layer : int or sequence of int or None
        Most weights of any layer, likewise: the paper's ``||W^k||_0 <= q``.
    total : int or None
        Most weights of the whole network.
    units : int or None
        Most hidden units that have a weight to the layer above; the others are removed from the
        network that is returned.
    features : int or None
        Most features that have a weight.
    price : float
        Added to the loss for every weight that is not zero.
    forbidden : sequence of str or int
        Features that must have no weight.
    """

    per_unit: LayerLimit = None
    per_layer: LayerLimit = None
    total: int | None = None
    units: int | None = None
    features: int | None = None
    price: float = 0.0
    forbidden: Sequence[str | int] = ()

    def resolve(self, context: Context) -> list[AbstractRule]:
        """Turn the limits into rules."""
        shape = context.architecture
        sizes = list(zip(shape.widths[1:], shape.widths, strict=False))
        rules: list[AbstractRule] = []
        last = frozenset({"one_output"})
        for option, most in (
            ("per_unit", [inputs for _, inputs in sizes]),
            ("per_layer", [units * inputs for units, inputs in sizes]),
        ):
            value = getattr(self, option)
            if value is None:
                continue
            name = f"Sparsity({option}={value})"
            limits = _per_layer(value, name, most)
            # A pair of outputs has each weight twice; per unit that makes no difference.
            undoes = last if option == "per_layer" and limits[-1] is not None else frozenset()
            rules.append(Count(name, undoes, option, limits))  # type: ignore[arg-type]
        for option, most_of_all in (
            ("total", shape.n_weights),
            ("units", sum(shape.hidden)),
            ("features", shape.n_features),
        ):
            value = getattr(self, option)
            if value is None:
                continue
            name = f"Sparsity({option}={value})"
            limit = whole(value, f"sparsity: {option}", 0, most_of_all)
            undoes = last if option == "total" else frozenset()
            rules.append(Count(name, undoes, option, (limit,)))  # type: ignore[arg-type]
        for feature in sequence(self.forbidden):
            rules += Forbid(feature).resolve(context)
        for rule in rules:
            if isinstance(rule, Count):
                _check_binary(rule, context)
        return rules

    @property
    def penalty(self) -> Penalty:
        """What the price adds to the loss."""
        return Penalty(weight=amount(self.price, "sparsity: price"))


def _per_layer(value: LayerLimit, name: str, most: list[int]) -> tuple[int | None, ...]:
    if not isinstance(value, Sequence | np.ndarray):
        whole(value, f"sparsity: {name}", 0, max(most))
        return tuple(min(int(value), layer) for layer in most)  # type: ignore[arg-type]
    if len(value) != len(most):
        raise ModelError(
            f"sparsity: {name} must be one number or one per layer, got {len(value)} for "
            f"{len(most)} layers: give {len(most)} numbers, None where there is no limit."
        )
    return tuple(
        None if limit is None else whole(limit, f"sparsity: {name}, layer {k},", 0, layer)
        for k, (limit, layer) in enumerate(zip(value, most, strict=True))
    )


def _check_binary(rule: Count, context: Context) -> None:
    """Say at once that weights of a set without zero cannot be few."""
    shape = context.architecture
    for k, kind in enumerate(shape.weights):
        units, inputs = shape.widths[k + 1], shape.widths[k]
        limit = rule.limits[k] if len(rule.limits) == shape.n_layers else rule.limits[0]
        needed = {
            "per_unit": inputs,
            "per_layer": units * inputs,
            "total": units * inputs,
            "features": inputs if k == 0 else 0,
            "units": inputs if k > 0 else 0,
        }[rule.kind]
        if not kind.zero and limit is not None and limit < needed:
            raise ModelError(
                f"{rule.name} cannot hold with weights '{kind.name}', none of which is zero: use "
                "for example weights='ternary'."
            )
