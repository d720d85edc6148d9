"""Which constraints no network can keep: each alone, and then which one must go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from bdnn.constraints.penalty import Penalty
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.constraints.rules import AbstractRule
from bdnn.errors import InfeasibleError
from bdnn.formulation import NetworkModel
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.result import Limits, Termination


def explain_conflict(model: NetworkModel, engine: AbstractSolver, *, seconds: float) -> None:
    """Raise an error that names the constraints of a program without a solution.

    A constraint that has no network alone is named alone; of others, those without which there is
    one are named together. Nothing happens where the problem has no constraints.
    """
    problem = model.problem
    if not isinstance(problem, ConstrainedProblem) or not problem.rules:
        return
    deadline = time.monotonic() + seconds
    robust = None if model.dual_norms is None else model.dual_norms.robust

    def is_infeasible(rules: Sequence[AbstractRule]) -> bool:
        left = deadline - time.monotonic()
        if left <= 0 or not rules:
            return False
        part = replace(problem, rules=tuple(rules), penalty=Penalty())
        program = NetworkModel.build(part, robust=robust).program
        outcome = engine.solve(
            program,
            limits=Limits(seconds=left),
            on_event=lambda event: event.solution is not None,
        )
        return outcome.termination is Termination.INFEASIBLE

    kept = f"no network {problem.architecture}"
    if model.margin:
        kept += f" whose units keep a margin of {model.margin:.2g}"
    for rule in problem.rules:
        if is_infeasible([rule]):
            raise InfeasibleError(f"{kept} can keep {rule.name}: ask for less or a wider network.")
    needed = list(problem.rules)
    for rule in problem.rules:
        fewer = [other for other in needed if other is not rule]
        if is_infeasible(fewer):
            needed = fewer
    names = replace(problem, rules=tuple(needed), penalty=Penalty()).demands
    raise InfeasibleError(f"{kept} can keep {names} together: leave one out or ask for less.")
