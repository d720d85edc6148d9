"""Training with further samples: what an earlier run has shown, and how much of it still holds.

The loss is a sum over samples, so that for every network

    loss(all samples) = loss(earlier samples) + loss(further samples)

and lower bounds of the two parts add up to one of the whole. Where the weights of earlier samples
have changed, as they do with balanced classes, let ``c`` be the smallest ratio of a new weight to
the old one: ``c`` times the earlier bound holds for the earlier samples, and what is left of their
weights belongs to the other part. Samples with equal inputs are one line in a problem, so all this
is done with the lines' masses; a line may belong to both parts. A bound for networks that keep a
margin on the earlier samples holds for those that keep it on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.bounds import Bound, lower_bound
from bdnn.search.descent import descend
from bdnn.search.warm_up import wait_until_ready

if TYPE_CHECKING:
    from bdnn.training.base import Recorder

_EARLIER = " on earlier samples"
# Sweeps after which moves from the earlier network have found what they can; share of the time.
_SWEEPS, _SHARE = 300, 0.1


@dataclass(frozen=True, eq=False)
class Earlier:
    """What training on earlier samples has shown.

    Parameters
    ----------
    problem : TrainingProblem
        Of the earlier samples.
    network : Network
        Its best network.
    bound, origin
        Its lower bound, and what proves it.
    """

    problem: TrainingProblem
    network: Network
    bound: float
    origin: str

    @property
    def is_conditional(self) -> bool:
        """Whether the bound holds only for networks that keep a margin."""
        return "margin" in self.origin

    def weighed_in(self, unit: float) -> Earlier:
        """Measure the samples' weights in another unit."""
        return replace(self, problem=self.problem.weighed_in(unit), bound=self.bound / unit)

    def bound_on(self, problem: TrainingProblem, *, seconds: float = 0.0) -> Bound:
        """Bound of a problem with the earlier samples and others.

        Parameters
        ----------
        problem : TrainingProblem
        seconds : float
            Time for each bound of the further samples beyond their conflicts; 0 for none.
        """
        problem = problem.led_by(self.problem)
        before = np.zeros_like(problem.mass)
        before[: len(self.problem.mass)] = self.problem.mass
        has_mass = before > 0
        share = float((problem.mass[has_mass] / before[has_mass]).min(initial=np.inf))
        if not np.isfinite(share):
            return Bound(0.0, "zero")
        rest = replace(problem, mass=np.maximum(problem.mass - share * before, 0.0))
        further = Bound(rest.conflict_bound, rest.conflict_origin)
        if seconds > 0:
            further = lower_bound(rest, seconds=seconds)
        origin = self.origin.partition(_EARLIER)[0] + _EARLIER
        if further.value > 0:
            origin += f", {further.origin} on new ones"
        return Bound(share * self.bound + further.value, origin)


def improve_earlier(recorder: Recorder) -> None:
    """Adapt the earlier network to all samples by one-unit moves, so that a solver starts well."""
    seconds = _SHARE * recorder.remaining
    deadline = recorder.seconds + seconds
    if recorder.stopping or recorder.given is None:
        return
    levels = bool(recorder.problem.architecture.activations)
    if not wait_until_ready(
        lambda: recorder.heartbeat("load") or recorder.seconds > deadline, levels=levels
    ):
        return

    def listen(network: Network, loss: float) -> bool:
        recorder.offer(network, "search")
        return recorder.heartbeat("search") or recorder.stopping

    found = descend(
        recorder.problem,
        seconds=max(deadline - recorder.seconds, 0.01),
        seed=recorder.budget.seed,
        start=recorder.given,
        target=recorder.target,
        max_sweeps=_SWEEPS,
        on_progress=listen,
    )
    recorder.offer(found.network, "search")
