"""Training by search alone: exact one-unit moves on the true loss, then wider margins.

Nothing here needs a solver, and the cost of a sweep is nearly linear in the samples, so that this
is the method for large data. Where the search meets a bound its network is proven optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bdnn.errors import ModelError
from bdnn.problem.losses.output import OutputLoss
from bdnn.search.objective import Objective
from bdnn.search.starts import Start
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.constrained import check_objectives
from bdnn.training.run import Run
from bdnn.training.search_run import Search


@dataclass(frozen=True)
class Descent(AbstractMethod):
    """Search by exact one-unit moves.

    Parameters
    ----------
    objectives : sequence of {"loss", "error", "margin", "smallest_margin", "sparsity"}
        What to minimise, most important first. The margin is what generalises.
    wanted_margin : float, optional
        Output margin beyond which nothing is gained, in units of weights; grows with the width by
        default.
    start : {"straight_through", "random", "linear"}
        Where the search begins if no network is given.
    patience : float
        Seconds without a better network after which the search ends.
    refit : bool
        Where samples are held out for validation: whether they only show how to train, and the
        network is then trained that way on all samples. If not, it is the best one of those trained
        without them.
    """

    objectives: Sequence[str] = ("loss", "margin")
    wanted_margin: float | None = None
    start: Start = "straight_through"
    patience: float = 5.0
    refit: bool = True

    name: ClassVar[str] = "descent"
    keeps_constraints: ClassVar[bool] = True
    uses_validation: ClassVar[bool] = True
    trains_levels: ClassVar[bool] = True
    continues: ClassVar[bool] = True

    @property
    def refits(self) -> bool:
        """Whether a choice by validation ends with training on all samples."""
        return self.refit

    def prepare(self, recorder: Run[OutputLoss]) -> Search:
        """Check the settings; the search that follows them has not begun yet."""
        if not self.patience > 0:
            raise ModelError(f"patience must be positive, got {self.patience!r}: raise it.")
        shape = recorder.problem.architecture
        objective = Objective.create(self.objectives, shape, self.wanted_margin)
        if recorder.problem.terms:
            check_objectives(recorder.problem, objective.order)
        return Search(recorder, objective, self.start, self.patience)

    def _train(self, recorder: Run[OutputLoss], solver: str | AbstractSolver) -> None:
        search = self.prepare(recorder)
        share = search.search_share
        ended = search.run(seconds=recorder.remaining * share - 2 * recorder.pass_seconds)
        search.refine(seconds=recorder.remaining)
        if recorder.remaining <= 0:
            ended = "time limit"
        recorder.end(ended, search.message)
