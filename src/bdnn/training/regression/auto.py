"""Regression for everyone: search, compare with the bound, let a solver prove small problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from bdnn.constraints.regression import ConstrainedRegression
from bdnn.formulation import DEFAULT_EPS
from bdnn.regression_problem import RegressionProblem
from bdnn.solvers.base import AbstractSolver
from bdnn.training.regression.base import RegressionRecord
from bdnn.training.regression.descent import RegressionDescent, RegressionSearch
from bdnn.training.regression.exact import (
    RegressionExact,
    RegressionSolve,
    choose_engine,
    program_size,
)
from bdnn.training.result import Trained

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

    def check_supports(self, problem: RegressionProblem) -> None:
        """Refuse what neither the search nor the program alone is for."""
        if not _needs_solver(problem):
            super().check_supports(problem)

    def _train(self, recorder: RegressionRecord, solver: str | AbstractSolver) -> Trained:
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
        message = "" if recorder.is_close else message
        return recorder.verdict(self.name, ended=ended, solver=engine, message=message)

    def _solve(self, recorder: RegressionRecord, solver: str | AbstractSolver) -> Trained:
        """Leave everything to the solver, and say so."""
        network, result = RegressionExact(self.eps)._train(recorder, solver)
        said = "the search is for step units without constraints, so that a solver alone ran"
        message = f"{said}; {result.message}" if result.message else said
        return Trained(network, replace(result, method=self.name, message=message))


def _needs_solver(problem: RegressionProblem) -> bool:
    return bool(problem.architecture.activations) or isinstance(problem, ConstrainedRegression)
