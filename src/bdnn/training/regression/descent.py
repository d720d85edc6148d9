"""Regression by search alone: greedy building, sweeps of exact moves, kicks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.constraints.regression import ConstrainedRegression
from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.network import Network
from bdnn.regression_problem import RegressionProblem
from bdnn.search.regression.descent import build, check_architecture, draw, kick, sweep
from bdnn.search.regression.refit import refit
from bdnn.search.warm_up import wait_for_regression
from bdnn.solvers.base import AbstractSolver
from bdnn.training.budget import is_number
from bdnn.training.regression.base import RegressionMethod, RegressionRecord
from bdnn.training.regression.levels import level_bound
from bdnn.training.result import Trained

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

    def check_supports(self, problem: RegressionProblem) -> None:
        """Refuse what the search has no moves for."""
        check_architecture(problem)
        if isinstance(problem, ConstrainedRegression):
            raise UnsupportedFeatureError(
                f"the search for regression cannot keep {problem.demands}: use method 'exact' or "
                "'auto'."
            )

    def _train(self, recorder: RegressionRecord, solver: str | AbstractSolver) -> Trained:
        search = RegressionSearch.prepare(recorder, self)
        ended = search.run(seconds=recorder.remaining)
        message = "" if recorder.is_proven else search.message
        return recorder.verdict(self.name, ended=ended, message=message)


class RegressionSearch:
    """A record's search with its random numbers."""

    def __init__(self, recorder: RegressionRecord, patience: float, kicks: int) -> None:
        self.recorder = recorder
        self.patience = patience
        self.kicks = kicks
        self.message = ""
        self.is_compiled = True
        self._rng = np.random.default_rng(recorder.budget.seed)

    @classmethod
    def prepare(cls, recorder: RegressionRecord, method: RegressionDescent) -> RegressionSearch:
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
        deadline = recorder.seconds + seconds - _LAST_PASSES * recorder.pass_seconds
        raise_bound(recorder)

        def wants_stop() -> bool:
            return recorder.heartbeat(_PHASE) or recorder.stopping or recorder.seconds > deadline

        if not wait_for_regression(wants_stop):
            self.is_compiled = False
            self.message = (
                "the compiled search was not loaded when its time was over (the first search on a "
                "machine compiles for about half a minute), so that hidden units were only drawn"
            )
            if not recorder.interrupted:
                recorder.offer(draw(recorder.problem, self._rng), _PHASE)
            return "time limit"
        with threadpool_limits(recorder.budget.threads, "blas"):
            self._search(wants_stop)
        return "time limit" if recorder.seconds > deadline else "feasible"

    def _search(self, wants_stop: Callable[[], bool]) -> None:
        recorder, problem = self.recorder, self.recorder.problem

        def listen(network: Network) -> bool:
            recorder.offer(network, _PHASE)
            return wants_stop()

        if recorder.given is None:
            build(problem, self._rng, listen, wants_stop)
        if not problem.architecture.hidden:
            recorder.offer(refit(problem, self.best), _PHASE)
            return
        begin, quiet = self.best, 0
        while not wants_stop():
            before = problem.loss(begin)
            begin = sweep(problem, begin, self._rng, wants_stop)
            better = recorder.offer(begin, _PHASE)
            if problem.loss(begin) < (1.0 - _WORTHWHILE) * before:
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


def raise_bound(recorder: RegressionRecord) -> None:
    """Take the bound that needs no solver: few units give few different values."""
    bound = level_bound(recorder.problem)
    if bound is not None:
        recorder.improve_bound(bound, "number of levels", "bound")
