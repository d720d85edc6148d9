"""The methods for everyone: by search, by a program, and by both.

Each is a list of phases per family of losses. Where a search or a solver meets a bound, its network
is proven optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bdnn.mip import DEFAULT_EPS, Reductions
from bdnn.search.starts import Start
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.driver import Phase
from bdnn.training.gradients import Learn
from bdnn.training.paper.alternation import Alternate
from bdnn.training.phases.bounds import FreeBounds, NarrowBounds, PlaneBounds
from bdnn.training.phases.numbers import DescendNumbers
from bdnn.training.phases.search import Adapt, Begin, Descend, Search
from bdnn.training.phases.solve import Solve, program_size
from bdnn.training.phases.widen import Choose, Widen
from bdnn.training.phases.worst_case import DescendWorstCase
from bdnn.training.run import Run
from bdnn.training.schedule import Share


@dataclass(frozen=True)
class Exact(AbstractMethod):
    """Solve the whole training problem as one mixed-integer program.

    Parameters
    ----------
    reductions : Reductions
        Exact reductions of the model, used where they are valid.
    eps : float
        Strictness margin of continuous weights, see :meth:`~bdnn.mip.NetworkModel.build`.
    """

    reductions: Reductions = field(default_factory=Reductions)
    eps: float = DEFAULT_EPS

    name: ClassVar[str] = "exact"
    handles: ClassVar[frozenset[str]] = frozenset(
        {"classes", "numbers", "guarantees", "nodes", "solver"}
    )

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The program, from the network of fewer samples if there is one."""
        solve = Solve(solver, self.reductions, self.eps, share=run.schedule.solve)
        if run.problem.loss.family == "numbers":
            return [FreeBounds(share=run.schedule.free_bounds), solve, Choose()]
        return [Adapt(share=run.schedule.adapt), solve, Choose()]


@dataclass(frozen=True)
class Descent(AbstractMethod):
    """Search by exact moves.

    Nothing here needs a solver, and the cost of a sweep is nearly linear in the samples, so that
    this is the method for large data.

    Parameters
    ----------
    objectives : sequence of {"loss", "error", "margin", "smallest_margin", "sparsity"}
        What to minimise, most important first, for classes. The margin is what generalises.
    wanted_margin : float, optional
        Output margin beyond which nothing is gained, in units of weights; grows with the width by
        default. For guarantees it is the margin in the worst case.
    start : {"straight_through", "random", "linear"}
        Where the search for classes begins if no network is given.
    patience : float
        Seconds without a better network after which the search ends.
    refit : bool
        Where samples are held out for validation: whether they only show how to train, and the
        network is then trained that way on all samples. If not, it is the best one of those trained
        without them. So it is under constraints and for guarantees, too.
    kicks : int, optional
        For numbers: how often to draw some units anew without a better network before the search
        ends. By default 20 times where that costs next to nothing, and once elsewhere: a little
        less loss on many training samples does not predict new ones better.
    """

    objectives: Sequence[str] = ("loss", "margin")
    wanted_margin: float | None = None
    start: Start = "straight_through"
    patience: float = 5.0
    refit: bool = True
    kicks: int | None = None

    name: ClassVar[str] = "descent"
    handles: ClassVar[frozenset[str]] = frozenset({"classes", "numbers", "guarantees", "margins"})

    @property
    def refits(self) -> bool:
        """Whether a choice by validation ends with training on all samples."""
        return self.refit

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The search of what the loss is about."""
        del solver
        bounds, family = FreeBounds(share=run.schedule.free_bounds), run.problem.loss.family
        if family == "numbers":
            return [bounds, DescendNumbers(self.patience, self.kicks), Choose()]
        if family == "guarantees":
            return [bounds, self._worst_case(run, Share()), Choose()]
        search = Search(run, self.objectives, self.wanted_margin, self.start, self.patience)
        share = run.schedule.lone_search if search.widens else Share()
        return [
            bounds,
            Begin(search, share=share),
            Descend(search, share=share),
            Widen(search) if run.is_free else Choose(),
        ]

    def _worst_case(self, run: Run[Any], share: Share) -> Phase:
        """Raise the worst leads where these are known, and wide margins elsewhere."""
        if run.problem.loss.has_leads(run.problem.architecture):
            return DescendWorstCase(self.wanted_margin, self.patience, share=share)
        return Learn.of(run, self.wanted_margin)


@dataclass(frozen=True)
class Auto(Descent):
    """Search first; where that is no proof, a solver continues from the search's network.

    The run ends as soon as loss and bound meet. It also ends when neither has improved for
    ``patience`` seconds, or at the time limit. What is left serves the later objectives at the
    loss that was reached.

    Parameters
    ----------
    objectives, wanted_margin, start, patience, refit, kicks
        See :class:`Descent`.
    reductions : Reductions
        Exact reductions of the program.
    eps : float
        Strictness margin of continuous weights in the program.
    """

    reductions: Reductions = field(default_factory=Reductions)
    eps: float = DEFAULT_EPS

    name: ClassVar[str] = "auto"
    handles: ClassVar[frozenset[str]] = Descent.handles | {"nodes", "solver"}

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """Search and program of what the loss is about, with bounds around them."""
        solve = Solve(
            solver, self.reductions, self.eps, patience=self.patience, share=run.schedule.solve
        )
        bounds = FreeBounds(share=run.schedule.free_bounds)
        shape = run.problem.architecture
        if run.robust is not None and run.problem.loss.family == "classes" and not shape.has_levels:
            alone = replace(solve, patience=None)
            if not shape.hidden or run.earlier is not None:
                return [bounds, alone, Choose()]
            # The program alone would begin, and mostly end, with a constant network.
            alternate = Alternate(solver, eps=self.eps, share=run.schedule.alternate)
            return [bounds, alternate, alone, Choose()]
        lists = {
            "classes": self._of_classes,
            "numbers": self._of_numbers,
            "guarantees": self._of_guarantees,
        }
        family = run.problem.loss.family
        is_led_by_loss = family == "classes" and self.objectives[0] == "loss"
        planes = PlaneBounds.create(run) if is_led_by_loss else None
        first = [bounds] if planes is None else [planes, bounds]
        return [*first, *lists[family](run, solve)]

    def _of_classes(self, run: Run[Any], solve: Solve) -> list[Phase]:
        schedule = run.schedule
        search = Search(run, self.objectives, self.wanted_margin, self.start, self.patience)
        narrow = NarrowBounds.create(run, self.patience) if search.is_led_by_loss else None
        is_listed = narrow is not None and narrow.is_listed
        share = schedule.listed_search if is_listed else schedule.search
        kept = schedule.choose if run.validation is not None else schedule.widen
        limit = run.budget.seconds
        reserve = kept.seconds(left=limit, limit=limit) if search.widens else 0.0
        # What a choice compares ends by itself; wider margins alone need no more than their share.
        widening = Share(most=max(reserve, schedule.least_widening))
        last = Share() if run.validation is not None else widening
        phases: list[Phase] = [Begin(search, share=share), Descend(search, share=share)]
        if narrow is not None:
            phases.append(replace(narrow, when=lambda: search.is_compiled and search.wants_proof))
        phases.append(replace(solve, when=lambda: search.wants_proof))
        if not run.is_free:
            return [*phases, Choose()]
        return [*phases, Widen(search, reserve=reserve, share=last)]

    def _of_numbers(self, run: Run[Any], solve: Solve) -> list[Phase]:
        is_small = program_size(run.problem) <= run.schedule.largest_programs["numbers"]
        share = run.schedule.search if is_small else Share()
        descend = DescendNumbers(self.patience, self.kicks, share=share)
        return [descend, solve, Choose()]

    def _of_guarantees(self, run: Run[Any], solve: Solve) -> list[Phase]:
        search = self._worst_case(run, run.schedule.search)
        has_program = run.problem.loss.has_leads(run.problem.architecture)
        return [search, *([solve] if has_program else []), Choose()]
