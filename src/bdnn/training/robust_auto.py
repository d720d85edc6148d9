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
from bdnn.training.paper.alternation import Alternate
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
            seconds = _SEARCH_SHARE * recorder.remaining
            slot = recorder.slot("local", seconds, until_close=False)
            Alternate(solver, robust, eps=self.eps).execute(recorder, slot)
        return super()._solve(recorder, solver, robust)
