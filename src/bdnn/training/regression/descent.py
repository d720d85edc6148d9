"""Regression by search alone: greedy building, sweeps of exact moves, kicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.bounds import FREE
from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.search.loading import wait_for_regression
from bdnn.search.refit import refit
from bdnn.search.regression import build, draw, kick, sweep
from bdnn.solvers.base import AbstractSolver
from bdnn.training.limits import is_number
from bdnn.training.regression.base import RegressionMethod, RegressionRun

_PHASE = "search"
# A sweep that gains less than this share of the loss is the last before a kick.
_WORTHWHILE = 1e-4
# Forward passes over all samples after the last moment at which a search can stop.
_LAST_PASSES = 4
# Kicks without gain before a search ends, where inputs times units are few.
_MANY_KICKS, _FEW_CELLS = 20, 100


@dataclass(frozen=True)
class RegressionDescent(RegressionMethod):
    """Search by exact moves of units and fits of the last layer.

    Parameters
    ----------
    patience : float
        Seconds without a better network after which the search ends.
    kicks : int, optional
        How often to draw some units anew without a better network before the search ends. By
        default 20 times where that costs next to nothing, and once elsewhere: a little less loss
        on many training samples does not predict new ones better.
    """

    patience: float = 5.0
    kicks: int | None = None

    name: ClassVar[str] = "descent"

    def _train(self, recorder: RegressionRun, solver: str | AbstractSolver) -> None:
        search = RegressionSearch.prepare(recorder, self)
        ended = search.run(seconds=recorder.remaining)
        recorder.end(ended, search.message)


class RegressionSearch:
    """A record's search with its random numbers."""

    def __init__(self, recorder: RegressionRun, patience: float, kicks: int) -> None:
        self.recorder = recorder
        self.patience = patience
        self.kicks = kicks
        self.message = ""
        self.is_compiled = True
        self._rng = np.random.default_rng(recorder.budget.seed)

    @classmethod
    def prepare(cls, recorder: RegressionRun, method: RegressionDescent) -> RegressionSearch:
        """Check the settings of a method."""
        if not is_number(method.patience) or not method.patience > 0:
            raise ModelError(f"patience must be positive, got {method.patience!r}: raise it.")
        kicks, problem = method.kicks, recorder.problem
        if kicks is None:
            cells = len(problem.inputs) * problem.architecture.widths[-2]
            kicks = _MANY_KICKS if cells <= _FEW_CELLS else 1
        if not isinstance(kicks, int) or kicks < 0:
            raise ModelError(f"kicks must be 0 or more, got {kicks!r}: raise it.")
        return cls(recorder, method.patience, kicks)

    def run(self, *, seconds: float) -> str:
        """Search from the user's network or a new one; return why the search ended."""
        recorder = self.recorder
        slot = recorder.slot(_PHASE, seconds - _LAST_PASSES * recorder.pass_seconds)
        raise_bound(recorder)
        if not wait_for_regression(slot, recorder.problem):
            self.is_compiled = False
            self.message = (
                "the compiled search was not loaded when its time was over (the first search on a "
                "machine compiles for about half a minute), so that hidden units were only drawn"
            )
            if not recorder.interrupted:
                recorder.offer(draw(recorder.problem, self._rng), _PHASE)
            return "time limit"
        with threadpool_limits(recorder.budget.threads, "blas"):
            self._search(slot)
        return "time limit" if slot.remaining <= 0 else "feasible"

    def _search(self, slot: Slot) -> None:
        recorder, problem = self.recorder, self.recorder.problem

        if recorder.given is None:
            build(problem, self._rng, lambda network: recorder.offer(network, _PHASE), slot=slot)
        if not problem.architecture.hidden:
            recorder.offer(refit(problem, self.best), _PHASE)
            return
        begin, quiet = self.best, 0
        while not slot.is_over():
            before = problem.value(begin)
            begin = sweep(problem, begin, self._rng, slot=slot)
            better = recorder.offer(begin, _PHASE)
            if problem.value(begin) < (1.0 - _WORTHWHILE) * before:
                continue
            quiet = 0 if better else quiet + 1
            if quiet >= self.kicks or recorder.is_stalled(self.patience):
                self.message = "the search ended because more time had stopped paying"
                return
            begin = kick(problem, self.best, self._rng)

    @property
    def best(self) -> Network:
        """The network at hand."""
        network = self.recorder.network
        return self.recorder.problem.constant_network() if network is None else network


def raise_bound(recorder: RegressionRun) -> None:
    """Take the bounds that need no solver."""
    for bound in FREE.bounds(recorder.problem, recorder.slot("bound"), recorder.loss):
        recorder.prove(bound, "bound")
