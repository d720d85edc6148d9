"""Search for numbers: greedy building, sweeps of exact moves with fits of the last layer, kicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.search.regression.descent import build, draw, kick, sweep
from bdnn.search.regression.refit import refit
from bdnn.search.starts import as_levels, of_steps
from bdnn.search.warm_up import wait_for_regression
from bdnn.training.driver import Phase
from bdnn.training.limits import check_positive
from bdnn.training.phases.search import NOT_LOADED, PAID, projected
from bdnn.training.run import Run

_PHASE = "search"
# A sweep that gains less than this share of the loss is the last before a kick.
_WORTHWHILE = 1e-4
# Kicks without gain before a search ends, where inputs times units are few.
_MANY_KICKS, _FEW_CELLS = 20, 100


def has_moves(problem: Problem[Any]) -> bool:
    """Tell whether the search knows networks of this shape; shared thresholds tie all units."""
    shape = problem.architecture
    return shape.thresholds == "neuron" or (shape.thresholds == "zero" and not shape.has_levels)


@dataclass(frozen=True, eq=False)
class DescendNumbers(Phase):
    """Search from the user's network or a new one.

    Units of other values begin as steps, which they can copy. Constraints are kept by moving
    weights to where they may be, and a solver goes on from there.

    Parameters
    ----------
    patience : float
        Seconds without a better network after which the search ends.
    kicks : int or None
        How often to draw some units anew without a better network.
    """

    patience: float
    kicks: int | None = None

    name: ClassVar[str] = _PHASE

    def __post_init__(self) -> None:
        check_positive("patience", self.patience)
        kicks = self.kicks
        if kicks is not None and (not isinstance(kicks, int) or kicks < 0):
            raise ModelError(f"kicks must be 0 or more, got {kicks!r}: raise it.")

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there are moves for the architecture."""
        return has_moves(run.problem)

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Search, and say why that ended."""
        slot = slot.part(most=slot.remaining - run.schedule.last_passes * run.pass_seconds)
        walk = _Walk(run)
        if not wait_for_regression(slot):
            if not run.interrupted:
                walk.offer(draw(walk.problem, walk.rng))
            return run.end("time limit", f"{NOT_LOADED}, so that hidden units were only drawn")
        with threadpool_limits(run.budget.threads, "blas"):
            pays = walk.search(self._kicks(run.problem), self.patience, slot)
        run.end("feasible", "" if pays else PAID)

    def _kicks(self, problem: Problem[Any]) -> int:
        if self.kicks is not None:
            return self.kicks
        cells = len(problem.inputs) * problem.architecture.widths[-2]
        return _MANY_KICKS if cells <= _FEW_CELLS else 1


class _Walk:
    """A search among networks of steps without constraints, each offered as it is asked for."""

    def __init__(self, run: Run[Any]) -> None:
        self.run, self.rng = run, np.random.default_rng(run.budget.seed)
        is_plain = not run.problem.architecture.has_levels
        plain: Problem[Any] = run.problem if is_plain else of_steps(run.problem)
        self.problem = plain.with_terms(()) if run.problem.terms else plain
        self.best = run.best if is_plain else self.problem.constant_network()
        self.loss = self.problem.value(self.best)

    def offer(self, network: Network) -> bool:
        """Offer a network, and tell whether it is the best of the walk."""
        shape, asked = self.run.problem.architecture, network
        if shape.has_levels:
            asked = as_levels(network, shape)
        if self.run.problem.terms:
            asked = projected(self.run.problem, asked, self.rng)
        if asked is not network:
            asked = refit(self.run.problem, asked)
        self.run.offer(asked, _PHASE)
        value = self.problem.value(network)
        is_better = value < self.loss
        if is_better:
            self.best, self.loss = network, value
        return is_better

    def search(self, kicks: int, patience: float, slot: Slot) -> bool:
        """Build, then sweep and kick; tell whether that still paid when time was over."""
        run, problem, rng = self.run, self.problem, self.rng
        if run.given is None:
            build(problem, rng, self.offer, slot=slot)
        if not problem.architecture.hidden:
            self.offer(refit(problem, self.best))
            return True
        begin, quiet = self.best, 0
        while not slot.is_over():
            before = problem.value(begin)
            begin = sweep(problem, begin, rng, slot=slot)
            better = self.offer(begin)
            if problem.value(begin) < (1.0 - _WORTHWHILE) * before:
                continue
            quiet = 0 if better else quiet + 1
            if quiet >= kicks or run.is_stalled(patience):
                return False
            begin = kick(problem, self.best, rng)
        return True
