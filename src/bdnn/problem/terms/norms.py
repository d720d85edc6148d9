"""Prices on the size of weights and thresholds, and regularizers (paper, introduction).

    abs:      a >= w,  a >= -w                            price l1
    square:   q >= (2 i + 1) a - i (i + 1),  i = 0..P-1    price l2, exact for integers
    bias:     c >= t',  c >= -t'                          price l1 on thresholds

with t' the network's threshold. Squares of continuous weights and of thresholds are quadratic
terms, for solvers that have them.

Prices on margins that are too small.

    lack:     h >= g - s  (own class),  h >= g + s  (others)    price of the saturated margin
    worst:    H >= g - s,  H >= g + s                           price of the largest lack

with s = W u - t' the score of an output and t' the network's threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bdnn.blocks.weights import LayerWeights
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm
from bdnn.problem.terms.builder import Block, Builder, Form, LeastValues
from bdnn.problem.terms.context import AbstractConstraint, Context, amount
from bdnn.program import IndexArray, Program


@dataclass(frozen=True, eq=False)
class Margins(AbstractTerm):
    """What outputs lack to a wanted margin on the right side of their threshold."""

    saturated: float  # times the sum of what all outputs lack
    maximal: float  # times the largest lack
    wanted: float  # the margin g, in units of weights

    is_price: ClassVar[bool] = True
    sees_samples: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """Outputs pay on both sides, and a pair pays twice."""
        return frozenset({"one_output", "one_sided"})

    def refusal(self, architecture: Architecture) -> str | None:
        """Only classes have a right side."""
        if architecture.output != "step":
            return (
                "the margin terms of Regularizer are about classes, which a regressor has none "
                "of: leave them out."
            )
        return None

    @property
    def scale_dependent(self) -> bool:
        return True

    def price(self, network: Network, problem: Problem[Any]) -> float:
        """What outputs lack, from the forward pass."""
        scores, loss = network.values(problem.inputs), problem.loss
        own = np.maximum(0.0, self.wanted - scores)
        other = np.maximum(0.0, self.wanted + scores)
        lack = float((loss.label_weight * own + loss.cost_on * other).sum())
        worst = max(
            float(own[loss.label_weight > 0].max(initial=0.0)),
            float(other[loss.cost_on > 0].max(initial=0.0)),
        )
        return self.saturated * lack + self.maximal * worst

    def rescaled(self, factor: float) -> Margins:
        """In another unit; sums over samples have it already."""
        return replace(self, maximal=self.maximal * factor)

    def block(self, builder: Builder) -> LeastValues:
        program, loss, ties = builder.program, builder.problem.loss, LeastValues([])
        columns, weights, constant, scale, exact, reach = builder.scores()
        wanted = self.wanted / scale
        most = float(np.ceil(wanted + reach))
        whole = exact and wanted == np.rint(wanted)
        worst = np.zeros(0, dtype=np.int64)
        if self.maximal:
            worst = program.add_variables("worst", (1,), upper=most, integer=whole)
            program.minimise(worst, self.maximal * scale)
        sides = (("own", -1.0, loss.label_weight), ("other", 1.0, loss.cost_on))
        for name, sign, weight in sides:
            pairs = np.nonzero(weight)
            row = columns[pairs], sign * weights[pairs]
            least: FloatArray = np.full(len(pairs[0]), wanted + sign * constant)
            if self.maximal:
                every = np.broadcast_to(worst, (len(least),))
                ties.add(program, f"worst_{name}", every, *row, least)
            if self.saturated:
                h = program.add_variables(f"lack_{name}", (len(least),), upper=most, integer=whole)
                ties.add(program, f"lack_{name}", h, *row, least)
                program.minimise(h, self.saturated * weight[pairs] * scale)
        return ties

    def claim(self) -> dict[str, Any]:
        return {
            "saturated": self.saturated,
            "maximal": self.maximal,
            "wanted": self.wanted,
        }


@dataclass(frozen=True, eq=False)
class Norms(AbstractTerm):
    """``l1 sum |w| + l2 sum w^2`` over all weights, and thresholds where ``biases`` says so."""

    l1: float
    l2: float
    biases: bool

    is_price: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """A pair of outputs pays twice."""
        return frozenset({"one_output"})

    @property
    def scale_dependent(self) -> bool:
        return True

    @property
    def prices_weights(self) -> bool:
        """Every weight has its size's price."""
        return True

    def price(self, network: Network, problem: Problem[Any]) -> float:
        total = sum(self.of(W) for W in network.weights)
        if self.biases:
            shared = network.architecture.thresholds == "layer"
            total += sum(self.of(t[:1] if shared else t) for t in network.thresholds)
        return total

    def of(self, values: FloatArray) -> float:
        """What numbers cost."""
        return self.l1 * float(np.abs(values).sum()) + self.l2 * float((values**2).sum())

    def weight_price(self, size: FloatArray) -> FloatArray:
        return np.asarray(self.l1 * size + self.l2 * size**2)

    def rescaled(self, factor: float) -> Norms:
        return replace(self, l1=self.l1 * factor, l2=self.l2 * factor)

    def block(self, builder: Builder) -> _Sizes:
        block = _Sizes(self)
        shared = builder.problem.architecture.thresholds == "layer"
        for k, layer in enumerate(builder.layers):
            block.add_weights(builder.program, layer)
            if self.biases:
                block.add_biases(builder.program, layer.number, builder.thresholds(k), shared)
        return block

    def claim(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2, "biases": self.biases}


@dataclass(frozen=True, eq=False)
class _Sizes(Block):
    term: Norms
    sizes: list[tuple[IndexArray, IndexArray]] = field(default_factory=list)
    squares: list[tuple[IndexArray, IndexArray]] = field(default_factory=list)
    sizes_of_biases: LeastValues = field(default_factory=lambda: LeastValues([]))

    def add_weights(self, program: Program, layer: LayerWeights) -> None:
        l1, l2 = self.term.l1, self.term.l2
        limit = layer.weights.limit
        if l2 and not layer.weights.integer:
            program.minimise(layer.W, l2, quadratic=True)
            l2 = 0.0
        if not (l1 or l2):
            return
        number, integer = layer.number, layer.weights.integer
        a = program.add_variables(
            f"abs{number}", layer.W.shape, upper=float(limit), integer=integer
        )
        for sign in (-1.0, 1.0):
            pairs = np.stack([a, layer.W], axis=-1)
            program.add_rows(f"abs{number}", pairs, [1.0, sign], lower=0.0)
        self.sizes.append((a, layer.W))
        program.minimise(a, l1 + (l2 if limit == 1 else 0.0))
        if l2 and limit > 1:
            q = program.add_variables(
                f"square{number}", a.shape, upper=float(limit**2), integer=True
            )
            for i in range(limit):
                pairs, value = np.stack([q, a], axis=-1), [1.0, -(2.0 * i + 1.0)]
                program.add_rows(f"square{number}", pairs, value, lower=-float(i * (i + 1)))
            self.squares.append((q, layer.W))
            program.minimise(q, l2)

    def add_biases(self, program: Program, number: int, form: Form, shared: bool) -> None:
        l1, l2 = self.term.l1, self.term.l2
        columns = form.columns[:1] if shared else form.columns
        t, shape = columns.reshape(-1), columns.shape[:-1]
        factor, constant = (
            np.broadcast_to(part, shape).ravel()
            for part in (form.coefficients[..., 0], form.constant)
        )
        if not factor.any():
            values = form.scale * constant
            program.offset += self.term.of(values)
            return
        if l1:
            name = f"bias{number}"
            c = program.add_variables(name, t.shape, upper=form.reach, integer=form.whole)
            for sign in (-1.0, 1.0):
                signed = (sign * factor[:, None], sign * constant)
                self.sizes_of_biases.add(program, name, c, t[:, None], *signed)
            program.minimise(c, l1 * form.scale)
        if l2:
            price = l2 * form.scale**2
            program.minimise(t, price * factor**2, quadratic=True)
            program.minimise(t, 2 * price * factor * constant)
            program.offset += float(price * (constant**2).sum())

    def lift(self, x: FloatArray) -> bool:
        for columns, W in self.sizes:
            x[columns] = np.abs(x[W])
        for columns, W in self.squares:
            x[columns] = x[W] ** 2
        return self.sizes_of_biases.lift(x)


@dataclass(frozen=True, eq=False)
class Regularizer(AbstractConstraint):
    """Prices on the size of weights and on margins that are too small.

    Training minimises ``loss + l1 sum |w| + l2 sum w^2 + saturated_margin sum_il h_il +
    max_margin max_il h_il``, where h_il is what output l of sample i lacks to the wanted margin on
    the right side of its threshold.

    Parameters
    ----------
    l1, l2 : float
    biases : bool
        Whether ``l1`` and ``l2`` count thresholds too.
    saturated_margin : float
        Price of what all outputs lack together; nothing is gained beyond the wanted margin.
    max_margin : float
        Price of what the worst output lacks: the largest smallest margin.
    wanted_margin : float
        In units of weights.
    """

    l1: float = 0.0
    l2: float = 0.0
    biases: bool = False
    saturated_margin: float = 0.0
    max_margin: float = 0.0
    wanted_margin: float = 1.0

    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Check the prices and make terms of those that are not 0."""
        for name in ("l1", "l2", "saturated_margin", "max_margin"):
            amount(getattr(self, name), f"regularizer: {name}")
        if not isinstance(self.biases, bool):
            raise ModelError(
                f"regularizer: biases must be True or False, got {self.biases!r}: choose one."
            )
        wanted = amount(self.wanted_margin, "regularizer: wanted_margin")
        if self.biases and not (self.l1 or self.l2):
            raise ModelError("regularizer: biases=True is for l1 or l2, got neither: give one.")
        has_margin = bool(self.saturated_margin or self.max_margin)
        if wanted != 1.0 and not has_margin:
            raise ModelError(
                f"regularizer: wanted_margin={wanted:g} is for saturated_margin or max_margin, got "
                "neither: give one."
            )
        terms: list[AbstractTerm] = []
        if self.l1 or self.l2:
            terms.append(Norms("the regularizer", self.l1, self.l2, self.biases))
        if has_margin:
            lack = self.saturated_margin, self.max_margin
            terms.append(Margins("the regularizer", *lack, wanted))
        return terms
