"""The problem of one epoch (the paper's problem 5): one activation pattern per cluster.

All batch samples of a cluster follow the same activations. A unit of the first layer is then a
half-space that cuts no cluster, and everything above it sees one input per cluster. With a radius
it cuts no ball around a sample either. It is solved by what is at hand or constructed where that
meets a bound, and by a solver where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from bdnn.bounds.separation import hulls_meet
from bdnn.clock import Slot
from bdnn.mip import DEFAULT_EPS, NetworkModel
from bdnn.mip.starts import networks_of
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver
from bdnn.solvers.result import Limits, Termination
from bdnn.training.limits import Schedule
from bdnn.training.paper.clusters import joint_loss, numbered


@dataclass(frozen=True, eq=False)
class Candidate:
    """A network, and the one with a single hidden layer that it copies, if any.

    Both have the same outputs on every input, so that the cheaper one can be judged.
    """

    network: Network
    shallow: Network | None = None

    @property
    def cheaper(self) -> Network:
        """The one with fewer layers."""
        return self.network if self.shallow is None else self.shallow


@dataclass(frozen=True, eq=False)
class EpochProblem:
    """A batch and the clusters of its inputs."""

    problem: Problem[OutputLoss]  # the batch
    # (n_inputs,): number of the cluster of every input, from 0 without gaps.
    groups: IndexArray

    @classmethod
    def create(cls, batch: Problem[OutputLoss], cluster: IndexArray) -> EpochProblem:
        """Number the clusters that occur in the batch."""
        return cls(batch, numbered(cluster))

    @property
    def n_clusters(self) -> int:
        """Clusters of which the batch has samples."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def label_weight(self) -> FloatArray:
        """Mass of every class in every cluster."""
        return joint_loss(self.problem.loss, self.groups).label_weight

    @property
    def majority_bound(self) -> float:
        """Loss of the best answer for every cluster: no network has less."""
        return float(joint_loss(self.problem.loss, self.groups).conflicts)

    def hull_bound(self, slot: Slot) -> float:
        """Majority loss after clusters are merged that no unit can tell apart.

        A half-space that cuts neither of two clusters whose convex hulls share a point holds both
        or none. Such pairs are joined until there are no more; each is proven in rational numbers.
        """
        groups = self.groups.copy()
        again = True
        while again and not slot.is_over():
            again = False
            numbers = np.unique(groups)
            for place, one in enumerate(numbers):
                for two in numbers[place + 1 :]:
                    ones, twos = groups == one, groups == two
                    if slot.is_over() or not ones.any():
                        break
                    if twos.any() and self._hulls_meet(ones, twos):
                        groups[twos] = one
                        again = True
        return float(joint_loss(self.problem.loss, numbered(groups)).conflicts)

    def is_feasible(self, network: Network) -> bool:
        """Whether a network keeps constraints, and its first layer cuts no cluster and no ball."""
        if not (self.problem.is_feasible(network) and self.problem.holds(network)):
            return False
        return self.patterns(network.activations(self.problem.inputs)[0]) is not None

    def patterns(self, on: BoolArray) -> BoolArray | None:
        """Activations of every cluster, None where inputs of one differ."""
        first = np.unique(self.groups, return_index=True)[1]
        common = on[first]
        return common if bool((on == common[self.groups]).all()) else None

    def _hulls_meet(self, one: BoolArray, two: BoolArray) -> bool:
        X, positive = self.problem.inputs, one[one | two]
        X = X[one | two]
        inside = X[positive], X[~positive]
        if (inside[0].max(axis=0) < inside[1].min(axis=0)).any() or (
            inside[1].max(axis=0) < inside[0].min(axis=0)
        ).any():
            return False
        return hulls_meet(X, positive)


@dataclass(frozen=True, eq=False)
class EpochSolution:
    """The end of an epoch's problem."""

    candidate: Candidate
    # On the batch; the loss is infinite where no network was found that obeys the clusters.
    loss: float
    bound: float
    status: str  # ``optimal`` where loss and bound meet, else why the last attempt ended
    # ``construction``, ``previous`` (the network of the epoch before), ``constant`` (one answer for
    # all) or a solver.
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


#: Makes a network of an epoch that costs no more than a target, if it can.
Construct = Callable[[EpochProblem, np.random.Generator, float, Slot], Candidate | None]


@dataclass
class EpochSolver:
    """Solves the problems of epochs."""

    solver: str | AbstractSolver = "auto"
    threads: int = 1
    seed: int = 0
    eps: float = DEFAULT_EPS
    # Callable (epoch, rng, target, slot) -> Candidate: makes a network that obeys the clusters, see
    # :mod:`bdnn.training.paper.construction`. Without it the solver gets every problem as it is,
    # without bound and start.
    construct: Construct | None = None
    patience: float = math.inf  # seconds for the solver where there is something to start from
    # See :class:`~bdnn.training.limits.Schedule`.
    products_per_second: int = Schedule.products_per_second
    used: str = ""  # the solver that was asked last

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
        if self.construct is None:
            return self._by_solver(epoch, best, slot)
        bound = epoch.majority_bound
        best = replace(best, bound=bound)
        constant = Candidate(epoch.problem.constant_network())
        for candidate, name in ((constant, "constant"), (previous, "previous")):
            if epoch.is_feasible(candidate.network):
                best = best.or_better(epoch, candidate, name)
        if best.status == "optimal":
            return best
        built = self.construct(epoch, rng, bound, slot)
        if built is not None:
            best = best.or_better(epoch, built, "construction")
        if best.status != "optimal" and not slot.is_over():
            best = best.raised(epoch, max(bound, epoch.hull_bound(slot)))
        slot = slot.part(most=self.patience)
        is_large = _size(epoch) > self.products_per_second * slot.remaining
        if best.status == "optimal" or is_large or slot.is_over():
            return best
        return self._by_solver(epoch, best, slot)

    def _by_solver(self, epoch: EpochProblem, best: EpochSolution, slot: Slot) -> EpochSolution:
        model = NetworkModel.build(epoch.problem, groups=epoch.groups, eps=self.eps)
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
