"""The search of a constrained problem: walks from new starts until more time stops paying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdnn.errors import ModelError
from bdnn.network.expansion import has_twin
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.loading import wait_until_ready
from bdnn.search.starts import Start, make_start
from bdnn.search.walk import search_within

if TYPE_CHECKING:
    from bdnn.training.search_run import Search

_PHASE = "search"
# Sweeps of the first walk and of the longest ones; every walk has half as many again as the last.
_FIRST_SWEEPS, _MOST_SWEEPS = 60, 600
# Walks after which a search that has stalled may end, and share of the time for one start.
_FEWEST_WALKS, _START_SHARE = 4, 0.1
_DEFAULT_OBJECTIVES = ("loss", "margin")


def check_keeps(problem: Problem[OutputLoss], method: str, *, keeps: bool) -> None:
    """Say before any work that a method cannot keep constraints, or not with these units."""
    shape = problem.architecture
    if not keeps:
        raise ModelError(
            f"method '{method}' cannot keep {problem.demands}: use 'auto', 'exact' or 'descent'."
        )
    if shape.has_levels and not has_twin(shape) and method == "descent":
        raise ModelError(
            f"method 'descent' cannot keep {problem.demands} with activation "
            f"'{shape.activation_names}': use 'auto' or 'exact'."
        )


def check_objectives(problem: Problem[OutputLoss], order: tuple[str, ...]) -> None:
    """Refuse later objectives, whose moves know no rules; the default ones are left out."""
    if order not in (_DEFAULT_OBJECTIVES, ("loss",)):
        raise ModelError(
            f"objectives={order!r} cannot be combined with {problem.demands}: leave objectives "
            "out, or give margins a price by Regularizer(saturated_margin=...)."
        )


def run_within(search: Search, problem: Problem[OutputLoss], *, seconds: float) -> str:
    """Search until proven, stalled or out of time; return why the search ended."""
    recorder = search.recorder
    if problem.architecture.has_levels:
        search.message = "the search knows constraints for steps only, so that the solver ran alone"
        return "feasible"
    slot = recorder.slot(_PHASE, seconds)
    if not wait_until_ready(recorder.slot("load", seconds, until_close=False)):
        search.message = "the compiled search was not loaded when its time was over"
        search.is_compiled = False
        return "time limit"

    def report(network: Network) -> None:
        recorder.offer(network, _PHASE)

    sweeps, walks = _FIRST_SWEEPS, 0
    while not slot.is_over():
        if walks >= _FEWEST_WALKS and recorder.is_stalled(search.patience):
            search.message = "the search ended because more time had stopped paying"
            return "feasible"
        rng = np.random.default_rng(search.spawn_seed())
        starting = slot.part(most=_START_SHARE * seconds)
        start = make_start(problem, _start(search, walks), rng, slot=starting)
        search_within(problem, start, rng=rng, sweeps=sweeps, slot=slot, on_network=report)
        walks += 1
        sweeps = min(_MOST_SWEEPS, sweeps * 3 // 2)
    return "time limit" if recorder.remaining <= 0 else "feasible"


def _start(search: Search, walks: int) -> Start:
    """The user's network or a start first, then the best network and random ones in turn."""
    given, best = search.recorder.given, search.recorder.network
    if walks == 0:
        return search.start if given is None else given
    return best if walks % 2 == 0 and best is not None else "random"
