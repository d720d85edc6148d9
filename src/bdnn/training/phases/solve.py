"""The training problem as one mixed-integer program (paper, Lemma 1), whatever its loss.

Whatever a solver finds is read into a network and judged by its forward pass. Squared losses are
quadratic programs; for solvers without squares these are held from below by tangents: solve, take
the true loss of the network, add tangents where the solution lies, and solve again, until the bound
of the relaxation meets the loss of the best network.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from bdnn.bounds.lattice import solver_bound
from bdnn.clock import Slot
from bdnn.mip import DEFAULT_EPS, NetworkModel, Reductions
from bdnn.mip.freedom import free_units
from bdnn.mip.starts import explain_conflict, repair
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.program import Program
from bdnn.search.descent import descend
from bdnn.search.limits import projected
from bdnn.search.loading import wait_until_ready
from bdnn.search.refit import refit
from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.solvers.result import Limits, SolveResult, SolverEvent, Termination
from bdnn.training.base import Phase
from bdnn.training.run import Run

_PHASE = "solve"
# A program may have no solution where no weights keep its margin; training has a network anyway.
_NO_ANSWER = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.FAILED)
_ANSWERED = (Termination.OPTIMAL, Termination.GAP_LIMIT)
# Part of a neighbourhood's units that are freed.
_FREED = 0.2
# Sweeps after which moves from the network of fewer samples have found what they can.
_ADAPTING_SWEEPS = 300
_WIDENED = (
    "the program lets every column move by the whole radius at once, so that its optimum is no "
    "bound for this norm"
)
# Networks of a round at which a relaxation is cut too.
_MOST_CUT = 8


def program_size(problem: Problem[Any]) -> int:
    """Number of products of a weight with an input, of which the rows of the program are made."""
    return int(problem.loss.products(problem.architecture)) * len(problem.inputs)


@dataclass(frozen=True, eq=False)
class Adapt(Phase):
    """Adapt the network of fewer samples to all of them by moves, so that a solver starts well."""

    name: ClassVar[str] = "search"

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there was a run on some of the samples."""
        is_plain = run.problem.loss.counts_outputs and not run.problem.terms
        return run.earlier is not None and is_plain

    def execute(self, run: Run[Any], slot: Slot) -> None:
        assert run.given is not None
        if wait_until_ready(slot, run.problem.architecture, objectives=("loss",)):
            found = descend(
                run.problem,
                slot=slot,
                seed=run.budget.seed,
                start=run.given,
                target=run.target,
                max_sweeps=_ADAPTING_SWEEPS,
                on_network=lambda network: run.offer(network, self.name),
            )
            run.offer(found.network, self.name)


@dataclass(frozen=True, eq=False)
class Solve(Phase):
    """Solve the program from the best network."""

    solver: str | AbstractSolver
    reductions: Reductions = field(default_factory=Reductions)
    eps: float = DEFAULT_EPS  # strictness margin of continuous weights
    # Seconds without a better loss or bound after which to give up, where a search came before;
    # then moves within a part of the network come before the whole program, too.
    patience: float | None = None
    when: Callable[[], bool] = lambda: True  # whether a proof is worth the time

    name: ClassVar[str] = _PHASE

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether a proof is worth the time."""
        return self.when() and bool(run.problem.loss.has_program(run.problem.architecture))

    def is_worthwhile(self, run: Run[Any]) -> bool:
        """Tell whether a solver can do more than a search that came before."""
        loss = run.problem.loss
        is_small = program_size(run.problem) <= loss.largest_program
        return bool(is_small and loss.has_program(run.problem.architecture))

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Build, explore, solve, and say why that ended."""
        size = program_size(run.problem)
        if self.patience is not None:
            if not self.is_worthwhile(run):
                reason = "the program is too large for a solver, so that only the search ran"
                return run.end(run.ended, reason)
        elif size > run.schedule.products_per_second * slot.remaining:
            return run.end(
                "time limit",
                "the program is too large to be handed to a solver in this time, so that "
                "only a constant network or the start is returned: use method 'auto' or 'descent'",
            )
        solving = Solving.prepare(run, self)
        run.solver = f"{solving.engine.name} {solving.engine.version()}"
        if self.patience is not None:
            solving.explore(slot)
        if slot.is_over():
            return
        ended = solving.run_all(slot, self.patience)
        reason = solving.message or (run.reason if self.patience is not None else "")
        if self.patience is not None and ended == "feasible":
            reason = reason or "the run ended because more time had stopped paying"
        if not run.problem.loss.has_bounds and ended == "feasible":
            reason = reason or _WIDENED
        run.end(ended, reason)


class Solving:
    """A run's problem as a program with a solver."""

    def __init__(self, run: Run[Any], model: Any, engine: AbstractSolver) -> None:
        self.run, self.model, self.engine = run, model, engine
        self.message = ""
        self._seen: list[Network] = []

    @classmethod
    def prepare(cls, run: Run[Any], phase: Solve) -> Self:
        """Build the model and choose a solver that can handle it."""
        run.mark("build")
        options = {"threads": run.budget.threads, "seed": run.budget.seed}
        wanted = phase.solver
        engine = None if wanted == "auto" else get_solver(wanted, **options)
        model = _build(run, phase, engine)
        engine = engine or choose_solver(model.program, "auto", **options)
        engine.check_supports(model.program)
        return cls(run, model, engine)

    @property
    def bound_origin(self) -> str:
        """What proves the solver's bounds."""
        origin = f"solver {self.engine.name}"
        if self.model.loss.is_relaxed:
            origin += " with tangents"
        pattern = self.run.problem.loss.pattern
        if pattern is not None:
            sure = "" if pattern.regions is None else "certainly "
            origin += f", for activations that {sure}hold within the radius"
        if self.run.problem.constraints:
            origin += ", for networks that keep the constraints"
        return origin

    def limits(self, nodes: int | None = None, gap: float = 0.0) -> Limits:
        """What a solver need not tell apart: two losses differ by a whole step, or a tolerance."""
        absolute = 0.25 * float(self.run.problem.loss.tolerance)
        absolute = absolute or max(1e-6, 0.999 * self.model.loss.step)
        return Limits(gap=gap, absolute_gap=absolute, nodes=nodes)

    def explore(self, slot: Slot) -> None:
        """Large-neighbourhood moves until one round over the units brings nothing."""
        run, model, schedule = self.run, self.model, self.run.schedule
        hidden, size = run.problem.architecture.hidden, program_size(run.problem)
        is_plain = run.problem.loss.counts_outputs
        if not is_plain or not hidden or size > schedule.largest_neighbourhood:
            return
        slot = slot.part(schedule.explore.part)
        rng = np.random.default_rng(run.budget.seed)
        width = len(model.layers[0].W)
        n_parts = max(1, width // max(1, round(_FREED * width)))
        improved = True
        while improved:
            improved = False
            for units in np.array_split(rng.permutation(width), n_parts):
                start = self._start()
                left = min(schedule.neighbourhood.most, slot.remaining)
                if start is None or run.stopping or left <= 0.1:
                    return
                run.mark("explore")
                improved |= self._improve_within(free_units(model, start, 0, units), left)

    def _improve_within(self, program: Program, seconds: float) -> bool:
        """Solve a restriction of the model and tell whether it gave a better network."""
        before, slot = self.run.loss, self.run.slot("neighbourhood", seconds)
        outcome = self.engine.solve(program, limits=self.limits(), start=self._start(), slot=slot)
        if outcome.termination is Termination.INTERRUPTED:
            self.run.interrupted = True
        if outcome.solution is not None:
            self._judge(outcome.solution, outcome.objective, "neighbourhood")
        return self.run.loss < before

    def run_all(self, slot: Slot, patience: float | None = None) -> str:
        """Solve from the best network, again while that is cut off; return why that ended."""
        run, nodes = self.run, self.run.budget.nodes
        run.mark(_PHASE)
        if self.model.loss.is_relaxed:
            self._first_cuts()
        began, gave_up = run.seconds, False

        def gives_up() -> bool:
            nonlocal gave_up
            gave_up = run.is_stalled(patience, since=began)
            return gave_up

        while True:
            outcome = self.engine.solve(
                self.model.program,
                limits=self.limits(nodes, run.budget.gap),
                start=self._start(),
                on_event=self._listen,
                slot=slot.until(gives_up),
            )
            self._conclude(outcome)
            ended = outcome.termination
            if ended is Termination.INTERRUPTED and not gave_up and not run.is_close:
                run.interrupted = True
            is_met = ended is Termination.INTERRUPTED and run.is_close
            if gave_up or is_met or ended in _NO_ANSWER:
                return "feasible"
            if ended not in _ANSWERED:
                return str(ended.value)
            if run.is_close or outcome.solution is None or not self._cut(outcome.solution):
                return "feasible"  # the result says optimal or gap limit where the numbers do
            if slot.remaining <= 0:
                return Termination.TIME_LIMIT.value
            if nodes is not None and (nodes := nodes - outcome.nodes) <= 0:
                return Termination.NODE_LIMIT.value

    def _first_cuts(self) -> None:
        """Begin with cuts at a few fixed points and at the best network."""
        self.model.loss.cut()
        start = self._start()
        if start is not None:
            self._cut(start)

    def _cut(self, x: FloatArray) -> bool:
        """Cut a relaxation at a point and the newest networks; tell whether it lies outside."""
        loss = self.model.loss
        if not loss.is_relaxed:
            return False
        below = self.model.program.objective(x)
        points = [x, *(self.model.lift(network) for network in self._seen[-_MOST_CUT:])]
        self._seen.clear()
        for point in points:
            if point is not None:
                loss.cut(point)
        return bool(loss.true_value(x) > below + 1e-3 * float(self.run.problem.loss.tolerance))

    def _start(self) -> FloatArray | None:
        network = self.run.network
        return None if network is None else self.model.lift(network)

    def _listen(self, event: SolverEvent) -> bool:
        if event.solution is not None:
            self._judge(event.solution, event.objective, _PHASE)
        self._improve_bound(event.bound)
        return self.run.interrupted or self.run.is_close

    def _improve_bound(self, bound: float) -> None:
        if math.isfinite(bound) and self.run.problem.loss.has_bounds:
            value, margin = self.model.loss.round_up(bound), self.model.margin
            found = solver_bound(self.run.problem, value, self.bound_origin, margin=margin)
            self.run.prove(found, _PHASE)

    def _judge(self, solution: FloatArray, claimed: float, phase: str) -> None:
        """Offer a solution's network; also one with the best last layer, or one repaired.

        Repair is for networks that rounding made lose what the solver claimed of them.
        """
        problem, network = self.run.problem, self.model.read(solution)
        network = projected(problem, network, np.random.default_rng(self.run.budget.seed))
        if problem.loss.has_targets:
            network = refit(problem, network)
            self._seen.append(network)
        self.run.offer(network, phase)
        claimed += 1e-6 * max(1.0, abs(claimed))
        if problem.loss.counts_outputs and problem.objective(network) > claimed:
            repaired = repair(self.model, solution)
            if repaired is not None:
                self.run.offer(repaired, "repair")

    def _conclude(self, outcome: SolveResult) -> None:
        """Take over the solver's last solution and bound; say so if they do not fit together."""
        run, claimed = self.run, outcome.objective
        if outcome.solution is not None:
            self._judge(outcome.solution, claimed, _PHASE)
            true_value = self.model.loss.true_value(outcome.solution)
            claimed = claimed if true_value is None else true_value
        if outcome.termination is not Termination.INFEASIBLE:
            self._improve_bound(outcome.bound)
        elif run.network is None and run.problem.loss.has_bounds:
            explain_conflict(self.model, self.engine, seconds=max(1.0, run.remaining))
        rounding = 1e-6 * max(1.0, abs(claimed)) + float(run.problem.loss.tolerance)
        if outcome.solution is not None and run.loss > claimed + rounding:
            self.message = (
                f"the solver claimed a loss of {claimed:g}, which its network does not have; "
                f"{run.loss:g} is what the forward pass gives"
            )
        elif outcome.termination in _NO_ANSWER:
            self.message = f"the solver ended without an answer ({outcome.message})"


def _build(run: Run[Any], phase: Solve, engine: AbstractSolver | None) -> Any:
    """Write down the program; what grows with further samples goes on from the last one."""
    problem, loss = run.problem, run.problem.loss
    if loss.counts_outputs and not problem.terms:
        return run.models.build(problem, reductions=phase.reductions, eps=phase.eps)
    takes_squares = engine is not None and Feature.QUADRATIC_OBJECTIVE in engine.features
    return NetworkModel.build(
        problem,
        reductions=phase.reductions,
        eps=phase.eps,
        takes_squares=takes_squares,
    )
