"""What all methods share: phases, which they are lists of, how a run begins and ends, their names.

A failure of a phase loses no network.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from bdnn.bounds.argument import BoundArgument
from bdnn.bounds.previous import PreviousFit
from bdnn.clock import Slot, to_the_end
from bdnn.errors import BDNNError, ModelError
from bdnn.mip.model import GrowingModel
from bdnn.network.expansion import from_twin, has_twin, to_twin
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.program import Program
from bdnn.search.embedding import of_steps
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.training.limits import Budget, Share
from bdnn.training.result import Progress, Trained
from bdnn.training.run import ProgressHandler, Run

#: The training methods by name.
METHODS: dict[str, type[AbstractMethod]] = {}


@dataclass(frozen=True, eq=False)
class Phase(ABC):
    """A part of a method's work, which offers networks and bounds to the run."""

    share: Share = field(default=Share(), kw_only=True)  # how long it may take
    reserve: float = field(default=0.0, kw_only=True)  # seconds that earlier phases leave to it

    #: For messages and the history.
    name: ClassVar[str]
    #: Whether it also follows a proof, a small enough loss or the end of the time.
    is_final: ClassVar[bool] = False
    #: Whether it chooses by held-out samples itself, where there are some.
    chooses: ClassVar[bool] = False

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there is anything to do."""
        del run
        return True

    @abstractmethod
    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Do it, until the slot is over."""


@dataclass(frozen=True, eq=False)
class Prove(Phase):
    """Follow an argument that bounds the objective from below."""

    argument: BoundArgument
    when: Callable[[], bool] = lambda: True  # whether a proof is worth the time

    name: ClassVar[str] = "bound"

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether the argument says anything of such a problem."""
        return self.when() and self.argument.applies(run.problem)

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Take the bounds that it yields."""
        for bound in self.argument.bounds(run.problem, slot, run.loss):
            run.prove(bound, self.name)


@dataclass(frozen=True, eq=False)
class _Choose(Phase):
    """Of all networks that were offered take the one that held-out samples prefer.

    Of those that they do not tell apart it is the one of the smallest objective.
    """

    validation: Problem[Any]

    name: ClassVar[str] = "validation"
    is_final: ClassVar[bool] = True

    def execute(self, run: Run[Any], slot: Slot) -> None:
        pool = [network for network in run.candidates if run.problem.is_feasible(network)]
        if pool:
            best = min(pool, key=lambda n: (self.validation.value(n), run.problem.objective(n)))
            run.choose_by_validation(best)


def execute(phases: Sequence[Phase], run: Run[Any]) -> None:
    """Execute phases in turn until the run has to end.

    Networks are frozen and search states belong to their phase, so that a phase that fails leaves
    nothing half-changed: the failure is noted, and the next phase goes on with the best network.
    What we raise on purpose is an answer and no failure, and so is an error of the user's handler.
    """
    failure: Exception | None = None
    for place, phase in enumerate(phases):
        if run.interrupted:
            break
        try:
            seconds = _seconds(phase, run, sum(later.reserve for later in phases[place + 1 :]))
            is_over = run.stopping or seconds <= 0
            if (is_over and not phase.is_final) or not phase.applies(run):
                continue
            phase.execute(run, run.slot(phase.name, seconds, until_close=not phase.is_final))
        except KeyboardInterrupt:
            run.stop()
        except BDNNError:
            raise
        except Exception as error:
            if run.strict or error is run.handler_error:
                raise
            failure = error
            run.note(f"phase '{phase.name}' failed ({type(error).__name__}: {error})")
    if failure is not None and run.incumbent is None:
        raise failure
    if run.remaining <= 0 and run.ended == "feasible":
        run.end("time limit", run.reason)


def _seconds(phase: Phase, run: Run[Any], reserve: float) -> float:
    """What is left for a phase, without what later ones are promised."""
    left = run.remaining if math.isinf(reserve) else run.remaining - reserve
    return phase.share.seconds(left=max(0.0, left), limit=run.budget.seconds, elapsed=run.seconds)


@dataclass(frozen=True)
class AbstractMethod(ABC):
    """A way to train; a frozen record of settings, so that it can be an estimator's parameter.

    A subclass with a name is known by it. It says what it takes in :attr:`handles`: ``any loss``,
    also those without a program, limits of branch and bound (``nodes``) and a ``solver``. All take
    units of any values, go on from a run on fewer samples, and take held-out samples, which choose
    in the end at least, and constraints and prices: moves keep them, or networks are judged by
    them.
    """

    name: ClassVar[str]
    handles: ClassVar[frozenset[str]] = frozenset({"any loss"})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            METHODS[cls.name] = cls

    def train(
        self,
        problem: Problem[Any],
        *,
        validation: Problem[Any] | None = None,
        training_part: Problem[Any] | None = None,
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
            Samples for a choice among networks.
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
            What a run on some of the samples has shown; training begins with its network.
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
        _check_start(problem, start)
        self.check(_asked(problem, budget, solver))
        if training_part is not None and not self.refits:
            raise ModelError(
                f"method '{self.name}' with these options does not train on validation samples, "
                "got a problem that holds them: give the part without them as the problem."
            )
        if solver != "auto":
            get_solver(solver).check_available()  # before any work
        if problem.loss.pattern is not None and problem.loss.pattern.needs_cones:
            _check_cones(solver)
        if earlier is not None:
            start = earlier.network
        shape = problem.architecture
        # Twins have other thresholds, activations and scores, of which some terms speak.
        if shape.has_levels and has_twin(shape) and not problem.scale_dependent:
            # Every network has a twin of the same answers and the other way round, so that a bound
            # for one is a bound for the other. Only sums of continuous weights can round otherwise.
            trained = self.train(
                of_steps(problem),
                validation=validation and of_steps(validation),
                training_part=training_part and of_steps(training_part),
                start=start and to_twin(start),
                earlier=earlier
                and replace(
                    earlier, problem=of_steps(earlier.problem), network=to_twin(earlier.network)
                ),
                models=models,
                budget=budget,
                solver=solver,
                on_progress=on_progress,
            )
            return _from_steps(trained, problem)
        unit = problem.samples.unit

        def tell(moment: Progress) -> bool | None:
            return None if on_progress is None else on_progress(moment.in_units(unit))

        if budget.loss is not None:
            budget = replace(budget, loss=budget.loss / unit)
        run = Run(problem, budget, tell)
        run.validation, run.training_part = validation, training_part
        run.given, run.earlier = problem.settled(start), earlier
        if models is not None:
            run.models = models
        for network in (problem.constant_network(), run.given):
            if network is not None:
                run.offer(network, "start")
        phases: list[Phase] = []
        try:
            phases += self.phases(run, solver)
        except KeyboardInterrupt:
            run.stop()
        if earlier is not None:
            phases.insert(0, Prove(earlier, share=run.schedule.earlier_bounds))
        if validation is not None and not any(phase.chooses for phase in phases):
            phases.append(_Choose(validation))
        execute(phases, run)

        def finish() -> Trained:
            network, result = run.result(self.name)
            return Trained(problem.finished(network), result.in_units(unit))

        return to_the_end(finish)

    @property
    def refits(self) -> bool:
        """Whether a choice by validation ends with training on all samples."""
        return False

    @abstractmethod
    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """Check the settings, and list what to do."""

    def check(self, asked: Mapping[str, str]) -> None:
        """Refuse what the method does not take, in words, and name those that do."""
        for word, phrase in asked.items():
            if word in self.handles:
                continue
            able = [f"'{name}'" for name in sorted(METHODS) if METHODS[name].handles >= set(asked)]
            remedy = f"use method {' or '.join(able)}" if able else "leave it out"
            raise ModelError(f"method '{self.name}' does not take {phrase}: {remedy}.")


def get_method(method: str | AbstractMethod) -> AbstractMethod:
    """Turn a name into a method with its default settings; a method is returned as it is."""
    if isinstance(method, AbstractMethod):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(
            f"method must be one of {', '.join(map(repr, sorted(METHODS)))}, got {method!r}: "
            "choose one of these."
        )
    return METHODS[method]()


def _asked(problem: Problem[Any], budget: Budget, solver: str | AbstractSolver) -> dict[str, str]:
    """What a method has to take, in words."""
    shape, loss = problem.architecture, problem.loss
    refusal = loss.refusal(shape)
    if refusal is not None:
        raise ModelError(refusal)
    asked = {}
    if not loss.has_program(shape):
        asked["any loss"] = (
            f"loss '{loss.kind}' with hidden={shape.hidden} and ties='{shape.ties}', of which a "
            "solver has no program"
        )
    if budget.nodes is not None:
        asked["nodes"] = "limits: nodes, which are for one program and its solver"
    if solver != "auto":
        asked["solver"] = f"solver '{solver if isinstance(solver, str) else solver.name}'"
    return asked


def _check_cones(solver: str | AbstractSolver) -> None:
    """Say before any work that a solver knows no cones."""
    program = Program()
    program.add_cones("norm1", *np.split(program.add_variables("norm1", (1, 2)), 2, axis=1))
    engine = choose_solver(program) if solver == "auto" else get_solver(solver)
    engine.check_supports(program)


def _check_start(problem: Problem[Any], start: Network | None) -> None:
    shape = start.architecture if isinstance(start, Network) else None
    if start is not None and shape != problem.architecture:
        raise ModelError(
            f"start must be a network {problem.architecture}, got {shape or type(start).__name__}: "
            "embed it first, or leave start out."
        )


def _from_steps(trained: Trained, problem: Problem[Any]) -> Trained:
    """The network of the problem itself, from which all that is reported is computed."""
    # Units that nothing listens to may have been removed.
    shape = replace(problem.architecture, hidden=trained.network.architecture.hidden)
    network, result = from_twin(trained.network, shape), trained.result
    loss = float(problem.value(network)) * problem.samples.unit
    result = replace(result, loss=loss, error=problem.error(network))
    if loss != trained.result.loss:
        proof = replace(result.proof, value=min(result.proof.value, Fraction(loss)))
        result = replace(result, proof=proof, status="feasible")
    return Trained(network, result)
