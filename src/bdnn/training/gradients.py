"""Training by straight-through gradients and wide margins, without a search on the loss.

Exact moves fit every sample that they can. Where samples are many noisy copies of a few, that fits
the draws and not the noise: units of gradients whose votes are then spread apart keep more of their
accuracy as the noise grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.search.bounds import lower_bounds
from bdnn.search.margin import widen_margin
from bdnn.search.objective import default_margin
from bdnn.search.starts import straight_through
from bdnn.search.warm_up import wait_until_ready
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod, Recorder
from bdnn.training.budget import is_number
from bdnn.training.result import Trained

# Shares of the time for bounds and for gradients; the rest is for margins.
_BOUND_SHARE, _GRADIENT_SHARE = 0.05, 0.5
# Forward passes over all samples before margins begin and after the last moment they can end at.
_LAST_PASSES = 12


@dataclass(frozen=True)
class Gradients(AbstractMethod):
    """Straight-through gradients, then wider margins at the price of some loss.

    Parameters
    ----------
    wanted_margin : float, optional
        Output margin beyond which nothing is gained, in units of weights; by default wide: for two
        classes as many as there are units in the last hidden layer.
    """

    wanted_margin: float | None = None

    name: ClassVar[str] = "gradients"
    uses_validation: ClassVar[bool] = True
    trains_levels: ClassVar[bool] = True

    def _train(self, recorder: Recorder, solver: str | AbstractSolver) -> Trained:
        problem = recorder.problem
        margin = self._margin(problem.architecture)
        rng = np.random.default_rng(recorder.budget.seed)
        seconds = min(1.0, _BOUND_SHARE * recorder.remaining)
        for bound, origin in lower_bounds(problem, seconds=max(seconds, 0.01)):
            recorder.improve_bound(bound, origin, "bound")
        network = recorder.given
        if network is None and not recorder.interrupted:
            network = straight_through(
                problem,
                rng=rng,
                seconds=max(0.05, _GRADIENT_SHARE * recorder.remaining),
                on_epoch=lambda found: recorder.heartbeat("gradients"),
            )
            recorder.choose(network, "gradients")
        levels = bool(problem.architecture.activations)
        ready = wait_until_ready(
            lambda: recorder.heartbeat("load") or recorder.remaining <= 0, levels=levels
        )
        left = recorder.remaining - _LAST_PASSES * recorder.pass_seconds
        if ready and network is not None and left > 0 and not recorder.interrupted:
            wider = widen_margin(
                problem,
                network,
                seconds=left,
                seed=int(rng.integers(2**31)),
                objectives=("margin",),
                wanted_margin=margin,
                on_progress=lambda found, values: recorder.heartbeat("margin"),
            )
            validation = recorder.validation
            if validation is None or validation.error(wider) <= validation.error(network):
                recorder.choose(wider, "margin")
        ended = "feasible" if recorder.remaining > 0 else "time limit"
        return recorder.verdict(self.name, ended=ended)

    def _margin(self, architecture: Architecture) -> float:
        wanted = self.wanted_margin
        if wanted is None:
            return _wide_margin(architecture)
        if not is_number(wanted) or not wanted > 0:
            raise ModelError(f"wanted_margin must be positive, got {wanted!r}: raise it.")
        return wanted


def _wide_margin(architecture: Architecture) -> float:
    """Half of what all units together can lead by; with many classes they have other duties."""
    usual = default_margin(architecture)
    if architecture.n_outputs > 2 or not architecture.hidden:
        return usual
    return max(usual, architecture.hidden[-1] * architecture.weights[-1].limit)
