"""One training run: its clock, its best network, what is proven of it, and the word stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np

from bdnn.bounds.previous import PreviousFit
from bdnn.clock import Clock, Slot
from bdnn.errors import NoSolutionError
from bdnn.mip import NetworkModel
from bdnn.mip.model import GrowingModel
from bdnn.network.network import Network
from bdnn.problem.bound import BestBounds, Bound
from bdnn.problem.losses.output import OutputBlock
from bdnn.problem.problem import AnyLoss, Problem
from bdnn.training.limits import Budget, Schedule
from bdnn.training.result import Progress, Trained, TrainingResult, optimal

ProgressHandler = Callable[[Progress], bool | None]

# Enough for any curve; a run of days must not fill the memory with its history.
_MOMENTS_KEPT = 10_000
# A handler draws a progress bar, and searches look at the clock thousands of times a second.
_HEARTBEAT_SECONDS = 0.05
# First part of the key of seeds that are not drawn in turn.
_DRAWN = 2**31


class Incumbent(NamedTuple):
    """The best network so far."""

    network: Network
    objective: Fraction


class Run(Generic[AnyLoss]):
    """The best network of a run so far, the best bounds, their history, and the time that is left.

    Networks are judged by their forward pass and by feasibility alone, whatever their finder claims
    of them. Objectives and bounds are compared as fractions: no tolerance makes a gap a proof.

    Attributes
    ----------
    incumbent : Incumbent or None
    is_close : bool
        Whether the loss or the gap is as small as wanted; searches ask thousands of times a second.
    interrupted : bool
        Whether somebody wants the run to end: the handler, Ctrl-C or a signal.
    ended, reason : str
        Why the last phase ended, where no proof or limit says it better.
    solver : str
        The solver that was used, if any.
    """

    #: Whether a phase that fails ends the run with its error, as tests want it.
    strict: ClassVar[bool] = False

    def __init__(
        self,
        problem: Problem[AnyLoss],
        budget: Budget | None = None,
        # Called with a :class:`~bdnn.training.result.Progress` now and then; the run ends when it
        # returns True.
        handler: ProgressHandler | None = None,
        *,
        schedule: Schedule | None = None,
        clock: Clock = time.perf_counter,  # the time in seconds
    ) -> None:
        self.problem = problem
        self.budget = budget or Budget()
        self.schedule = schedule or Schedule()
        # What the user gives besides: samples held out, what is left of the problem without them
        # where it holds these too, a network to begin with, and a run on fewer samples.
        self.validation: Problem[AnyLoss] | None = None
        self.training_part: Problem[AnyLoss] | None = None
        self.given: Network | None = None
        self.earlier: PreviousFit | None = None
        self.models: GrowingModel | type[NetworkModel[OutputBlock]] = NetworkModel
        self.incumbent: Incumbent | None = None
        # What was offered, where held-out samples choose in the end.
        self.candidates: list[Network] = []
        self.is_close = self.interrupted = False
        self.handler_error: Exception | None = None
        self.ended, self.reason, self.solver = "feasible", "", ""
        self.history: list[Progress] = []
        self.steps: list[dict[str, Any]] = []
        # How long a forward pass over all samples takes: on large data the last checks need some.
        self.pass_seconds = 0.0
        self._bounds = BestBounds(problem.irreducible)
        self.handler, self._clock = handler, clock
        self._started = clock()
        self._improved = self._told = 0.0
        self._judged: Incumbent | None = None
        self._notes: list[str] = []
        self._seeds = np.random.SeedSequence(self.budget.seed)

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return self._clock() - self._started

    @property
    def remaining(self) -> float:
        """Time left."""
        return max(0.0, self.budget.seconds - self.seconds)

    def slot(self, phase: str, seconds: float = math.inf, *, until_close: bool = True) -> Slot:
        """Some of the time that is left, which a stop request ends and which tells the handler.

        Unless ``until_close`` is given up it also ends where the loss is as small as wanted.
        """

        def is_stopped() -> bool:
            return self.hears_stop(phase) or (until_close and self.is_close)

        return Slot.of(min(seconds, self.remaining), clock=self._clock, is_stopped=is_stopped)

    def spawn_seed(self) -> np.random.SeedSequence:
        """Draw the next seed; all of a run's seeds follow from the budget's."""
        return self._seeds.spawn(1)[0]

    def seed_of_draw(self, draw: int) -> np.random.SeedSequence:
        """Seed of one of several networks trained alike, whatever was drawn before.

        So ways to train differ by what they do and not by luck, the clock has no say in where the
        last training begins, and a deep network copies the very network that a shallow one is.
        """
        return np.random.SeedSequence(self._seeds.entropy, spawn_key=(_DRAWN, draw))

    def stop(self) -> None:
        """Ask the run to end; what it has found by then is its result."""
        self.interrupted = True

    @property
    def stopping(self) -> bool:
        """Whether the run has to end now."""
        return self.interrupted or self.is_close or self.remaining <= 0

    def is_stalled(self, patience: float | None, *, since: float = 0.0) -> bool:
        """Whether neither loss nor bound has improved for that many seconds, from ``since`` on."""
        return patience is not None and self.seconds - max(self._improved, since) > patience

    @property
    def network(self) -> Network | None:
        """The best network, if there is one yet."""
        return None if self.incumbent is None else self.incumbent.network

    @property
    def best(self) -> Network:
        """The network at hand, a constant one where there is none yet."""
        return self.network or self.problem.constant_network()

    @property
    def loss(self) -> float:
        """What is minimised, of the best network; infinite without one."""
        return math.inf if self.incumbent is None else float(self.incumbent.objective)

    def objective(self, network: Network) -> Fraction:
        """What is minimised, from the network's forward pass.

        Networks cannot be changed, so that the last answer serves again when its network is kept
        and reported; on large data a pass takes long.
        """
        if self._judged is None or self._judged.network is not network:
            started = self._clock()
            self._judged = Incumbent(network, self.problem.objective(network))
            self.pass_seconds = self._clock() - started
        return self._judged.objective

    def offer(self, found: Network, phase: str, *, or_equal: bool = False) -> bool:
        """Judge a network and keep it if it is better than the best; tell whether it was kept.

        With ``or_equal`` one of the same objective is kept too: the finder prefers its margin.
        """
        network = self.problem.settled(found)
        if network is None:
            return False
        if self.validation is not None and len(self.candidates) < _MOMENTS_KEPT:
            self.candidates.append(network)
        objective = self.objective(network)
        best = self.incumbent
        if best is not None and (
            objective > best.objective or (objective == best.objective and not or_equal)
        ):
            return False
        if not self.problem.is_feasible(network):
            return False
        if best is None or objective < best.objective:
            self._improved = self.seconds
        self._keep(network, objective, phase)
        return True

    def choose(self, network: Network, phase: str) -> None:
        """Take a network that the user's objectives prefer, whatever its loss."""
        self._keep(network, self.objective(network), phase)

    def choose_by_validation(self, network: Network) -> None:
        """Take a network that held-out samples prefer."""
        if self.incumbent and self.objective(network) > self.incumbent.objective:
            self.note("validation preferred a network of higher training loss")
        self.choose(network, "validation")

    def _keep(self, network: Network, objective: Fraction, phase: str) -> None:
        self.incumbent = Incumbent(network, objective)
        for bound in self._bounds.drop_above(objective):
            self._leave_out(bound)
        self.is_close = self.suffices(objective)
        self.mark(phase)

    @property
    def bound(self) -> Bound:
        """The largest bound, with its condition if it has one; never above the best network."""
        best = self._bounds.best
        if self.incumbent is None or best.value <= self.incumbent.objective:
            return best
        return replace(best, value=self.incumbent.objective)

    def prove(self, bound: Bound, phase: str) -> None:
        """Take a lower bound if it is better than those before.

        One with a condition is dropped as soon as a network undercuts it.
        """
        if self.incumbent is not None and bound.is_refuted_by(self.incumbent.objective):
            self._leave_out(bound)
        elif self._bounds.add(bound):
            self._improved = self.seconds
            self.is_close = self.incumbent is not None and self.suffices(self.incumbent.objective)
            self.mark(phase)

    def _leave_out(self, bound: Bound) -> None:
        """Say so where a network refutes a bound that takes nothing for granted."""
        if bound.condition:
            return
        message = (
            f"a bound of {float(bound.value):g} ({bound.origin}) was left out, because a network "
            f"of {self.loss:g} refutes it"
        )
        if self.strict:
            raise AssertionError(message)
        self.note(message)

    def meets(self, objective: Fraction) -> bool:
        """Tell whether no network has less than an objective, under the bound's condition."""
        return objective <= self.bound.value + self.bound.condition.tolerance

    @property
    def target(self) -> float:
        """Loss at which there is nothing more to do."""
        least = float(self.bound.value)
        return least if self.budget.loss is None else max(least, self.budget.loss)

    @property
    def is_proven(self) -> bool:
        """Whether the best network is optimal, under the bound's condition if it has one."""
        return self.incumbent is not None and self.meets(self.incumbent.objective)

    def suffices(self, objective: Fraction) -> bool:
        """Tell whether an objective is proven smallest, or as small as wanted."""
        is_small = self.budget.loss is not None and objective <= self.budget.loss
        return is_small or self.meets(objective) or self._is_within_gap(objective)

    def _is_within_gap(self, objective: Fraction) -> bool:
        gap = self.budget.gap
        return gap > 0 and objective - self.bound.value <= Fraction(gap) * abs(objective)

    def mark(self, phase: str) -> None:
        """Put a moment on record."""
        moment = Progress(self.seconds, phase, self.loss, float(self.bound.value))
        if len(self.history) < _MOMENTS_KEPT:
            self.history.append(moment)
        self._tell(moment)

    def step(self, **record: str | float | None) -> None:
        """Put a part of the method's work on record: a subproblem or an epoch."""
        if len(self.steps) < _MOMENTS_KEPT:
            self.steps.append(record)

    def note(self, message: str) -> None:
        """Tell the user something besides status and numbers."""
        if message and message not in self._notes:
            self._notes.append(message)

    def end(self, ended: str, reason: str = "") -> None:
        """Say why a phase ended; of no interest once loss and bound are close."""
        self.ended, self.reason = ended, reason

    def hears_stop(self, phase: str) -> bool:
        """Let the handler hear that the run is alive, now and then; return whether to stop."""
        now = self._clock()
        if now - self._told >= _HEARTBEAT_SECONDS:
            self._tell(Progress(self.seconds, phase, self.loss, float(self.bound.value)))
        return self.interrupted

    def _tell(self, moment: Progress) -> None:
        self._told = self._clock()
        if self.handler is None:
            return
        try:
            wants_stop = self.handler(moment)
        except Exception as error:
            self.handler_error = error  # which is the caller's and no failure of a phase
            raise
        if wants_stop:
            self.stop()

    def result(self, method: str) -> Trained:
        """Close the run: recompute everything from the best network."""
        if self.incumbent is None:
            asked = self.problem.term_names or "what is asked of networks"
            raise NoSolutionError(
                f"no network that keeps {asked} was found in this time: run longer, use method "
                "'auto' or 'exact', or ask for less, such as a smaller radius."
            )
        network, objective = self.incumbent
        messages = self._notes + ([self.reason] if self.reason and not self.is_close else [])
        is_priced = self.problem.has_price
        loss = self.problem.value(network) if is_priced else objective
        result = TrainingResult(
            status=self._status(objective),
            loss=float(loss),
            proof=self.bound,
            error=self.problem.error(network),
            seconds=self.seconds,
            method=method,
            solver=self.solver,
            message="; ".join(messages),
            history=tuple(self.history),
            steps=tuple(self.steps),
            objective=float(objective) if is_priced else None,
        )
        return Trained(network, result)

    def _status(self, objective: Fraction) -> str:
        if self.meets(objective):
            return optimal(self.bound)
        if self.interrupted:
            return "interrupted"
        if self._is_within_gap(objective):
            return "gap limit"
        return "loss limit" if self.suffices(objective) else self.ended
