"""What the methods of regression share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from bdnn.network.network import Network
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.solvers.base import AbstractSolver
from bdnn.training.checks import check_nodes, check_solver, check_start
from bdnn.training.driver import Whole, execute
from bdnn.training.limits import Budget
from bdnn.training.result import Progress, Trained
from bdnn.training.run import ProgressHandler, Run

RegressionRun = Run[DistanceLoss]


@dataclass(frozen=True)
class RegressionMethod(ABC):
    """A way to train regressors; a frozen record of settings, as those of classifiers are."""

    name: ClassVar[str]
    has_nodes: ClassVar[bool] = False

    def train(
        self,
        problem: Problem[DistanceLoss],
        *,
        budget: Budget | None = None,
        solver: str | AbstractSolver = "auto",
        start: Network | None = None,
        on_progress: ProgressHandler | None = None,
    ) -> Trained:
        """Find a network of small loss.

        Parameters
        ----------
        problem : Problem[DistanceLoss]
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
        unit = problem.samples.unit

        def tell(moment: Progress) -> bool | None:
            return None if on_progress is None else on_progress(moment.in_units(unit))

        if budget.loss is not None:
            budget = replace(budget, loss=budget.loss / unit)
        run = Run(problem, budget, tell)
        run.offer(problem.constant_network(), "start")
        run.given = start
        if start is not None:
            run.offer(start, "start")
        execute([Whole(self.name, lambda run: self._train(run, solver))], run)
        network, result = run.result(self.name)
        return Trained(problem.finished(network), result.in_units(unit))

    def check_supports(self, problem: Problem[DistanceLoss]) -> None:
        """Refuse a problem that the method was not made for, before it does anything."""
        del problem

    @abstractmethod
    def _train(self, recorder: RegressionRun, solver: str | AbstractSolver) -> None:
        """Offer networks and bounds to the run until it says stop."""
