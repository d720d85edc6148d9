"""Regression for everyone: search, compare with the bound, let a solver prove small problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bdnn.mip import DEFAULT_EPS
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.solvers.base import AbstractSolver
from bdnn.training.regression.base import RegressionRun
from bdnn.training.regression.descent import RegressionDescent, RegressionSearch
from bdnn.training.regression.exact import (
    RegressionExact,
    RegressionSolve,
    choose_engine,
    program_size,
)

_SEARCH_SHARE = 0.5
# Beyond this many products no solver gets anywhere: weak relaxations leave the bound at 0.
_LARGEST_PROGRAM = 3_000


@dataclass(frozen=True)
class RegressionAuto(RegressionDescent):
    """Search first; where the problem is small, a solver continues from the search's network.

    What the search has no moves for, units of other values than 0 and 1 and constraints, is left to
    the solver.

    Parameters
    ----------
    patience, kicks
        See :class:`~bdnn.training.regression.descent.RegressionDescent`.
    eps : float
        Strictness margin of continuous weights in the program.
    """

    eps: float = DEFAULT_EPS

    name: ClassVar[str] = "auto"
    has_nodes: ClassVar[bool] = True

    def check_supports(self, problem: Problem[DistanceLoss]) -> None:
        """Refuse what neither the search nor the program alone is for."""
        if not _needs_solver(problem):
            super().check_supports(problem)

    def _train(self, recorder: RegressionRun, solver: str | AbstractSolver) -> None:
        problem = recorder.problem
        if _needs_solver(problem):
            return self._solve(recorder, solver)
        choose_engine(problem, solver, threads=1, seed=0)
        search = RegressionSearch.prepare(recorder, self)
        is_small = program_size(problem) <= _LARGEST_PROGRAM
        ended = search.run(seconds=(_SEARCH_SHARE if is_small else 1.0) * recorder.remaining)
        engine, message = "", search.message
        if is_small and not recorder.stopping:
            exact = RegressionSolve.prepare(recorder, solver, self.eps)
            ended = exact.run(seconds=recorder.remaining, patience=self.patience)
            engine, message = exact.solver_name, exact.message
            if ended == "feasible" and not recorder.is_close:
                message = message or "the run ended because more time had stopped paying"
        elif search.is_compiled and ended == "feasible":
            message = "the program is too large for a proof, so that only the search ran"
        recorder.solver = engine
        recorder.end(ended, message)

    def _solve(self, recorder: RegressionRun, solver: str | AbstractSolver) -> None:
        """Leave everything to the solver, and say so."""
        recorder.note(
            "the search is for step units without constraints, so that a solver alone ran"
        )
        RegressionExact(self.eps)._train(recorder, solver)


def _needs_solver(problem: Problem[DistanceLoss]) -> bool:
    return problem.architecture.has_levels or bool(problem.terms)
