"""Prices on sizes and margins in a user's words."""

from __future__ import annotations

from dataclasses import dataclass

from bdnn.errors import ModelError
from bdnn.problem.terms.base import AbstractTerm
from bdnn.problem.terms.context import AbstractConstraint, Context, amount
from bdnn.problem.terms.margins import Margins
from bdnn.problem.terms.norms import Norms


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
