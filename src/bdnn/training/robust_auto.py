"""Training for activations that hold in balls: a local search, then the program from its network.

The program alone begins with a constant network, and on data of some size ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bdnn.constraints.problem import ConstrainedProblem
from bdnn.formulation import Robust
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import Recorder
from bdnn.training.exact import Exact
from bdnn.training.local_search import LocalSearch
from bdnn.training.result import Trained

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
        self, recorder: Recorder, solver: str | AbstractSolver, robust: Robust | None
    ) -> Trained:
        problem = recorder.problem
        # Local search needs a layer to free while another is fixed.
        if problem.architecture.hidden and recorder.earlier is None and not recorder.stopping:
            search = LocalSearch(polish=False, eps=self.eps)
            if isinstance(problem, ConstrainedProblem):
                search = search.within(problem)
            search.alternate(recorder, solver, robust, seconds=_SEARCH_SHARE * recorder.remaining)
        return super()._solve(recorder, solver, robust)
