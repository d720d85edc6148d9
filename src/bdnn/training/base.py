"""What all training methods share: the budget, the record of the best network, the verdict."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

from bdnn.constraints.problem import ConstrainedProblem
from bdnn.constraints.regression import ConstrainedRegression
from bdnn.errors import ModelError, NoSolutionError
from bdnn.formulation import NetworkModel
from bdnn.formulation.growth import GrowingModel
from bdnn.network import Network
from bdnn.problem import AnyProblem, TrainingProblem
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.result import relative_gap
from bdnn.stepwise import has_twin
from bdnn.training.budget import Budget
from bdnn.training.checks import check_nodes, check_solver, check_start
from bdnn.training.constrained import check_keeps
from bdnn.training.discrete import check_levels, train_twin
from bdnn.training.incremental import Earlier
from bdnn.training.result import Progress, Trained, TrainingResult

ProgressHandler = Callable[[Progress], bool | None]

# Enough for any curve; a run of days must not fill the memory with its history.
_MOMENTS_KEPT = 10_000


class RunRecord(Generic[AnyProblem]):
    """The best network of a run so far, the best bound, and their history.

    Networks are judged by their forward pass alone, whatever their finder claims of them.
    """

    def __init__(
        self,
        problem: AnyProblem,
        budget: Budget,
        handler: ProgressHandler | None = None,
        validation: AnyProblem | None = None,
    ) -> None:
        self.problem = problem
        self.validation = validation
        # What is left of the problem without the validation samples, where it holds these too.
        self.training_part: AnyProblem | None = None
        self.budget = budget
        self.given: Network | None = None
        self.earlier: Earlier | None = None
        self.models: GrowingModel | type[NetworkModel] = NetworkModel
        self.network: Network | None = None
        self.loss = math.inf
        self.bound = problem.conflict_bound
        self.bound_origin = problem.conflict_origin if self.bound > 0 else "zero"
        self._unconditional = (self.bound, self.bound_origin)
        self.history: list[Progress] = []
        self.steps: list[dict[str, Any]] = []
        self.interrupted = False
        # How long a forward pass over all samples takes: on large data the last checks need some.
        self.pass_seconds = 0.0
        self._handler = handler
        self._started = time.perf_counter()
        self._improved = 0.0
        self._is_withdrawn = False
        self._judged: tuple[Network, float] | None = None

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return time.perf_counter() - self._started

    @property
    def remaining(self) -> float:
        """Time left."""
        return max(0.0, self.budget.seconds - self.seconds)

    @property
    def is_proven(self) -> bool:
        """Whether the best network is optimal."""
        return self.problem.is_met(self.loss, self.bound)

    @property
    def target(self) -> float:
        """Loss at which there is nothing more to do."""
        return self.bound if self.budget.loss is None else max(self.bound, self.budget.loss)

    @property
    def is_close(self) -> bool:
        """Whether the loss or the gap is as small as wanted."""
        return self.suffices(self.loss)

    def suffices(self, loss: float) -> bool:
        """Tell whether a loss is proven smallest, or as small as wanted."""
        return (
            self.problem.is_met(loss, self.bound)
            or loss <= self.target
            or relative_gap(loss, self.bound) <= self.budget.gap
        )

    @property
    def stopping(self) -> bool:
        """Whether the run has to end now."""
        return self.interrupted or self.is_close or self.remaining <= 0

    def is_stalled(self, patience: float | None, *, since: float = 0.0) -> bool:
        """Whether neither loss nor bound has improved for that many seconds, from ``since`` on."""
        return patience is not None and self.seconds - max(self._improved, since) > patience

    def objective(self, network: Network) -> float:
        """What is minimised, from the network's forward pass.

        Networks cannot be changed, so that the last answer serves again when its network is kept
        and reported; on large data a pass takes long.
        """
        if self._judged is None or self._judged[0] is not network:
            started = time.perf_counter()
            self._judged = network, self.problem.objective(network)
            self.pass_seconds = time.perf_counter() - started
        return self._judged[1]

    def offer(self, network: Network, phase: str, *, or_equal: bool = False) -> bool:
        """Judge a network and keep it if it is better than the best; tell whether it was kept.

        With ``or_equal`` one of the same loss is kept too: the finder prefers it for its margin.
        """
        loss = self.objective(network)
        if loss > self.loss or (loss == self.loss and not or_equal):
            return False
        if not self.problem.allows(network):
            return False
        self._improved = self.seconds if loss < self.loss else self._improved
        self._keep(network, loss, phase)
        return True

    def _keep(self, network: Network, loss: float, phase: str) -> None:
        if not self.problem.is_met(self.bound, loss):
            # That bound was for networks that keep a margin, and this one does not keep it.
            self.bound, self.bound_origin = self._unconditional
        self.network, self.loss = network, loss
        self.bound = min(self.bound, loss)  # they may differ by rounding
        self.note(phase)

    def improve_bound(
        self, bound: float, origin: str, phase: str, *, conditional: bool = False
    ) -> None:
        """Take a proven lower bound if it is better than the best.

        A ``conditional`` bound holds for networks whose units keep a margin; it is dropped as soon
        as a network is found that does better without.
        """
        rounding = 1e-6 * max(1.0, abs(self.loss))
        if bound <= self.bound or bound > self.loss + rounding:
            return
        self.bound, self.bound_origin = min(bound, self.loss), origin
        if not conditional:
            self._unconditional = (self.bound, self.bound_origin)
        self._improved = self.seconds
        self.note(phase)

    def raise_bound(self, bound: float, origin: str, phase: str) -> bool:
        """Take a bound that holds for all networks, and tell whether the run has to end."""
        self.improve_bound(bound, origin, phase)
        return self.stopping

    def choose(self, network: Network, phase: str) -> None:
        """Take a network that the user's objectives prefer, whatever its loss."""
        self._keep(network, self.objective(network), phase)

    def withdraw(self) -> None:
        """Forget the best network, which does not keep what is asked of networks."""
        self.network, self.loss = None, math.inf
        self._is_withdrawn = True

    def note(self, phase: str) -> None:
        """Put a moment on record."""
        moment = Progress(self.seconds, phase, self.loss, self.bound)
        if len(self.history) < _MOMENTS_KEPT:
            self.history.append(moment)
        self._tell(moment)

    def note_step(self, **record: str | float | None) -> None:
        """Put a part of the method's work on record: a subproblem or an epoch."""
        if len(self.steps) < _MOMENTS_KEPT:
            self.steps.append(record)

    def heartbeat(self, phase: str) -> bool:
        """Tell that the run is alive, without putting it on record; return whether to stop."""
        self._tell(Progress(self.seconds, phase, self.loss, self.bound))
        return self.interrupted

    def _tell(self, moment: Progress) -> None:
        if self._handler is not None and self._handler(moment):
            self.interrupted = True

    def verdict(self, method: str, *, ended: str, solver: str = "", message: str = "") -> Trained:
        """Close the run: recompute everything from the best network."""
        network = self.network
        if network is None:
            # Prices alone forbid nothing.
            if isinstance(self.problem, ConstrainedProblem | ConstrainedRegression) and (
                self.problem.rules or not self._is_withdrawn
            ):
                raise NoSolutionError(
                    f"no network that keeps {self.problem.demands} was found: run longer, use "
                    "method 'auto' or 'exact', or ask for less."
                )
            if self._is_withdrawn:
                raise NoSolutionError(
                    "no network that keeps what was asked for was found in this time: run longer, "
                    "or ask for a smaller radius."
                )
            raise RuntimeError("a method must offer a network before it asks for the verdict")
        objective = self.objective(network)
        loss = self.problem.loss(network) if self.problem.has_penalty else objective
        if self.problem.is_met(objective, self.bound):
            ended = "optimal"
            self.bound = objective
        elif self.interrupted:
            ended = "interrupted"
        elif relative_gap(objective, self.bound) <= self.budget.gap:
            ended = "gap limit"
        elif self.budget.loss is not None and objective <= self.target:
            ended = "loss limit"
        result = TrainingResult(
            ended,
            loss,
            self.bound,
            self.bound_origin,
            self.problem.error(network),
            self.seconds,
            method,
            solver,
            message,
            tuple(self.history),
            tuple(self.steps),
            objective if self.problem.has_penalty else None,
        )
        return Trained(network, result)


class Recorder(RunRecord[TrainingProblem]):
    """The record of a classifier's run, which may go on from one on fewer samples."""

    def continue_from(self, earlier: Earlier) -> None:
        """Take over what earlier samples prove of all samples."""
        self.earlier = earlier
        for seconds in (0.0, min(0.1, 0.01 * self.remaining)):
            if self.stopping:
                return
            known = earlier.bound_on(self.problem, seconds=seconds)
            self.improve_bound(
                self.problem.round_bound(known.value),
                known.origin,
                "earlier",
                conditional=earlier.is_conditional,
            )


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
        problem: TrainingProblem,
        *,
        validation: TrainingProblem | None = None,
        training_part: TrainingProblem | None = None,
        budget: Budget | None = None,
        solver: str | AbstractSolver = "auto",
        start: Network | None = None,
        earlier: Earlier | None = None,
        models: GrowingModel | None = None,
        on_progress: ProgressHandler | None = None,
    ) -> Trained:
        """Find a network of small loss.

        Parameters
        ----------
        problem : TrainingProblem
        validation : TrainingProblem, optional
            Samples for a choice among networks; only where :attr:`uses_validation`.
        training_part : TrainingProblem, optional
            What is left of the problem without the validation samples, where it holds these too:
            they show how to train, and the network is trained that way on all samples. Only where
            :attr:`refits`.
        budget : Budget, optional
        solver : str or AbstractSolver
            A solver, its name, or ``"auto"`` for the one that suits the model.
        start : Network, optional
            A network of the same architecture to begin with.
        earlier : Earlier, optional
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
        if isinstance(problem, ConstrainedProblem):
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
        if problem.architecture.activations and has_twin(problem.architecture):
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
        unit = problem.weight_unit

        def tell(moment: Progress) -> bool | None:
            return None if on_progress is None else on_progress(moment.in_units(unit))

        problem = problem.weighed_in(unit)
        if budget.loss is not None:
            budget = replace(budget, loss=budget.loss / unit)
        validation = None if validation is None else validation.weighed_in(unit)
        recorder = Recorder(problem, budget, tell, validation)
        if training_part is not None:
            recorder.training_part = training_part.weighed_in(unit)
        recorder.offer(problem.constant_network(), "start")
        recorder.given = start
        if start is not None:
            recorder.offer(start, "start")
        if earlier is not None:
            recorder.continue_from(earlier.weighed_in(unit))
        if models is not None:
            recorder.models = models
        try:
            trained = self._train(recorder, solver)
        except KeyboardInterrupt:
            recorder.interrupted = True
            trained = recorder.verdict(self.name, ended="interrupted")
        network, result = trained
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
    def _train(self, recorder: Recorder, solver: str | AbstractSolver) -> Trained:
        """Offer networks and bounds to the recorder until it says stop, then ask its verdict."""
