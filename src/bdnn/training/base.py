"""What all methods of classifiers share: what they refuse, how a run begins and ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from bdnn.bounds.previous import PreviousFit
from bdnn.errors import ModelError
from bdnn.mip.model import GrowingModel
from bdnn.network.expansion import has_twin
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.solvers.base import AbstractSolver
from bdnn.training.checks import check_nodes, check_solver, check_start
from bdnn.training.constrained import check_keeps
from bdnn.training.discrete import check_levels, train_twin
from bdnn.training.driver import Whole, execute
from bdnn.training.incremental import continue_from
from bdnn.training.limits import Budget
from bdnn.training.result import Progress, Trained
from bdnn.training.run import ProgressHandler, Run


@dataclass(frozen=True)
class AbstractMethod(ABC):
    """A way to train; a frozen record of settings, so that it can be an estimator's parameter."""

    name: ClassVar[str]
    uses_validation: ClassVar[bool] = False
    trains_levels: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    has_nodes: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = False
    validates_constrained: ClassVar[bool] = False

    def train(
        self,
        problem: Problem[OutputLoss],
        *,
        validation: Problem[OutputLoss] | None = None,
        training_part: Problem[OutputLoss] | None = None,
        budget: Budget | None = None,
        solver: str | AbstractSolver = "auto",
        start: Network | None = None,
        earlier: PreviousFit | None = None,
        models: GrowingModel | None = None,
        on_progress: ProgressHandler | None = None,
    ) -> Trained:
        """Find a network of small loss.

        Parameters
        ----------
        problem : Problem
        validation : Problem, optional
            Samples for a choice among networks; only where :attr:`uses_validation`.
        training_part : Problem, optional
            What is left of the problem without the validation samples, where it holds these too:
            they show how to train, and the network is trained that way on all samples. Only where
            :attr:`refits`.
        budget : Budget, optional
        solver : str or AbstractSolver
            A solver, its name, or ``"auto"`` for the one that suits the model.
        start : Network, optional
            A network of the same architecture to begin with.
        earlier : PreviousFit, optional
            What a run on some of the samples has shown; training begins with its network. Only
            where :attr:`continues`.
        models : GrowingModel, optional
            Keeps the program for the next such run, and continues the one of the last.
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
        if validation is not None and not self.uses_validation:
            raise ModelError(
                f"method '{self.name}' makes no choice by validation, got samples for it: leave "
                "validation_fraction at 0 or use method 'auto'."
            )
        if training_part is not None and not self.refits:
            raise ModelError(
                f"method '{self.name}' with these options does not train on validation samples, "
                "got a problem that holds them: give the part without them as the problem."
            )
        if problem.terms:
            check_keeps(problem, self.name, keeps=self.keeps_constraints)
            if validation is not None and not self.validates_constrained:
                raise ModelError(
                    f"validation_fraction cannot be combined with {problem.demands}: leave it at 0."
                )
        check_nodes(budget, self.name, has_nodes=self.has_nodes)
        check_solver(solver, self.name)
        if earlier is not None:
            self.check_continues()
            start = earlier.network
        if problem.architecture.has_levels and has_twin(problem.architecture):
            return train_twin(
                self,
                problem,
                validation=validation,
                training_part=training_part,
                start=start,
                earlier=earlier,
                models=models,
                budget=budget,
                solver=solver,
                on_progress=on_progress,
            )
        if not self.trains_levels:
            check_levels(problem, self.name)
        unit = problem.samples.unit

        def tell(moment: Progress) -> bool | None:
            return None if on_progress is None else on_progress(moment.in_units(unit))

        if budget.loss is not None:
            budget = replace(budget, loss=budget.loss / unit)
        run = Run(problem, budget, tell)
        run.validation, run.training_part = validation, training_part
        run.offer(problem.constant_network(), "start")
        run.given = start
        if start is not None:
            run.offer(start, "start")
        if earlier is not None:
            continue_from(run, earlier)
        if models is not None:
            run.models = models
        execute([Whole(self.name, lambda run: self._train(run, solver))], run)
        network, result = run.result(self.name)
        return Trained(problem.finished(network), result.in_units(unit))

    @property
    def refits(self) -> bool:
        """Whether a choice by validation ends with training on all samples."""
        return False

    def check_continues(self) -> None:
        """Raise an error if the method cannot go on from a run on fewer samples."""
        if not self.continues:
            raise ModelError(
                f"method '{self.name}' cannot go on with further samples: use 'auto', 'exact' or "
                "'descent', or fit anew."
            )

    @abstractmethod
    def _train(self, recorder: Run[OutputLoss], solver: str | AbstractSolver) -> None:
        """Offer networks and bounds to the run until it says stop."""
