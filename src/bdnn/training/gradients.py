"""Training by straight-through gradients and wide margins, without a search on the loss.

Exact moves fit every sample that they can. Where samples are many noisy copies of a few, that fits
the draws and not the noise: units of gradients whose votes are then spread apart keep more of their
accuracy as the noise grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.bounds import FREE
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.loading import wait_until_ready
from bdnn.search.margin import widen_margin
from bdnn.search.objective import default_margin
from bdnn.search.starts import straight_through
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.limits import is_number
from bdnn.training.run import Run

# Shares of the time for bounds, for a trial by validation, and of what is left for gradients; the
# rest is for margins.
_BOUND_SHARE, _TRIAL_SHARE, _GRADIENT_SHARE = 0.1, 0.35, 0.5
# Forward passes over all samples before margins begin and after the last moment they can end at.
_LAST_PASSES = 24


@dataclass(frozen=True)
class Gradients(AbstractMethod):
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
    uses_validation: ClassVar[bool] = True
    trains_levels: ClassVar[bool] = True

    @property
    def refits(self) -> bool:
        """Whether a choice by validation ends with training on all samples."""
        return self.refit

    def _train(self, recorder: Run[OutputLoss], solver: str | AbstractSolver) -> None:
        course = _Course(recorder, self._margin(recorder.problem.architecture))
        slot = recorder.slot("bound", min(2.0, _BOUND_SHARE * recorder.remaining))
        for bound in FREE.bounds(recorder.problem, slot, recorder.loss):
            recorder.prove(bound, "bound")
        training, validation = recorder.training_part, recorder.validation
        if training is None:
            course.run(recorder.problem, recorder.remaining, judge=validation)
        else:
            widens = True
            if recorder.given is None:  # which has seen the validation samples, maybe
                seconds = _TRIAL_SHARE * recorder.remaining
                widens = course.run(training, seconds, judge=validation)
            course.run(recorder.problem, recorder.remaining, widens=widens)
        ended = "feasible" if recorder.remaining > 0 else "time limit"
        recorder.end(ended)

    def _margin(self, architecture: Architecture) -> float:
        wanted = self.wanted_margin
        if wanted is None:
            return _wide_margin(architecture)
        if not is_number(wanted) or not wanted > 0:
            raise ModelError(f"wanted_margin must be positive, got {wanted!r}: raise it.")
        return wanted


class _Course:
    """Gradients and then margins, on one problem after the other."""

    def __init__(self, recorder: Run[OutputLoss], margin: float) -> None:
        self.recorder, self.margin = recorder, margin
        self.rng = np.random.default_rng(recorder.budget.seed)

    def run(
        self,
        problem: Problem[OutputLoss],
        seconds: float,
        *,
        judge: Problem[OutputLoss] | None = None,
        widens: bool = True,
    ) -> bool:
        """Train, and tell whether the network with the wider margins was taken."""
        recorder = self.recorder
        ends = recorder.seconds + seconds
        network = self._learnt(problem, seconds)
        if network is None or not widens:
            return widens
        levels = problem.architecture.has_levels
        slot = recorder.slot("load", ends - recorder.seconds, until_close=False)
        ready = wait_until_ready(slot, levels=levels)
        left = ends - recorder.seconds - _LAST_PASSES * recorder.pass_seconds
        if not ready or left <= 0 or recorder.interrupted:
            return widens
        wider = widen_margin(
            problem,
            network,
            slot=recorder.slot("margin", left, until_close=False),
            seed=int(self.rng.integers(2**31)),
            objectives=("margin",),
            wanted_margin=self.margin,
        )
        if judge is not None and not _is_as_good(wider, network, judge):
            return False
        recorder.choose(wider, "margin")
        return True

    def _learnt(self, problem: Problem[OutputLoss], seconds: float) -> Network | None:
        """Give the user's network or one trained by gradients; None after Ctrl-C."""
        recorder = self.recorder
        if recorder.given is not None or recorder.interrupted:
            return recorder.given
        network = straight_through(
            problem,
            rng=self.rng,
            slot=recorder.slot(
                "gradients", max(0.05, _GRADIENT_SHARE * seconds), until_close=False
            ),
        )
        recorder.choose(network, "gradients")
        return network


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
