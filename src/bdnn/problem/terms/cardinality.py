"""Few weights, few units, few features (paper, section 2.1: ``||W^k||_0 <= q``).

With b = 1 where a weight is not zero, which every program has once (``support``):

    per_unit:   sum_j b_lj <= q           per_layer, total: the same over more weights
    features:   y_j >= b_lj (first layer),     sum_j y_j <= f
    units:      g_j >= b_lj (layer above),     sum_j g_j <= s
    price:      minimise p sum b
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bdnn.errors import ModelError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm, Draw, WeightLimits
from bdnn.problem.terms.builder import Block, Builder
from bdnn.problem.terms.context import AbstractConstraint, Context, amount, sequence, whole
from bdnn.problem.terms.weight_box import Forbid
from bdnn.program import IndexArray

LayerLimit = int | Sequence[int | None] | None


@dataclass(frozen=True, eq=False)
class Cardinality(AbstractTerm):
    """At most so many of something that weights make: a limit per layer (None for none), or one."""

    limits: tuple[int | None, ...]

    what: ClassVar[str]
    wants_few_weights: ClassVar[bool] = True

    @abstractmethod
    def count(self, used: Sequence[BoolArray]) -> list[int]:
        """What the weights of every layer make that are not 0, one number per limit."""

    def is_feasible(self, network: Network, problem: Problem[Any]) -> bool:
        return self._within([W != 0.0 for W in network.weights])

    def _within(self, used: Sequence[BoolArray]) -> bool:
        pairs = zip(self.count(used), self.limits, strict=True)
        return all(limit is None or number <= limit for number, limit in pairs)

    def refusal(self, architecture: Architecture) -> str | None:
        """Weights of a set without zero cannot be few."""
        sizes = zip(architecture.widths[1:], architecture.widths, strict=False)
        never = [kind for kind in architecture.weights if not kind.zero]
        kinds = zip(sizes, architecture.weights, strict=True)
        if self._within([np.full(size, not kind.zero) for size, kind in kinds]):
            return None
        return (
            f"{self.name} cannot hold with weights '{never[0].name}', none of which is zero: use "
            "for example weights='ternary'."
        )

    def claim(self) -> dict[str, Any]:
        """Say what is counted, and the limits."""
        return {"kind": "count", "what": self.what, "at_most": list(self.limits)}


@dataclass(frozen=True, eq=False)
class WeightsPerUnit(Cardinality):
    """Most weights of any unit, per layer."""

    what: ClassVar[str] = "per_unit"

    def count(self, used: Sequence[BoolArray]) -> list[int]:
        """Of the unit that has most."""
        return [int(b.sum(axis=1).max()) for b in used]

    def bound_weights(self, limits: WeightLimits) -> None:
        _lower(limits.per_unit, self.limits)

    def block(self, builder: Builder) -> None:
        for k, limit in enumerate(self.limits):
            if limit is not None:
                rows = builder.support(k)
                builder.program.add_rows(f"per_unit{k + 1}", rows, 1.0, upper=float(limit))


@dataclass(frozen=True, eq=False)
class WeightsPerLayer(Cardinality):
    """Most weights of all units together, per layer."""

    what: ClassVar[str] = "per_layer"

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """A pair of outputs has each weight twice; per unit that makes no difference."""
        return frozenset() if self.limits[-1] is None else frozenset({"one_output"})

    def count(self, used: Sequence[BoolArray]) -> list[int]:
        return [int(b.sum()) for b in used]

    def bound_weights(self, limits: WeightLimits) -> None:
        _lower(limits.per_layer, self.limits)

    def block(self, builder: Builder) -> None:
        for k, limit in enumerate(self.limits):
            if limit is not None:
                row = builder.support(k).reshape(1, -1)
                builder.program.add_rows(f"per_layer{k + 1}", row, 1.0, upper=float(limit))


@dataclass(frozen=True, eq=False)
class TotalWeights(Cardinality):
    """Most weights of the whole network."""

    what: ClassVar[str] = "total"

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """A pair of outputs has each weight twice."""
        return frozenset({"one_output"})

    def count(self, used: Sequence[BoolArray]) -> list[int]:
        return [sum(int(b.sum()) for b in used)]

    def bound_weights(self, limits: WeightLimits) -> None:
        limits.total = min(limits.total, self.limits[0] or 0)

    def block(self, builder: Builder) -> None:
        row = np.concatenate([builder.support(k).ravel() for k in range(len(builder.layers))])
        builder.program.add_rows("total", row[None], 1.0, upper=float(self.limits[0] or 0))


@dataclass(frozen=True, eq=False)
class UsedInputs(Cardinality):
    """Most inputs of some layers that have a weight: a block of columns that say which."""

    layers: ClassVar[slice]

    def count(self, used: Sequence[BoolArray]) -> list[int]:
        return [sum(int(b.any(axis=0).sum()) for b in used[self.layers])]

    def block(self, builder: Builder) -> Block:
        """Add what says of every input whether it has a weight, and one row."""
        used = []
        for k in range(len(builder.layers))[self.layers]:
            b = builder.support(k)
            y = builder.program.add_variables(f"{self.what}{k}", (b.shape[1],), integer=True)
            pairs = np.stack([np.broadcast_to(y, b.shape), b], axis=-1)
            builder.program.add_rows(f"{self.what}{k}", pairs, [1.0, -1.0], lower=0.0)
            used.append((y, b))
        if used:
            row = np.concatenate([y for y, _ in used])[None]
            builder.program.add_rows(self.what, row, 1.0, upper=float(self.limits[0] or 0))
        return _Used(used)


@dataclass(frozen=True, eq=False)
class _Used(Block):
    pairs: list[tuple[IndexArray, IndexArray]]

    def lift(self, x: FloatArray) -> bool:
        for y, b in self.pairs:
            x[y] = x[b].any(axis=0)
        return True


@dataclass(frozen=True, eq=False)
class UsedFeatures(UsedInputs):
    """Most features that have a weight."""

    what: ClassVar[str] = "features"
    layers: ClassVar[slice] = slice(1)

    @classmethod
    def narrow(cls, terms: Sequence[UsedFeatures], limits: WeightLimits, draw: Draw) -> None:
        """Draw features, rather those that have large weights in the guide."""
        most = min(term.limits[0] or 0 for term in terms)
        must = ((limits.low[0] > 0.0) | (limits.high[0] < 0.0)).any(axis=0)
        size = np.abs(draw.guide.weights[0]).sum(axis=0)
        rank = size / max(float(size.max(initial=0.0)), 1e-300) + draw.rng.random(len(size))
        for feature in np.argsort(-(rank + 1e6 * must))[most:]:
            limits.narrow(0, (slice(None), feature), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class UsedUnits(UsedInputs):
    """Most hidden units that have a weight to the layer above; the others are removed."""

    what: ClassVar[str] = "units"
    layers: ClassVar[slice] = slice(1, None)

    @property
    def leaves_units(self) -> bool:
        """That is what it is for."""
        return True

    @classmethod
    def narrow(cls, terms: Sequence[UsedUnits], limits: WeightLimits, draw: Draw) -> None:
        """Leave the first units of all hidden layers in turn; no unit differs from another one."""
        most = min(term.limits[0] or 0 for term in terms)
        widths = [low.shape[1] for low in limits.low[1:]]
        turns = [(j, k) for j in range(max(widths, default=0)) for k in range(len(widths))]
        for j, k in [(j, k) for j, k in turns if j < widths[k]][most:]:
            limits.narrow(k + 1, (slice(None), j), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class WeightPrice(AbstractTerm):
    """A price for every weight that is not zero."""

    per_weight: float

    is_price: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """A pair of outputs pays twice, and a better output may have more weights."""
        return frozenset({"one_output"})

    @property
    def prices_weights(self) -> bool:
        """That is what it is for."""
        return True

    def price(self, network: Network, problem: Problem[Any]) -> float:
        return self.per_weight * sum(int(np.count_nonzero(W)) for W in network.weights)

    def weight_price(self, size: FloatArray) -> FloatArray:
        return np.full_like(size, self.per_weight)

    def rescaled(self, factor: float) -> WeightPrice:
        return replace(self, per_weight=self.per_weight * factor)

    def block(self, builder: Builder) -> None:
        for k in range(len(builder.layers)):
            builder.program.minimise(builder.support(k), self.per_weight)

    def claim(self) -> dict[str, Any]:
        return {"weight": self.per_weight}


def _lower(most: list[int], limits: Sequence[int | None]) -> None:
    for k, limit in enumerate(limits):
        most[k] = most[k] if limit is None else min(most[k], limit)


@dataclass(frozen=True, eq=False)
class Sparsity(AbstractConstraint):
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

    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Make a term of every limit."""
        shape = context.architecture
        sizes = list(zip(shape.widths[1:], shape.widths, strict=False))
        terms: list[AbstractTerm] = []
        per_layer: tuple[tuple[type[Cardinality], list[int]], ...] = (
            (WeightsPerUnit, [inputs for _, inputs in sizes]),
            (WeightsPerLayer, [units * inputs for units, inputs in sizes]),
        )
        for kind, most in per_layer:
            value = getattr(self, kind.what)
            if value is not None:
                name = f"Sparsity({kind.what}={value})"
                terms.append(kind(name, _per_layer(value, name, most)))
        in_all: tuple[tuple[type[Cardinality], int], ...] = (
            (TotalWeights, shape.n_weights),
            (UsedUnits, sum(shape.hidden)),
            (UsedFeatures, shape.n_features),
        )
        for kind, largest in in_all:
            value = getattr(self, kind.what)
            if value is not None:
                limit = whole(value, f"sparsity: {kind.what}", 0, largest)
                terms.append(kind(f"Sparsity({kind.what}={value})", (limit,)))
        for feature in sequence(self.forbidden):
            terms += Forbid(feature).resolve(context)
        if amount(self.price, "sparsity: price"):
            terms.append(WeightPrice(f"Sparsity(price={self.price:g})", float(self.price)))
        return terms


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
