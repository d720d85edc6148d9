"""Regression for everyone: search, compare with the bound, let a solver prove small problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bdnn.formulation import DEFAULT_EPS
from bdnn.solvers.base import AbstractSolver
from bdnn.training.regression.base import RegressionRecord
from bdnn.training.regression.descent import RegressionDescent, RegressionSearch
from bdnn.training.regression.exact import RegressionSolve, choose_engine, program_size
from bdnn.training.result import Trained

_SEARCH_SHARE = 0.5
# Beyond this many products no solver gets anywhere: weak relaxations leave the bound at 0.
_LARGEST_PROGRAM = 3_000


@dataclass(frozen=True)
class RegressionAuto(RegressionDescent):
    """Search first; where the problem is small, a solver continues from the search's network.

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

    def _train(self, recorder: RegressionRecord, solver: str | AbstractSolver) -> Trained:
        problem = recorder.problem
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
