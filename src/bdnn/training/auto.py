"""The method for everyone: search, compare with the bound, solve what is left, widen the margin."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from bdnn.bounds import BoundArgument, FirstOf
from bdnn.mip import DEFAULT_EPS, Reductions
from bdnn.mip.freedom import free_units
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.descent import Descent
from bdnn.training.exact import ExactSolve, program_size
from bdnn.training.run import Run

# Shares of the time limit for the search, the second where all units of a narrow network are listed
# and the bound is worth more time, and for what follows the proof or its attempt.
_SEARCH_SHARE, _LISTED_SEARCH_SHARE = 0.5, 0.35
_MARGIN_SHARE, _VALIDATION_SHARE = 0.1, 0.4
_MOST_MARGIN = 60.0
# Shares of what is then left for the bound of a narrow network. Where its units are listed, solvers
# of the whole program come nowhere near.
_CONFLICT_SHARE, _LISTED_SHARE = 0.5, 0.95
# Beyond this many products a program takes solvers longer to read than anybody waits.
_LARGEST_PROGRAM = 400_000
# A neighbourhood is a whole program again, handed over many times, so it has to be smaller.
_LARGEST_NEIGHBOURHOOD = 100_000
# Numbers in the inputs beyond which exact arithmetic on them takes too long.
_LARGEST_TABLE = 200_000
# Part of a neighbourhood's units that are freed, and seconds for one of them.
_FREED = 0.2
_NEIGHBOURHOOD_SECONDS = 2.0


@dataclass(frozen=True)
class Auto(Descent):
    """Search first; where that is no proof, a solver continues from the search's network.

    The run ends as soon as loss and bound meet. It also ends when neither has improved for
    ``patience`` seconds, or at the time limit. What is left serves the later objectives at the
    loss that was reached.

    Parameters
    ----------
    objectives, wanted_margin, start, patience, refit
        See :class:`~bdnn.training.descent.Descent`.
    reductions : Reductions
        Exact reductions of the program.
    eps : float
        Strictness margin of continuous weights in the program.
    """

    reductions: Reductions = field(default_factory=Reductions)
    eps: float = DEFAULT_EPS

    name: ClassVar[str] = "auto"
    has_nodes: ClassVar[bool] = True

    def _train(self, recorder: Run[OutputLoss], solver: str | AbstractSolver) -> None:
        if solver != "auto":
            get_solver(solver).check_available()
        search = self.prepare(recorder)
        share = _MARGIN_SHARE if search.search_share < 1 else 0.0
        if recorder.validation is not None:
            share = _VALIDATION_SHARE
        reserve = min(share * recorder.budget.seconds, _MOST_MARGIN)
        narrow = _narrow(recorder) if search.is_led_by_loss else None
        part = _SEARCH_SHARE if narrow is None else narrow.search_share
        ended = search.run(seconds=part * recorder.remaining)
        engine, message = "", search.message
        left = recorder.remaining - reserve
        if search.is_rushed:
            left = 0.0
        if narrow is not None and search.is_compiled and not recorder.stopping and left > 0:
            self._rule_out(recorder, narrow, seconds=left)
            left = recorder.remaining - reserve
        if search.is_led_by_loss and not recorder.stopping and left > 0:
            if program_size(recorder.problem) <= _LARGEST_PROGRAM:
                exact = ExactSolve.prepare(recorder, solver, self.reductions, self.eps)
                self._explore(exact, seconds=0.25 * left)
                left = recorder.remaining - reserve
                if not recorder.stopping and left > 0:
                    ended = exact.run(seconds=left, patience=self.patience)
                engine, message = exact.solver_name, exact.message or message
                if ended == "feasible" and not recorder.is_close:
                    message = message or "the run ended because more time had stopped paying"
            else:
                message = "the program is too large for a solver, so that only the search ran"
        recorder.solver = engine
        recorder.end(ended, message)
        # What a choice compares ends by itself; wider margins alone need no more than their share.
        most = math.inf if recorder.validation is not None else max(reserve, 1.0)
        search.refine(seconds=min(recorder.remaining, most))

    def _rule_out(self, recorder: Run[OutputLoss], narrow: _Narrow, *, seconds: float) -> None:
        """Raise the bound of a narrow network, within a share of the seconds that are left."""
        # The bounds of a few more units rise slowly.
        patience = self.patience * (2 if sum(recorder.problem.architecture.hidden) < 4 else 1)
        slot = recorder.slot("bound", min(narrow.share * seconds, patience))
        for bound in narrow.argument.bounds(recorder.problem, slot, recorder.loss):
            recorder.prove(bound, "bound")

    def _explore(self, exact: ExactSolve, *, seconds: float) -> None:
        """Large-neighbourhood moves until one round over the units brings nothing."""
        recorder, model = exact.recorder, exact.model
        problem = recorder.problem
        if not problem.architecture.hidden or program_size(problem) > _LARGEST_NEIGHBOURHOOD:
            return
        deadline = recorder.seconds + seconds
        rng = np.random.default_rng(recorder.budget.seed)
        width = len(model.layers[0].W)
        size = max(1, round(_FREED * width))
        improved = True
        while improved:
            improved = False
            for units in np.array_split(rng.permutation(width), max(1, width // size)):
                start = None if recorder.network is None else model.lift(recorder.network)
                left = min(_NEIGHBOURHOOD_SECONDS, deadline - recorder.seconds)
                if start is None or recorder.stopping or left <= 0.1:
                    return
                recorder.mark("explore")
                program = free_units(model, start, 0, units)
                improved |= exact.improve_within(program, seconds=left)


class _Narrow(NamedTuple):
    """A bound of narrow networks, its share of what the search leaves, and the search's share."""

    argument: BoundArgument
    share: float
    search_share: float


def _narrow(recorder: Run[OutputLoss]) -> _Narrow | None:
    """What proves bounds of a narrow network: a list of all units, or conflicts of samples."""
    problem, budget = recorder.problem, recorder.budget
    if len(problem.architecture.hidden) > 1 or problem.inputs.size > _LARGEST_TABLE:
        return None
    # Imported here, because it loads compiled code that other networks have no use for.
    from bdnn.bounds.benders import Benders
    from bdnn.bounds.half_spaces import HalfSpaces
    from bdnn.bounds.listed.units import ListedUnits

    def offer(network: Network) -> bool:
        return recorder.offer(network, "bound")

    listed = ListedUnits(threads=budget.threads)
    if listed.applies(problem):
        return _Narrow(listed, _LISTED_SHARE, _LISTED_SEARCH_SHARE)
    conflicts = FirstOf(
        (
            Benders(seed=budget.seed, threads=budget.threads, offer=offer),
            HalfSpaces(seed=budget.seed, threads=budget.threads, offer=offer),
        )
    )
    return (
        _Narrow(conflicts, _CONFLICT_SHARE, _SEARCH_SHARE) if conflicts.applies(problem) else None
    )
