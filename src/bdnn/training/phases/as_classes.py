"""Losses that a way to train knows nothing of: classes are trained, and the loss judges.

Every loss names classes that are near to what it asks: a certified one those of the samples
themselves, one of numbers whether these are small or large. Hidden units that tell such classes
apart serve the loss, too; outputs that are numbers are fitted anew above them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from bdnn.bounds import FREE
from bdnn.clock import Slot
from bdnn.network.network import Network
from bdnn.problem.losses.base import AbstractLoss
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.limits import projected
from bdnn.search.refit import refit
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod, Phase, Prove, execute
from bdnn.training.limits import Share
from bdnn.training.result import Progress
from bdnn.training.run import Run


@dataclass(frozen=True)
class OutputMethod(AbstractMethod):
    """A method that is written for outputs that are on or off."""

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The method's own, or the same for the classes of another loss."""
        if run.problem.loss.counts_outputs:
            return self.output_phases(run, solver)
        return [Prove(FREE, share=run.schedule.free_bounds), AsClasses(self, solver)]

    @abstractmethod
    def output_phases(self, run: Run[OutputLoss], solver: str | AbstractSolver) -> Sequence[Phase]:
        """Check the settings, and list what to do."""


@dataclass(frozen=True, eq=False)
class AsClasses(Phase):
    """Train the classes that a loss is near to, and offer what is found."""

    method: AbstractMethod
    solver: str | AbstractSolver = "auto"

    name: ClassVar[str] = "classes"

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Let a run of its own keep what is best for the classes, and this one for the loss."""
        inner = _run_of_classes(run, slot)
        inner.given = run.given if inner.problem.architecture == run.problem.architecture else None
        rng, seen = np.random.default_rng(run.budget.seed), inner.network

        def tell(moment: Progress) -> bool:
            nonlocal seen
            if inner.network is not seen and inner.network is not None:
                seen = inner.network
                run.offer(_with_outputs(run.problem, seen, rng), moment.phase)
            return slot.is_over()

        inner.handler = tell
        execute(self.method.phases(inner, self.solver), inner)
        if inner.interrupted and not slot.is_over():
            run.stop()
        for step in inner.steps:
            run.step(**step)
        run.solver = run.solver or inner.solver
        run.end(inner.ended, inner.reason)


def _run_of_classes(run: Run[Any], slot: Slot) -> Run[OutputLoss]:
    problem = run.problem
    shape, loss = problem.loss.as_classes(problem.architecture)
    # Terms may speak of outputs; without these, what is found is moved to where it may be.
    terms = problem.terms if shape == problem.architecture else ()
    budget = replace(run.budget, seconds=slot.remaining, loss=None, gap=0.0)
    return Run(Problem(shape, problem.samples, loss, terms), budget, schedule=run.schedule)


def _with_outputs(problem: Problem[Any], network: Network, rng: np.random.Generator) -> Network:
    """The hidden layers of a network, below outputs that the problem has."""
    shape = problem.architecture
    if network.architecture != shape:
        plain = problem.constant_network()
        weights = (*network.weights[:-1], plain.weights[-1])
        network = Network(shape, weights, (*network.thresholds[:-1], plain.thresholds[-1]))
    network = projected(problem, network, rng)
    return refit(problem, network) if problem.loss.has_targets else network


@singledispatch
def search_for(loss: AbstractLoss, run: Run[Any], method: Any, share: Share) -> Phase:
    """The search of a :class:`~bdnn.training.Descent` for a loss; phases register their own."""
    del loss, run
    return AsClasses(method, share=share)
