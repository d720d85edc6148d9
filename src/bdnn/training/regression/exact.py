"""Regression to proven optimality by a mixed-integer program, or by a row of them.

Squared losses are quadratic programs. For solvers without squares the squares are held from below
by tangents: solve, take the true loss of the network, add tangents where the solution lies, and
solve again, until the bound of the relaxation meets the loss of the best network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.bounds.lattice import solver_bound
from bdnn.mip import DEFAULT_EPS, NetworkModel
from bdnn.mip.regression import DistanceObjective
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.search.refit import refit
from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.registry import get_solver
from bdnn.solvers.result import Limits, SolveResult, SolverEvent, Termination
from bdnn.training.regression.base import RegressionMethod, RegressionRun
from bdnn.training.regression.descent import raise_bound

_PHASE = "solve"
_NO_ANSWER = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.FAILED)
# The part of a time limit kept for reading and checking the last solution.
_RESERVE = 0.02
# What building a program and handing it to a solver takes, on a slow day.
_PRODUCTS_PER_SECOND = 1_500_000
# Where the first tangents touch, in standard deviations of the targets and of the weights' range.
_FIRST_TOUCH = (-1.5, -0.5, 0.5, 1.5)
# Networks of a round at which tangents touch too.
_MOST_TOUCHED = 8


@dataclass(frozen=True)
class RegressionExact(RegressionMethod):
    """Solve the whole regression problem as a mixed-integer program.

    Parameters
    ----------
    eps : float
        Strictness margin of continuous weights of hidden layers.
    """

    eps: float = DEFAULT_EPS

    name: ClassVar[str] = "exact"
    has_nodes: ClassVar[bool] = True

    def _train(self, recorder: RegressionRun, solver: str | AbstractSolver) -> None:
        raise_bound(recorder)
        if recorder.stopping:
            return recorder.end(Termination.TIME_LIMIT.value)
        if program_size(recorder.problem) > _PRODUCTS_PER_SECOND * recorder.remaining:
            steps = " and step units" if recorder.problem.architecture.has_levels else ""
            return recorder.end(
                Termination.TIME_LIMIT.value,
                "the program is too large to be handed to a solver in this time, so that "
                f"only a constant network or the start is returned: use method 'descent'{steps}",
            )
        exact = RegressionSolve.prepare(recorder, solver, self.eps)
        ended = exact.run(seconds=recorder.remaining)
        recorder.solver = exact.solver_name
        recorder.end(ended, exact.message)


def program_size(problem: Problem[DistanceLoss]) -> int:
    """Number of products of a weight with an input, of which the rows of the program are made."""
    return problem.architecture.n_products * len(problem.inputs)


def choose_engine(
    problem: Problem[DistanceLoss], solver: str | AbstractSolver, *, threads: int, seed: int
) -> AbstractSolver:
    """Take the wanted solver, or HiGHS, which every installation has."""
    name = "highs" if solver == "auto" else solver
    engine = get_solver(name, threads=threads, seed=seed)
    engine.check_available()
    return engine


class RegressionSolve:
    """A record's problem as a program with a solver, to be run once.

    Whatever the solver finds is read into a network, its last layer is fitted exactly, and the
    forward pass judges it.
    """

    def __init__(
        self,
        recorder: RegressionRun,
        model: NetworkModel[DistanceObjective],
        engine: AbstractSolver,
    ) -> None:
        self.recorder = recorder
        self.model = model
        self.engine = engine
        self.message = ""
        self.rounds = 0
        self._seen: list[Network] = []

    @classmethod
    def prepare(
        cls, recorder: RegressionRun, solver: str | AbstractSolver, eps: float
    ) -> RegressionSolve:
        """Build the model for a solver that can handle it."""
        budget, problem = recorder.budget, recorder.problem
        recorder.mark("build")
        engine = choose_engine(problem, solver, threads=budget.threads, seed=budget.seed)
        tangents = (
            problem.loss.kind == "squared" and Feature.QUADRATIC_OBJECTIVE not in engine.features
        )
        model = NetworkModel.build(problem, tangents=tangents, eps=eps)
        engine.check_supports(model.program)
        return cls(recorder, model, engine)

    @property
    def solver_name(self) -> str:
        """Name and version of the solver."""
        return f"{self.engine.name} {self.engine.version()}"

    @property
    def tangents(self) -> bool:
        """Whether squares are held by tangents."""
        return self.model.loss.e is not None and self.model.loss.f is not None

    @property
    def bound_origin(self) -> str:
        """What proves the solver's bounds."""
        origin = f"solver {self.engine.name}"
        if self.tangents:
            origin += " with tangents"
        return origin

    def run(self, *, seconds: float, patience: float | None = None) -> str:
        """Solve from the record's best network; return why the solver ended."""
        recorder = self.recorder
        nodes = recorder.budget.nodes
        recorder.mark(_PHASE)
        if self.tangents:
            self._first_tangents()
        began, gave_up = recorder.seconds, False

        def gives_up() -> bool:
            nonlocal gave_up
            gave_up = recorder.is_stalled(patience, since=began)
            return gave_up

        slot = recorder.slot(_PHASE, seconds * (1 - _RESERVE)).until(gives_up)
        while True:
            self.rounds += 1
            outcome = self.engine.solve(
                self.model.program,
                limits=Limits(
                    gap=recorder.budget.gap,
                    absolute_gap=0.25 * float(recorder.problem.loss.tolerance),
                    nodes=nodes,
                ),
                start=self._start(),
                on_event=self._listen,
                slot=slot,
            )
            self._conclude(outcome)
            ended = outcome.termination
            if ended is Termination.INTERRUPTED and gave_up:
                return "feasible"
            if ended is Termination.INTERRUPTED and not recorder.is_close:
                recorder.interrupted = True
            if ended in _NO_ANSWER:
                return "feasible"
            if ended not in (Termination.OPTIMAL, Termination.GAP_LIMIT):
                return str(ended.value)
            if not self.tangents or recorder.is_close or outcome.solution is None:
                return "feasible"
            if slot.remaining <= 0:
                return Termination.TIME_LIMIT.value
            if nodes is not None and (nodes := nodes - outcome.nodes) <= 0:
                return Termination.NODE_LIMIT.value
            if not self._cut(outcome.solution):
                return "feasible"

    def _first_tangents(self) -> None:
        """Begin with tangents at a few fixed points and at the best network."""
        loss, problem = self.model.loss, self.recorder.problem
        spread = 1.0 / np.sqrt(problem.loss.price)
        limit = float(self.model.layers[-1].weights.limit)
        for touch in _FIRST_TOUCH:
            residuals = np.broadcast_to(touch * spread, loss.targets.shape)
            loss.add_tangents(residuals, np.full(loss.a.shape, touch / 1.5 * limit))
        start = self._start()
        if start is not None:
            self._cut(start)

    def _cut(self, x: FloatArray) -> bool:
        """Add the tangents at a point and at the newest networks; tell whether it is cut off."""
        loss = self.model.loss
        if loss.e is None or loss.f is None:
            return False
        below = self.model.program.objective(x)
        points = [x, *(self.model.lift(network) for network in self._seen[-_MOST_TOUCHED:])]
        self._seen.clear()
        for point in points:
            if point is not None:
                loss.add_tangents(point[loss.e], point[loss.a])
        return loss.true_value(x) > below + 1e-3 * float(self.recorder.problem.loss.tolerance)

    def _start(self) -> FloatArray | None:
        network = self.recorder.network
        return None if network is None else self.model.lift(network)

    def _listen(self, event: SolverEvent) -> bool:
        if event.solution is not None:
            self._judge(event.solution)
        self._improve_bound(event.bound)
        return self.recorder.interrupted or self.recorder.is_close

    def _improve_bound(self, bound: float) -> None:
        if math.isfinite(bound):
            found = solver_bound(
                self.recorder.problem, bound, self.bound_origin, margin=self.model.margin
            )
            self.recorder.prove(found, _PHASE)

    def _judge(self, solution: FloatArray) -> Network:
        """Offer a solution's network with the best last layer for its activations."""
        network = refit(self.recorder.problem, self.model.read(solution))
        self.recorder.offer(network, _PHASE)
        self._seen.append(network)
        return network

    def _conclude(self, outcome: SolveResult) -> None:
        """Take over the solver's last solution and bound; say so if they do not fit together."""
        recorder = self.recorder
        if outcome.solution is not None:
            network = self._judge(outcome.solution)
            true = self.model.loss.true_value(outcome.solution)
            if recorder.problem.value(network) > true + float(recorder.problem.loss.tolerance):
                self.message = (
                    f"the solver claimed a loss of {true:g}, which its network does not have; "
                    f"{recorder.loss:g} is what the forward pass gives"
                )
        if outcome.termination is not Termination.INFEASIBLE:
            self._improve_bound(outcome.bound)
        if outcome.termination in _NO_ANSWER:
            self.message = f"the solver ended without an answer ({outcome.message})"
