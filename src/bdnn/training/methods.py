"""The methods for everyone: by search, by a program, and by both.

Each is a list of phases. Where a search or a solver meets a bound, its network is proven optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bdnn.bounds import FREE, FirstOf
from bdnn.bounds.enumeration import is_one_plane
from bdnn.mip import DEFAULT_EPS, Reductions
from bdnn.network.network import Network
from bdnn.search.starts import Start
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod, Phase, Prove
from bdnn.training.limits import Share
from bdnn.training.paper.alternation import Alternate
from bdnn.training.phases.as_classes import search_for
from bdnn.training.phases.choice import Widen
from bdnn.training.phases.search import Begin, Descend, Search
from bdnn.training.phases.solve import Adapt, Solve
from bdnn.training.run import Run


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
    handles: ClassVar[frozenset[str]] = frozenset({"nodes", "solver"})

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The program, from the network of fewer samples if there is one."""
        solve = Solve(solver, self.reductions, self.eps, share=run.schedule.solve)
        if run.problem.loss.counts_outputs:
            return [Adapt(share=run.schedule.adapt), solve]
        return [Prove(FREE, share=run.schedule.free_bounds), solve]


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

    @property
    def refits(self) -> bool:
        return self.refit

    def phases(self, run: Run[Any], solver: str | AbstractSolver) -> Sequence[Phase]:
        """The search of what the loss is about."""
        del solver
        bounds, loss = Prove(FREE, share=run.schedule.free_bounds), run.problem.loss
        if not loss.counts_outputs:
            return [bounds, search_for(loss, run, self, Share())]
        search = Search(run, self.objectives, self.wanted_margin, self.start, self.patience)
        share = run.schedule.lone_search if search.widens else Share()
        return [
            bounds,
            Begin(search, share=share),
            Descend(search, share=share),
            *([Widen(search)] if run.problem.is_free else []),
        ]


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
        bounds = Prove(FREE, share=run.schedule.free_bounds)
        shape, loss = run.problem.architecture, run.problem.loss
        if not loss.counts_outputs:
            share = run.schedule.search if solve.is_worthwhile(run) else Share()
            return [bounds, search_for(loss, run, self, share), solve]
        if loss.pattern is not None and not shape.has_levels:
            alone = replace(solve, patience=None)
            if not shape.hidden or run.earlier is not None:
                return [bounds, alone]
            # The program alone would begin, and mostly end, with a constant network.
            alternate = Alternate(solver, eps=self.eps, share=run.schedule.alternate)
            return [bounds, alternate, alone]
        planes = plane_bound(run) if self.objectives[0] == "loss" else []
        return [*planes, bounds, *self._of_outputs(run, solve)]

    def _of_outputs(self, run: Run[Any], solve: Solve) -> list[Phase]:
        schedule = run.schedule
        search = Search(run, self.objectives, self.wanted_margin, self.start, self.patience)
        narrow, is_listed = None, False
        if search.loss_is_primary:
            narrow, is_listed = narrow_bound(run, self.patience)
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
        if run.problem.is_free:
            phases.append(Widen(search, reserve=reserve, share=last))
        return phases


def plane_bound(run: Run[Any]) -> list[Phase]:
    """Find the best plane of few dimensions, where that is all a network is, and prove it."""
    shape = run.problem.architecture
    if not is_one_plane(shape) or shape.weights[0].integer or run.validation is not None:
        return []
    # Imported here, because it loads compiled code that other networks have no use for.
    from bdnn.bounds.one_plane import OnePlane

    argument = OnePlane(offer=lambda network: run.offer(network, Prove.name))
    return [Prove(argument, share=run.schedule.planes)]


def narrow_bound(run: Run[Any], patience: float) -> tuple[Prove | None, bool]:
    """Raise the bound of a narrow network: by a list of all units, or conflicts of samples.

    Also tells whether all units are listed, so that the bound is worth more time than a search.
    """
    problem, budget, schedule = run.problem, run.budget, run.schedule
    shape = problem.architecture
    if len(shape.hidden) > 1 or problem.inputs.size > schedule.largest_table:
        return None, False
    # Imported here, because it loads compiled code that other networks have no use for.
    from bdnn.bounds.benders import Benders
    from bdnn.bounds.half_spaces import HalfSpaces
    from bdnn.bounds.listed.units import ListedUnits

    def offer(network: Network) -> bool:
        return run.offer(network, Prove.name)

    # The bounds of a few more units rise slowly.
    patience *= 2 if sum(shape.hidden) < 4 else 1
    listed = ListedUnits(threads=budget.threads)
    if listed.applies(problem):
        return Prove(listed, share=Share(schedule.listed_bound.part, most=patience)), True
    options: dict[str, Any] = {"seed": budget.seed, "threads": budget.threads, "offer": offer}
    conflicts = FirstOf((Benders(**options), HalfSpaces(**options)))
    return Prove(conflicts, share=Share(schedule.conflict_bound.part, most=patience)), False
