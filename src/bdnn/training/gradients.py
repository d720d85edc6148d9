"""Training by straight-through gradients and wide margins, without a search on the loss.

Exact moves fit every sample that they can. Where samples are many noisy copies of a few, that fits
the draws and not the noise: units of gradients whose votes are then spread apart keep more of their
accuracy as the noise grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bdnn.bounds import FREE
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.limits import projected
from bdnn.search.margin import widen_margin
from bdnn.search.objective import default_margin
from bdnn.search.starts import straight_through
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import Phase, Prove
from bdnn.training.limits import check_positive
from bdnn.training.phases.as_classes import OutputMethod
from bdnn.training.phases.search import is_ready
from bdnn.training.run import Run


@dataclass(frozen=True)
class Gradients(OutputMethod):
    """Straight-through gradients, then wider margins at the price of some loss.

    Parameters
    ----------
    wanted_margin : float, optional
        Output margin beyond which nothing is gained, in units of weights; by default wide: for two
        classes as many as there are units in the last hidden layer.
    refit : bool
        Where samples are held out for validation: whether they only show if wider margins pay, and
        the network is then trained on all samples. If not, it is trained without them.
    """

    wanted_margin: float | None = None
    refit: bool = True

    name: ClassVar[str] = "gradients"

    @property
    def refits(self) -> bool:
        return self.refit

    def output_phases(self, run: Run[OutputLoss], solver: str | AbstractSolver) -> Sequence[Phase]:
        """Bounds, and one course of gradients or two."""
        del solver
        bounds = Prove(FREE, share=run.schedule.free_bounds)
        return [bounds, Learn.of(run, self.wanted_margin)]


@dataclass(frozen=True, eq=False)
class Learn(Phase):
    """Gradients and then margins: on all samples, or on a part first to see if margins pay."""

    margin: float
    rng: np.random.Generator

    name: ClassVar[str] = "gradients"
    is_final: ClassVar[bool] = True
    chooses: ClassVar[bool] = True

    @classmethod
    def of(cls, run: Run[Any], margin: float | None) -> Self:
        """Want a margin, by default a wide one."""
        if margin is None:
            margin = _wide_margin(run.problem.architecture)
        check_positive("wanted_margin", margin)
        return cls(margin, np.random.default_rng(run.budget.seed))

    def execute(self, run: Run[Any], slot: Slot) -> None:
        if run.training_part is None:
            self._course(run, run.problem, slot, judge=run.validation)
            return
        widens = True
        if run.given is None:  # which has seen the validation samples, maybe
            trial = slot.part(run.schedule.trial)
            widens = self._course(run, run.training_part, trial, judge=run.validation)
        self._course(run, run.problem, slot, widens=widens)

    def _course(
        self,
        run: Run[Any],
        problem: Problem[Any],
        slot: Slot,
        *,
        judge: Problem[OutputLoss] | None = None,
        widens: bool = True,
    ) -> bool:
        """Train on a problem, and tell whether the network with the wider margins was taken."""
        network = run.given
        if network is None and not run.interrupted:
            learning = slot.part(most=max(0.05, run.schedule.gradients * slot.remaining))
            network = straight_through(problem, rng=self.rng, slot=learning)
            self._take(run, network, "gradients")
        if network is None or not widens:
            return widens
        is_loaded = is_ready(run, slot, ("margin",), descends=False)
        # Before margins begin and after the last moment they can end at.
        left = slot.remaining - 1.5 * run.schedule.last_passes * run.pass_seconds
        if not is_loaded or left <= 0 or run.interrupted:
            return widens
        wider = widen_margin(
            problem,
            network,
            slot=run.slot("margin", left, until_close=False),
            seed=int(self.rng.integers(2**31)),
            objectives=("margin",),
            wanted_margin=self.margin,
        )
        if judge is not None and not _is_as_good(wider, network, judge):
            return False
        self._take(run, wider, "margin")
        return True

    def _take(self, run: Run[Any], network: Network, phase: str) -> None:
        """Take a network whatever its loss, where it keeps the constraints."""
        kept = run.problem.settled(projected(run.problem, network, self.rng))
        if kept is not None and run.problem.is_feasible(kept):
            run.choose(kept, phase)


def _is_as_good(wider: Network, network: Network, judge: Problem[OutputLoss]) -> bool:
    """Whether a network with wider margins is worse by no more than a standard error.

    Few samples cannot tell small differences, and the margin is what keeps its accuracy under noise
    that these samples do not have. A weight counts as so many samples.
    """
    error = judge.error(network)
    deviation = np.sqrt(error * (1.0 - error) / judge.loss.total)
    return bool(judge.error(wider) <= error + deviation)


def _wide_margin(architecture: Architecture) -> float:
    """Half of what all units together can lead by; with many classes they have other duties."""
    usual = default_margin(architecture)
    if architecture.n_outputs > 2 or not architecture.hidden:
        return usual
    return max(usual, architecture.hidden[-1] * architecture.weights[-1].limit)
