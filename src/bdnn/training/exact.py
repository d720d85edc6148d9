"""Training to proven optimality by one mixed-integer program (paper, Lemma 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from bdnn.activation import FloatArray
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.formulation import DEFAULT_EPS, NetworkModel, Reductions, Robust
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.solvers.result import Limits, SolveResult, SolverEvent, Termination
from bdnn.training.base import AbstractMethod, Recorder
from bdnn.training.conflicts import explain_conflict
from bdnn.training.discrete import check_levels
from bdnn.training.incremental import improve_earlier
from bdnn.training.repair import repair
from bdnn.training.result import Trained
from bdnn.training.robust import promised

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
        Strictness margin of continuous weights, see :meth:`~bdnn.formulation.NetworkModel.build`.
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

    def _train(self, recorder: Recorder, solver: str | AbstractSolver) -> Trained:
        if isinstance(solver, str) and solver != "auto":
            get_solver(solver).check_available()  # before the work of building
        if self.robust_radius is not None:
            check_levels(recorder.problem, self.name)
        robust = promised(recorder, self.robust_radius, self.robust_norm, solver)
        return self._solve(recorder, solver, robust)

    def _solve(
        self, recorder: Recorder, solver: str | AbstractSolver, robust: Robust | None
    ) -> Trained:
        if recorder.earlier is not None:
            improve_earlier(recorder)
        if recorder.stopping:
            return recorder.verdict(self.name, ended=Termination.TIME_LIMIT.value)
        if program_size(recorder.problem) > _PRODUCTS_PER_SECOND * recorder.remaining:
            return recorder.verdict(
                self.name,
                ended=Termination.TIME_LIMIT.value,
                message="the program is too large to be handed to a solver in this time, so that "
                "only a constant network or the start is returned: use method 'auto' or 'descent'",
            )
        exact = ExactSolve.prepare(recorder, solver, self.reductions, self.eps, robust)
        ended = exact.run(seconds=recorder.remaining)
        return recorder.verdict(
            self.name, ended=ended, solver=exact.solver_name, message=exact.message
        )


def program_size(problem: TrainingProblem) -> int:
    """Number of products of a weight with an input, of which the rows of the program are made."""
    shape = problem.architecture
    if not shape.activations:
        return shape.n_weights * len(problem.inputs)
    counts = [1, *(shape.activation_of(k).n_thresholds for k in range(shape.n_layers))]
    sizes = [width * count for width, count in zip(shape.widths, counts, strict=True)]
    return sum(a * b for a, b in pairwise(sizes)) * len(problem.inputs)


class ExactSolve:
    """A recorder's problem as a program with a solver, to be run once or in parts.

    Whatever the solver finds is read into a network and judged by its forward pass.
    """

    def __init__(self, recorder: Recorder, model: NetworkModel, engine: AbstractSolver) -> None:
        self.recorder = recorder
        self.model = model
        self.engine = engine
        self.message = ""

    @classmethod
    def prepare(
        cls,
        recorder: Recorder,
        solver: str | AbstractSolver = "auto",
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
    ) -> ExactSolve:
        """Build the model and choose a solver that can handle it."""
        budget = recorder.budget
        recorder.note("build")
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
        if self.model.margin:
            origin += f", for units that keep a margin of {self.model.margin:.2g}"
        if self.model.dual_norms is not None:
            origin += ", for activations that hold within the radius"
        if isinstance(self.model.problem, ConstrainedProblem) and self.model.problem.rules:
            origin += ", for networks that keep the constraints"
        return origin

    def run(self, *, seconds: float, patience: float | None = None) -> str:
        """Solve from the recorder's best network; return why the solver ended.

        With ``patience``, give up after that many seconds without a better loss or bound.
        """
        recorder, model = self.recorder, self.model
        # Two losses differ by a whole step, so that a difference of less than one is a proof.
        limits = Limits(
            seconds=seconds * (1 - _RESERVE),
            gap=recorder.budget.gap,
            absolute_gap=max(1e-6, 0.999 * model.loss.step),
            nodes=recorder.budget.nodes,
        )
        recorder.note(_PHASE)
        began = recorder.seconds
        gave_up = False

        def wants_stop() -> bool:
            nonlocal gave_up
            recorder.heartbeat(_PHASE)
            gave_up = recorder.is_stalled(patience, since=began)
            return gave_up or recorder.interrupted

        outcome = self.engine.solve(
            model.program,
            limits=limits,
            start=self._start(),
            on_event=self._listen,
            wants_stop=wants_stop,
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
        limits = Limits(seconds=seconds, absolute_gap=max(1e-6, 0.999 * self.model.loss.step))
        outcome = self.engine.solve(program, limits=limits, start=self._start())
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
        self.recorder.improve_bound(
            self.model.loss.round_up(bound),
            self.bound_origin,
            _PHASE,
            conditional=self.model.margin > 0,
        )

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
