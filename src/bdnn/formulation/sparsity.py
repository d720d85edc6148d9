"""Few weights, units and features (paper, section 2.1: ``||W^k||_0 <= q``).

    support:    L b <= W <= U b           b = 1 where a weight is not zero
    per_unit:   sum_j b_lj <= q           per_layer, total: the same over more weights
    features:   y_j >= b_lj (first layer),     sum_j y_j <= f
    units:      g_j >= b_lj (layer above),     sum_j g_j <= s

Weights of a set without zero are all counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.activation import FloatArray
from bdnn.constraints.rules import AbstractRule, Count
from bdnn.formulation.discrete import Layer
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class Support:
    """Variables ``b`` of the layers whose weights are counted, and ``used`` of what feeds them.

    Parameters
    ----------
    layers : tuple of Layer
        All of the model.
    b : dict from the number of a layer, from 0, to an array in the shape of its weights
    used : dict likewise, to an array with one variable per input of the layer
    """

    layers: tuple[Layer, ...]
    b: dict[int, IndexArray]
    used: dict[int, IndexArray]

    @classmethod
    def add(
        cls,
        program: Program,
        rules: Sequence[AbstractRule],
        layers: tuple[Layer, ...],
        *,
        price: float = 0.0,
    ) -> Support | None:
        """Add what counts and a price per weight need, None if that is nothing."""
        counts = [rule for rule in rules if isinstance(rule, Count)]
        wanted = set(range(len(layers))) if price else set()
        for rule in counts:
            wanted |= set(_counted(rule, len(layers)))
        block = cls(layers, {k: _add_support(program, layers[k]) for k in sorted(wanted)}, {})
        for rule in counts:
            block._add_count(program, rule)
        if price:
            for b in block.b.values():
                program.minimise(b, price)
        return block if wanted else None

    def _add_count(self, program: Program, rule: Count) -> None:
        layers = _counted(rule, len(self.layers))
        if rule.kind in ("per_unit", "per_layer"):
            for k in layers:
                b = self.b[k] if rule.kind == "per_unit" else self.b[k].reshape(1, -1)
                program.add_rows(f"{rule.kind}{k + 1}", b, 1.0, upper=float(rule.limits[k] or 0))
            return
        columns = [self.b[k].ravel() for k in layers]
        if rule.kind != "total":
            columns = [self._add_used(program, rule.kind, k) for k in layers]
        if columns:
            together = np.concatenate(columns)[None]
            program.add_rows(rule.kind, together, 1.0, upper=float(rule.limits[0] or 0))

    def _add_used(self, program: Program, kind: str, k: int) -> IndexArray:
        """Add what says of every input of a layer whether it has a weight."""
        b = self.b[k]
        used = program.add_variables(f"{kind}{k}", (b.shape[1],), integer=True)
        pairs = np.stack([np.broadcast_to(used, b.shape), b], axis=-1)
        program.add_rows(f"{kind}{k}", pairs, [1.0, -1.0], lower=0.0)
        self.used[k] = used
        return used

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Make zeros of weights that a tolerance kept from being zero."""
        for k, b in self.b.items():
            if not self.layers[k].weights.integer:
                weights[k] = np.where(x[b] < 0.5, 0.0, weights[k])

    def lift(self, x: FloatArray) -> bool:
        """Fill in what follows from the start's weights."""
        for k, b in self.b.items():
            x[b] = x[self.layers[k].W] != 0.0
        for k, used in self.used.items():
            x[used] = x[self.b[k]].any(axis=0)
        return True


def _counted(rule: Count, n_layers: int) -> list[int]:
    """Layers whose weights a rule counts."""
    if rule.kind in ("per_unit", "per_layer"):
        return [k for k, limit in enumerate(rule.limits) if limit is not None]
    return {
        "total": list(range(n_layers)),
        "features": [0],
        "units": list(range(1, n_layers)),
    }[rule.kind]


def _add_support(program: Program, layer: Layer) -> IndexArray:
    low, high = layer.range
    least = 0.0 if layer.weights.zero else 1.0
    b = program.add_variables(f"nonzero{layer.number}", layer.W.shape, lower=least, integer=True)
    pairs = np.stack([layer.W, b], axis=-1)
    program.add_rows(f"support_upper{layer.number}", pairs, [1.0, -high], upper=0.0)
    if low < 0.0:
        program.add_rows(f"support_lower{layer.number}", pairs, [1.0, -low], lower=0.0)
    return b
