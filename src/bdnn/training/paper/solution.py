"""An epoch's problem solved: the bound, then a construction, then a solver where they differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from bdnn.clock import Slot
from bdnn.mip import DEFAULT_EPS, NetworkModel
from bdnn.mip.repair import networks_of
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver
from bdnn.solvers.result import Limits, Termination
from bdnn.training.paper.construction import construct
from bdnn.training.paper.epoch import Candidate, EpochProblem

# What building a program and handing it to a solver takes, on a slow day.
_PRODUCTS_PER_SECOND = 1_500_000


@dataclass(frozen=True, eq=False)
class EpochSolution:
    """The end of an epoch's problem.

    Parameters
    ----------
    candidate : Candidate
    loss, bound : float
        On the batch; the loss is infinite where no network was found that obeys the clusters.
    status : str
        ``optimal`` where loss and bound meet, else why the last attempt ended.
    solved_by : str
        ``construction``, ``previous`` (the network of the epoch before), ``constant`` (one answer
        for all) or a solver.
    """

    candidate: Candidate
    loss: float
    bound: float
    status: str
    solved_by: str

    @classmethod
    def joined(cls, parts: list[EpochSolution]) -> EpochSolution:
        """The solutions of an epoch's batches as one: the last network, and sums."""
        last = parts[-1]
        if len(parts) == 1:
            return last
        worst = [part for part in parts if part.status != "optimal"]
        names = dict.fromkeys(part.solved_by for part in parts)
        return cls(
            last.candidate,
            sum(part.loss for part in parts),
            sum(part.bound for part in parts),
            worst[-1].status if worst else "optimal",
            "+".join(names),
        )

    def or_better(self, epoch: EpochProblem, candidate: Candidate, by: str) -> EpochSolution:
        """The new network if it costs no more."""
        loss = float(epoch.problem.objective(candidate.network))
        if loss > self.loss:
            return self
        return EpochSolution(candidate, loss, self.bound, "feasible", by).raised(epoch, self.bound)

    def raised(self, epoch: EpochProblem, bound: float) -> EpochSolution:
        """The same with a better bound; optimal where loss and bound meet."""
        is_met = epoch.problem.is_close(self.loss, bound)
        return replace(self, bound=bound, status="optimal" if is_met else self.status)


@dataclass
class EpochSolver:
    """Solves the problems of epochs.

    Parameters
    ----------
    solver : str or AbstractSolver
    threads, seed : int
    eps : float
    construct : bool
        Without it the solver gets every problem as it is, without bound and start.
    patience : float
        Seconds for the solver where there is something to start from.
    used : str
        The solver that was asked last.
    """

    solver: str | AbstractSolver = "auto"
    threads: int = 1
    seed: int = 0
    eps: float = DEFAULT_EPS
    construct: bool = True
    patience: float = math.inf
    used: str = ""

    def solve(
        self,
        epoch: EpochProblem,
        previous: Candidate,
        *,
        rng: np.random.Generator,
        slot: Slot,
    ) -> EpochSolution:
        """Solve one problem; where nothing obeys its clusters the previous network is returned."""
        best = EpochSolution(previous, np.inf, 0.0, "infeasible", "previous")
        if not self.construct:
            return self._by_solver(epoch, best, slot)
        bound = epoch.majority_bound
        best = replace(best, bound=bound)
        constant = Candidate(epoch.problem.constant_network())
        for candidate, name in ((constant, "constant"), (previous, "previous")):
            if epoch.is_feasible(candidate.network):
                best = best.or_better(epoch, candidate, name)
        if best.status == "optimal":
            return best
        built = construct(epoch, rng=rng, target=bound, slot=slot)
        if built is not None:
            best = best.or_better(epoch, built, "construction")
        if best.status != "optimal" and not slot.is_over():
            best = best.raised(epoch, max(bound, epoch.hull_bound(slot)))
        slot = slot.part(most=self.patience)
        is_large = _size(epoch) > _PRODUCTS_PER_SECOND * slot.remaining
        if best.status == "optimal" or is_large or slot.is_over():
            return best
        return self._by_solver(epoch, best, slot)

    def _by_solver(self, epoch: EpochProblem, best: EpochSolution, slot: Slot) -> EpochSolution:
        model = NetworkModel.build(
            epoch.problem, groups=epoch.groups, eps=self.eps, robust=epoch.robust
        )
        engine = choose_solver(model.program, self.solver, threads=self.threads, seed=self.seed)
        self.used = f"{engine.name} {engine.version()}"
        outcome = engine.solve(
            model.program,
            limits=Limits(absolute_gap=max(1e-6, 0.999 * model.loss.step)),
            start=model.lift(best.candidate.network) if np.isfinite(best.loss) else None,
            slot=slot,
        )
        for network in networks_of(model, outcome):
            if epoch.is_feasible(network) and epoch.problem.objective(network) < best.loss:
                best = best.or_better(epoch, Candidate(network), engine.name)
        bound = best.bound
        if outcome.termination is not Termination.INFEASIBLE:
            bound = max(bound, model.loss.round_up(outcome.bound))
        best = best.raised(epoch, min(bound, best.loss))
        return best if best.status == "optimal" else replace(best, status=outcome.termination.value)


def _size(epoch: EpochProblem) -> int:
    """Products of a weight with an input, of which the rows of the program are made."""
    widths = epoch.problem.architecture.widths
    first = len(epoch.problem.inputs) * widths[0] * widths[1]
    above = sum(a * b for a, b in pairwise(widths[1:]))
    return first + epoch.n_clusters * above
