"""Training by search alone: exact moves on the true loss, then wider margins.

Nothing here needs a solver, and the cost of a sweep is nearly linear in the samples, so that this
is the method for large data. Where the search meets a bound its network is proven optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bdnn.errors import UnsupportedFeatureError
from bdnn.search.starts import Start
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.driver import Phase
from bdnn.training.phases.bounds import FreeBounds
from bdnn.training.phases.numbers import DescendNumbers
from bdnn.training.phases.search import Begin, Descend, Search
from bdnn.training.phases.widen import Choose, Widen
from bdnn.training.phases.worst_case import DescendWorstCase
from bdnn.training.run import Run
from bdnn.training.schedule import Share


@dataclass(frozen=True)
class Descent(AbstractMethod):
    """Search by exact moves.

    Parameters
    ----------
    objectives : sequence of {"loss", "error", "margin", "smallest_margin", "sparsity"}
        What to minimise, most important first, for classes. The margin is what generalises.
    wanted_margin : float, optional
        Output margin beyond which nothing is gained, in units of weights; grows with the width by
        default. For guarantees it is the margin in the worst case.
    start : {"straight_through", "random", "linear"}
        Where the search for classes begins if no network is given.
    patience : float
        Seconds without a better network after which the search ends.
    refit : bool
        Where samples are held out for validation: whether they only show how to train, and the
        network is then trained that way on all samples. If not, it is the best one of those trained
        without them. So it is under constraints and for guarantees, too.
    kicks : int, optional
        For numbers: how often to draw some units anew without a better network before the search
        ends. By default 20 times where that costs next to nothing, and once elsewhere: a little
        less loss on many training samples does not predict new ones better.
    """

    objectives: Sequence[str] = ("loss", "margin")
    wanted_margin: float | None = None
    start: Start = "straight_through"
    patience: float = 5.0
    refit: bool = True
    kicks: int | None = None

    name: ClassVar[str] = "descent"
    handles: ClassVar[frozenset[str]] = frozenset(
        {"classes", "numbers", "guarantees", "levels", "earlier"}
    )

    @property
    def refits(self) -> bool:
        """Whether a choice by validation ends with training on all samples."""
        return self.refit

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The search of what the loss is about."""
        del solver
        bounds, family = FreeBounds(share=run.schedule.free_bounds), run.problem.loss.family
        if family == "numbers":
            numbers = DescendNumbers(self.patience, self.kicks)
            if not numbers.applies(run):
                raise UnsupportedFeatureError(
                    "the search for numbers has no moves for thresholds="
                    f"'{run.problem.architecture.thresholds}' with activation "
                    f"'{run.problem.architecture.activation_names}': use thresholds='neuron', or "
                    "method 'exact' or 'auto'."
                )
            return [bounds, numbers]
        if family == "guarantees":
            balls = DescendWorstCase(self.wanted_margin, self.patience)
            return [bounds, balls, Choose()]
        search = Search(run, self.objectives, self.wanted_margin, self.start, self.patience)
        share = run.schedule.lone_search if search.widens else Share()
        return [
            bounds,
            Begin(search, share=share),
            Descend(search, share=share),
            Choose() if run.problem.terms else Widen(search),
        ]
