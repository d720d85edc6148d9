"""Training to proven optimality by one mixed-integer program (paper, Lemma 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from bdnn.bounds.lattice import solver_bound
from bdnn.mip import DEFAULT_EPS, NetworkModel, Reductions, Robust
from bdnn.mip.loss import OutputObjective
from bdnn.mip.repair import explain_conflict, repair
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.solvers.result import Limits, SolveResult, SolverEvent, Termination
from bdnn.training.base import AbstractMethod
from bdnn.training.discrete import check_levels
from bdnn.training.incremental import improve_earlier
from bdnn.training.robust import promised
from bdnn.training.run import Run

_PHASE = "solve"
# A program may have no solution where no weights keep its margin; training has a network anyway.
_NO_ANSWER = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.FAILED)
# The part of a time limit kept for reading and checking the last solution.
_RESERVE = 0.02
# What building a program and handing it to a solver takes, on a slow day.
_PRODUCTS_PER_SECOND = 1_500_000


@dataclass(frozen=True)
class Exact(AbstractMethod):
    """Solve the whole training problem as one mixed-integer program.

    Parameters
    ----------
    reductions : Reductions
        Exact reductions of the model, used where they are valid.
    eps : float
        Strictness margin of continuous weights, see :meth:`~bdnn.mip.NetworkModel.build`.
    robust_radius : float, sequence of float or None
        With a radius no first-layer activation of a training input changes for any perturbation
        of that length: one for all, or one per distinct input. It is measured from scaled inputs
        on their grid.
    robust_norm : {"linf", "l1", "l2"}
        Of these perturbations; ``l2`` needs a solver of second-order cones, as all but CP-SAT are.
    """

    reductions: Reductions = field(default_factory=Reductions)
    eps: float = DEFAULT_EPS
    robust_radius: float | Sequence[float] | None = None
    robust_norm: str = "linf"

    name: ClassVar[str] = "exact"
    trains_levels: ClassVar[bool] = True
    continues: ClassVar[bool] = True
    has_nodes: ClassVar[bool] = True
    keeps_constraints: ClassVar[bool] = True

    def _train(self, recorder: Run[OutputLoss], solver: str | AbstractSolver) -> None:
        if isinstance(solver, str) and solver != "auto":
            get_solver(solver).check_available()  # before the work of building
        if self.robust_radius is not None:
            check_levels(recorder.problem, self.name)
        robust = promised(recorder, self.robust_radius, self.robust_norm, solver)
        return self._solve(recorder, solver, robust)

    def _solve(
        self, recorder: Run[OutputLoss], solver: str | AbstractSolver, robust: Robust | None
    ) -> None:
        if recorder.earlier is not None:
            improve_earlier(recorder)
        if recorder.stopping:
            return recorder.end(Termination.TIME_LIMIT.value)
        if program_size(recorder.problem) > _PRODUCTS_PER_SECOND * recorder.remaining:
            return recorder.end(
                Termination.TIME_LIMIT.value,
                "the program is too large to be handed to a solver in this time, so that "
                "only a constant network or the start is returned: use method 'auto' or 'descent'",
            )
        exact = ExactSolve.prepare(recorder, solver, self.reductions, self.eps, robust)
        ended = exact.run(seconds=recorder.remaining)
        recorder.solver = exact.solver_name
        recorder.end(ended, exact.message)


def program_size(problem: Problem[OutputLoss]) -> int:
    """Number of products of a weight with an input, of which the rows of the program are made."""
    return problem.architecture.n_products * len(problem.inputs)


class ExactSolve:
    """A recorder's problem as a program with a solver, to be run once or in parts.

    Whatever the solver finds is read into a network and judged by its forward pass.
    """

    def __init__(
        self,
        recorder: Run[OutputLoss],
        model: NetworkModel[OutputObjective],
        engine: AbstractSolver,
    ) -> None:
        self.recorder = recorder
        self.model = model
        self.engine = engine
        self.message = ""

    @classmethod
    def prepare(
        cls,
        recorder: Run[OutputLoss],
        solver: str | AbstractSolver = "auto",
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
    ) -> ExactSolve:
        """Build the model and choose a solver that can handle it."""
        budget = recorder.budget
        recorder.mark("build")
        model = recorder.models.build(
            recorder.problem, reductions=reductions, eps=eps, robust=robust
        )
        engine = (
            choose_solver(model.program, threads=budget.threads, seed=budget.seed)
            if solver == "auto"
            else get_solver(solver, threads=budget.threads, seed=budget.seed)
        )
        engine.check_supports(model.program)
        return cls(recorder, model, engine)

    @property
    def solver_name(self) -> str:
        """Name and version of the solver."""
        return f"{self.engine.name} {self.engine.version()}"

    @property
    def bound_origin(self) -> str:
        """What proves the solver's bounds."""
        origin = f"solver {self.engine.name}"
        if self.model.robust is not None:
            origin += ", for activations that hold within the radius"
        if self.model.problem.constraints:
            origin += ", for networks that keep the constraints"
        return origin

    def run(self, *, seconds: float, patience: float | None = None) -> str:
        """Solve from the recorder's best network; return why the solver ended.

        With ``patience``, give up after that many seconds without a better loss or bound.
        """
        recorder, model = self.recorder, self.model
        # Two losses differ by a whole step, so that a difference of less than one is a proof.
        limits = Limits(
            gap=recorder.budget.gap,
            absolute_gap=max(1e-6, 0.999 * model.loss.step),
            nodes=recorder.budget.nodes,
        )
        recorder.mark(_PHASE)
        began = recorder.seconds
        gave_up = False

        def gives_up() -> bool:
            nonlocal gave_up
            gave_up = recorder.is_stalled(patience, since=began)
            return gave_up

        outcome = self.engine.solve(
            model.program,
            limits=limits,
            start=self._start(),
            on_event=self._listen,
            slot=recorder.slot(_PHASE, seconds * (1 - _RESERVE)).until(gives_up),
        )
        self._conclude(outcome)
        if outcome.termination is Termination.INTERRUPTED and gave_up:
            return "feasible"
        if outcome.termination is Termination.INTERRUPTED and not recorder.is_close:
            recorder.interrupted = True
        if outcome.termination in (Termination.OPTIMAL, Termination.GAP_LIMIT, *_NO_ANSWER):
            return "feasible"  # the verdict says optimal or gap limit where the numbers do
        return str(outcome.termination.value)

    def improve_within(self, program: Program, *, seconds: float) -> bool:
        """Solve a restriction of the model and tell whether it gave a better network."""
        before = self.recorder.loss
        limits = Limits(absolute_gap=max(1e-6, 0.999 * self.model.loss.step))
        slot = self.recorder.slot("neighbourhood", seconds)
        outcome = self.engine.solve(program, limits=limits, start=self._start(), slot=slot)
        if outcome.termination is Termination.INTERRUPTED:
            self.recorder.interrupted = True
        if outcome.solution is not None:
            self._judge(outcome.solution, outcome.objective, "neighbourhood")
        return self.recorder.loss < before

    def _start(self) -> FloatArray | None:
        network = self.recorder.network
        return None if network is None else self.model.lift(network)

    def _listen(self, event: SolverEvent) -> bool:
        if event.solution is not None:
            self._judge(event.solution, event.objective, _PHASE)
        self._improve_bound(event.bound)
        return self.recorder.interrupted or self.recorder.is_close

    def _improve_bound(self, bound: float) -> None:
        if not math.isfinite(bound):
            return
        value = self.model.loss.round_up(bound)
        found = solver_bound(
            self.recorder.problem, value, self.bound_origin, margin=self.model.margin
        )
        self.recorder.prove(found, _PHASE)

    def _judge(self, solution: FloatArray, claimed: float, phase: str) -> None:
        """Offer a solution's network, repaired if rounding made it lose what it claimed."""
        network = self.model.read(solution)
        self._offer(network, phase)
        if self.recorder.problem.objective(network) > claimed + 1e-6 * max(1.0, abs(claimed)):
            repaired = repair(self.model, solution)
            if repaired is not None:
                self._offer(repaired, "repair")

    def _offer(self, network: Network, phase: str) -> None:
        """Offer a network, unless a perturbation changes what it must not change."""
        if self.model.keeps_promises(network):
            self.recorder.offer(network, phase)

    def _conclude(self, outcome: SolveResult) -> None:
        """Take over the solver's last solution and bound; say so if they do not fit together."""
        recorder = self.recorder
        if outcome.solution is not None:
            self._judge(outcome.solution, outcome.objective, _PHASE)
        if outcome.termination is not Termination.INFEASIBLE:
            self._improve_bound(outcome.bound)
        if outcome.termination is Termination.INFEASIBLE and recorder.network is None:
            explain_conflict(self.model, self.engine, seconds=max(1.0, recorder.remaining))
        rounding = 1e-6 * max(1.0, abs(outcome.objective))
        if outcome.solution is not None and recorder.loss > outcome.objective + rounding:
            self.message = (
                f"the solver claimed a loss of {outcome.objective:g}, which its network does not "
                f"have; {recorder.loss:g} is what the forward pass gives"
            )
        elif outcome.termination in _NO_ANSWER:
            self.message = f"the solver ended without an answer ({outcome.message})"
