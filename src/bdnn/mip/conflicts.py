"""Which constraints no network can keep: each alone, and then which one must go."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bdnn.errors import InfeasibleError
from bdnn.mip import NetworkModel
from bdnn.mip.loss import OutputObjective
from bdnn.problem.terms.base import AbstractTerm
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.result import Limits, Termination


def explain_conflict(
    model: NetworkModel[OutputObjective], engine: AbstractSolver, *, seconds: float
) -> None:
    """Raise an error that names the constraints of a program without a solution.

    A constraint that has no network alone is named alone; of others, those without which there is
    one are named together. Nothing happens where the problem has no constraints.
    """
    problem = model.problem
    if not problem.constraints:
        return
    deadline = time.monotonic() + seconds
    robust = None if model.dual_norms is None else model.dual_norms.robust

    def is_infeasible(terms: Sequence[AbstractTerm]) -> bool:
        left = deadline - time.monotonic()
        if left <= 0 or not terms:
            return False
        program = NetworkModel.build(problem.with_terms(terms), robust=robust).program
        outcome = engine.solve(
            program,
            limits=Limits(seconds=left),
            on_event=lambda event: event.solution is not None,
        )
        return outcome.termination is Termination.INFEASIBLE

    kept = f"no network {problem.architecture}"
    if model.margin:
        kept += f" whose units keep a margin of {model.margin:.2g}"
    for term in problem.constraints:
        if is_infeasible([term]):
            raise InfeasibleError(f"{kept} can keep {term.name}: ask for less or a wider network.")
    needed = list(problem.constraints)
    for term in problem.constraints:
        fewer = [other for other in needed if other is not term]
        if is_infeasible(fewer):
            needed = fewer
    names = problem.with_terms(needed).demands
    raise InfeasibleError(f"{kept} can keep {names} together: leave one out or ask for less.")
