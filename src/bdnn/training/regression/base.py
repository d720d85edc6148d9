"""What the methods of regression share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from bdnn.network import Network
from bdnn.regression_problem import RegressionProblem
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import ProgressHandler, RunRecord
from bdnn.training.budget import Budget
from bdnn.training.checks import check_nodes, check_solver, check_start
from bdnn.training.result import Progress, Trained

RegressionRecord = RunRecord[RegressionProblem]


@dataclass(frozen=True)
class RegressionMethod(ABC):
    """A way to train regressors; a frozen record of settings, as those of classifiers are."""

    name: ClassVar[str]
    has_nodes: ClassVar[bool] = False

    def train(
        self,
        problem: RegressionProblem,
        *,
        budget: Budget | None = None,
        solver: str | AbstractSolver = "auto",
        start: Network | None = None,
        on_progress: ProgressHandler | None = None,
    ) -> Trained:
        """Find a network of small loss.

        Parameters
        ----------
        problem : RegressionProblem
        budget : Budget, optional
        solver : str or AbstractSolver
        start : Network, optional
            A network of the same architecture to begin with.
        on_progress : callable, optional
            Called with a :class:`~bdnn.training.result.Progress` now and then; the run ends when
            it returns True.

        Returns
        -------
        Trained
            The best network with its result. There always is one.
        """
        budget = budget or Budget()
        check_start(problem.architecture, start)
        check_nodes(budget, self.name, has_nodes=self.has_nodes)
        check_solver(solver, self.name)
        self.check_supports(problem)
        unit = problem.weight_unit

        def tell(moment: Progress) -> bool | None:
            return None if on_progress is None else on_progress(moment.in_units(unit))

        problem = problem.weighed_in(unit)
        if budget.loss is not None:
            budget = replace(budget, loss=budget.loss / unit)
        recorder = RunRecord(problem, budget, tell)
        recorder.offer(problem.constant_network(), "start")
        recorder.given = start
        if start is not None:
            recorder.offer(start, "start")
        try:
            trained = self._train(recorder, solver)
        except KeyboardInterrupt:
            recorder.interrupted = True
            trained = recorder.verdict(self.name, ended="interrupted")
        network, result = trained
        return Trained(problem.finished(network), result.in_units(unit))

    def check_supports(self, problem: RegressionProblem) -> None:
        """Refuse a problem that the method was not made for, before it does anything."""
        del problem

    @abstractmethod
    def _train(self, recorder: RegressionRecord, solver: str | AbstractSolver) -> Trained:
        """Offer networks and bounds to the recorder until it says stop, then ask its verdict."""
