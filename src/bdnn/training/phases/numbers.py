"""Search for numbers: greedy building, sweeps of exact moves with fits of the last layer, kicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.search.loading import wait_for_regression
from bdnn.search.refit import refit
from bdnn.search.regression import build, draw, kick, sweep
from bdnn.training.base import Phase
from bdnn.training.limits import Share, check_positive
from bdnn.training.phases.as_classes import search_for
from bdnn.training.phases.search import NOT_LOADED, PAID
from bdnn.training.run import Run

_PHASE = "search"
# A sweep that gains less than this share of the loss is the last before a kick.
_WORTHWHILE = 1e-4
# Kicks without gain before a search ends, where inputs times units are few.
_MANY_KICKS, _FEW_CELLS = 20, 100


@dataclass(frozen=True, eq=False)
class DescendNumbers(Phase):
    """Search from the user's network or a new one."""

    patience: float  # seconds without a better network after which the search ends
    kicks: int | None = None  # how often to draw some units anew without a better network

    name: ClassVar[str] = _PHASE

    def __post_init__(self) -> None:
        check_positive("patience", self.patience)
        kicks = self.kicks
        if kicks is not None and (not isinstance(kicks, int) or kicks < 0):
            raise ModelError(f"kicks must be 0 or more, got {kicks!r}: raise it.")

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Search, and say why that ended."""
        slot = slot.part(most=slot.remaining - run.schedule.last_passes * run.pass_seconds)
        rng = np.random.default_rng(run.budget.seed)
        if not wait_for_regression(slot, run.problem):
            if not run.interrupted:
                run.offer(draw(run.problem, rng), _PHASE)
            return run.end("time limit", f"{NOT_LOADED}, so that hidden units were only drawn")
        with threadpool_limits(run.budget.threads, "blas"):
            pays = self._search(run, rng, slot)
        run.end("feasible", "" if pays else PAID)

    def _search(self, run: Run[Any], rng: np.random.Generator, slot: Slot) -> bool:
        """Build, then sweep and kick; tell whether that still paid when time was over."""
        problem, kicks = run.problem, self._kicks(run.problem)
        if run.given is None:
            build(problem, rng, lambda network: run.offer(network, _PHASE), slot=slot)
        if not problem.architecture.hidden:
            run.offer(refit(problem, run.best), _PHASE)
            return True
        begin, quiet = run.best, 0
        while not slot.is_over():
            before = problem.value(begin)
            begin = sweep(problem, begin, rng, slot=slot)
            better = run.offer(begin, _PHASE)
            if problem.value(begin) < (1.0 - _WORTHWHILE) * before:
                continue
            quiet = 0 if better else quiet + 1
            if quiet >= kicks or run.is_stalled(self.patience):
                return False
            begin = kick(problem, run.best, rng)
        return True

    def _kicks(self, problem: Problem[Any]) -> int:
        if self.kicks is not None:
            return self.kicks
        cells = len(problem.inputs) * problem.architecture.widths[-2]
        return _MANY_KICKS if cells <= _FEW_CELLS else 1


@search_for.register(DistanceLoss)
def _(loss: DistanceLoss, run: Run[Any], method: Any, share: Share) -> Phase:
    del loss, run
    return DescendNumbers(method.patience, method.kicks, share=share)
