"""Training for activations that hold in balls: a local search, then the program from its network.

The program alone begins with a constant network, and on data of some size ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bdnn.mip import Robust
from bdnn.problem.losses.output import OutputLoss
from bdnn.solvers.base import AbstractSolver
from bdnn.training.exact import Exact
from bdnn.training.paper.local_search import LocalSearch
from bdnn.training.run import Run

_SEARCH_SHARE = 0.5


@dataclass(frozen=True)
class RobustAuto(Exact):
    """Alternate over layers for half of the time, then solve one program from the best network.

    Parameters
    ----------
    reductions, eps, robust_radius, robust_norm
        See :class:`~bdnn.training.Exact`.
    """

    name: ClassVar[str] = "auto"

    def _solve(
        self, recorder: Run[OutputLoss], solver: str | AbstractSolver, robust: Robust | None
    ) -> None:
        problem = recorder.problem
        # Local search needs a layer to free while another is fixed.
        if problem.architecture.hidden and recorder.earlier is None and not recorder.stopping:
            search = LocalSearch(polish=False, eps=self.eps)
            if problem.terms:
                search = search.within(problem)
            search.alternate(recorder, solver, robust, seconds=_SEARCH_SHARE * recorder.remaining)
        return super()._solve(recorder, solver, robust)
