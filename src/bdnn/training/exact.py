"""Training to proven optimality by one mixed-integer program (paper, Lemma 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bdnn.mip import DEFAULT_EPS, Reductions
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.driver import Phase
from bdnn.training.phases.bounds import FreeBounds
from bdnn.training.phases.search import Adapt
from bdnn.training.phases.solve import Solve
from bdnn.training.phases.widen import Choose
from bdnn.training.robust import promised
from bdnn.training.run import Run


@dataclass(frozen=True)
class Exact(AbstractMethod):
    """Solve the whole training problem as one mixed-integer program.

    Parameters
    ----------
    reductions : Reductions
        Exact reductions of the model, used where they are valid.
    eps : float
        Strictness margin of continuous weights, see :meth:`~bdnn.mip.NetworkModel.build`.
    robust_radius : float, sequence of float or None
        With a radius no first-layer activation of a training input changes for any perturbation
        of that length: one for all, or one per distinct input. It is measured from scaled inputs
        on their grid.
    robust_norm : {"linf", "l1", "l2"}
        Of these perturbations; ``l2`` needs a solver of second-order cones, as all but CP-SAT are.
    """

    reductions: Reductions = field(default_factory=Reductions)
    eps: float = DEFAULT_EPS
    robust_radius: float | Sequence[float] | None = None
    robust_norm: str = "linf"

    name: ClassVar[str] = "exact"
    handles: ClassVar[frozenset[str]] = frozenset(
        {"classes", "numbers", "guarantees", "levels", "earlier", "nodes", "solver", "balls"}
    )

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The program, from the network of fewer samples if there is one."""
        robust = promised(run, self.robust_radius, self.robust_norm, solver)
        solve = Solve(solver, self.reductions, self.eps, robust, share=run.schedule.solve)
        if run.problem.loss.family == "numbers":
            return [FreeBounds(share=run.schedule.free_bounds), solve]
        return [Adapt(share=run.schedule.adapt), solve, Choose()]
