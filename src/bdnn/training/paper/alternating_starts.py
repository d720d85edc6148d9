"""The starts of a local search: each alternates over the layers until a round brings nothing."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from bdnn.clock import Slot
from bdnn.mip import Robust
from bdnn.network.activation import BoolArray
from bdnn.network.network import Network
from bdnn.parallel import run_tasks
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.descent import descend
from bdnn.search.margin import widen_margin
from bdnn.search.starts import make_start, random_start
from bdnn.search.walk import search_within, with_allowed_weights
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.paper.alternation import (
    HalfSolution,
    Neighbourhood,
    ProgramSolver,
    free_layers,
    move_units,
    pattern_bound,
)
from bdnn.training.paper.constrained_alternation import ConstrainedPrograms
from bdnn.training.paper.splitting.robust_start import robust_start
from bdnn.training.robust import settled
from bdnn.training.run import Run

if TYPE_CHECKING:
    from bdnn.training.paper.local_search import LocalSearch

# Share of what is left of the time that one subproblem may take as programs.
_SHARE = 0.4
# Sweeps of a search that only makes a start.
_START_SWEEPS = 64
# Starts beyond those that were asked for, where these led to no network at all.
_MOST_FURTHER = 100
# Products beyond which no solver improves on the moves in seconds.
_LARGEST_PROGRAM = 40_000
# Seconds after which a solver that does not improve on the moves gives way, where moves ran first.
_SECOND_OPINION = 5.0


class AlternatingStarts:
    """All starts of a local search and what they share."""

    def __init__(
        self,
        recorder: Run[OutputLoss],
        method: LocalSearch,
        solver: str | AbstractSolver,
        slot: Slot,
        robust: Robust | None,
    ) -> None:
        self.recorder = recorder
        self.method = method
        self.slot = slot
        self.robust = robust
        self.solver_name = ""
        self.is_cut = False
        budget = recorder.budget
        kind = ConstrainedPrograms.build if recorder.problem.terms else ProgramSolver
        self.programs: ProgramSolver | ConstrainedPrograms = kind(
            recorder.problem,
            solver,
            threads=1 if method.starts > 1 else budget.threads,
            seed=budget.seed,
            eps=method.eps,
            robust=robust,
        )
        self._lock = threading.Lock()
        self._first_good: int | None = None

    def all_starts(self) -> None:
        """Run every start; of equally good ends the earliest counts."""
        root = np.random.SeedSequence(self.recorder.budget.seed)
        ends = run_tasks(
            lambda task: self._path(*task),
            enumerate(root.spawn(self.method.starts)),
            n_jobs=self.recorder.budget.threads,
        )
        if not self.method.paper:
            ends += self._further_ends(root)
        kept = list(filter(self.programs.holds, ends))
        if kept:
            best = min(kept, key=self.recorder.problem.objective)
            self.recorder.offer(best, "local", or_equal=True)

    def _further_ends(self, root: np.random.SeedSequence) -> list[Network]:
        """Draw more starts as long as none led to a network that keeps what is asked."""
        ends: list[Network] = []
        while self.recorder.network is None and len(ends) < _MOST_FURTHER:
            number = self.method.starts + len(ends)
            if self.stops(number):
                break
            ends.append(self._path(number, root.spawn(1)[0]))
        return ends

    def stops(self, number: int) -> bool:
        """Whether the start of this number has to end."""
        return self.slot.is_over() or self._is_superseded(number)

    def widen(self) -> None:
        """Give the best network wider margins at the same loss."""
        recorder = self.recorder
        network = recorder.network
        if network is None or recorder.remaining <= 0:
            return
        recorder.mark("margin")
        wider = widen_margin(
            recorder.problem,
            network,
            slot=recorder.slot("margin", max(0.02, 0.9 * recorder.remaining), until_close=False),
            seed=recorder.budget.seed,
        )
        wider = self._settled(wider)
        if self.programs.holds(wider):
            recorder.offer(wider, "margin", or_equal=True)

    @property
    def _is_late(self) -> bool:
        return self.slot.remaining <= 0

    def _is_superseded(self, number: int) -> bool:
        """Whether an earlier start is good enough, so that this one does not count."""
        return self._first_good is not None and self._first_good < number

    def _path(self, number: int, seed: np.random.SeedSequence) -> Network:
        """Alternate from one start until a round brings nothing."""
        rng = np.random.default_rng(seed)
        problem = self.recorder.problem
        network = self._settled(self._first_network(number, rng))
        activations = self._drawn_activations(network, rng) if self.method.paper else None
        halves = self._order(network)
        round_number = quiet = 0
        while not self.stops(number):
            before = problem.objective(network) if self.programs.holds(network) else np.inf
            round_number += 1
            for half in halves:
                layers = free_layers(half, problem.architecture.n_layers)
                if not layers or self.stops(number):
                    continue
                began = time.perf_counter()
                found = self._half(network, layers, number, rng, activations)
                if activations is None or found.status not in ("infeasible", "no start"):
                    network = found.network
                activations = None
                self._record(number, round_number, half, found, network, began)
            holds = self.programs.holds(network)
            if holds and self.recorder.suffices(self.recorder.objective(network)):
                with self._lock:
                    known = self._first_good
                    self._first_good = number if known is None else min(known, number)
                break
            quiet = 0 if holds and problem.objective(network) < before else quiet + 1
            if quiet >= self._most_quiet and not self._is_late:
                break
        self.is_cut |= self._is_late
        return network

    @property
    def _most_quiet(self) -> int:
        """Rounds without gain that end a start; another draw of what is freed may still help."""
        freed = (self.method.units, self.method.samples)
        return math.ceil(1 / math.prod(part for part in freed if isinstance(part, float | int)))

    def _half(
        self,
        network: Network,
        layers: tuple[int, ...],
        number: int,
        rng: np.random.Generator,
        activations: list[BoolArray] | None,
    ) -> HalfSolution:
        method, problem = self.method, self.recorder.problem
        hood = Neighbourhood.draw(problem, method.units, method.samples, rng)
        # Moves let the layers between follow, which H1 and H2 hold fixed, and so may do better.
        holds = method.subproblems == "mip" or len(layers) == 1
        bound = pattern_bound(problem, network, layers) if holds else problem.floor
        is_met = problem.is_close(problem.objective(network), bound)
        # Drawn activations are not the network's own, on which the bound rests.
        if activations is None and is_met and self.programs.holds(network):
            return HalfSolution(network, bound, "optimal", "bound")
        moves = method.subproblems != "mip" and hood.samples is None
        if moves and isinstance(self.programs, ProgramSolver):
            network = move_units(
                problem,
                network,
                layers,
                hood,
                rng=rng,
                target=bound,
                slot=self._slot(number),
                robust=self.robust,
            )
            is_met = problem.is_close(problem.objective(network), bound)
            if is_met or method.subproblems == "search":
                return HalfSolution(network, bound, "optimal" if is_met else "local", "search")
            if self.programs.size(layers) > _LARGEST_PROGRAM:
                return HalfSolution(network, bound, "local", "search")
        slot = self._slot(number).part(_SHARE, most=_SECOND_OPINION if moves else math.inf)
        found = self.programs.solve(
            network,
            layers,
            hood,
            rng=rng,
            slot=slot,
            activations=activations,
        )
        if found.status == "interrupted" and not self._is_superseded(number):
            self.recorder.interrupted = True
        self.solver_name = f"{found.solved_by} {get_solver(found.solved_by).version()}"
        return found

    def _slot(self, number: int) -> Slot:
        """The time of one start, which an earlier one may end."""
        return self.slot.until(lambda: self._is_superseded(number))

    def _record(
        self,
        number: int,
        round_number: int,
        half: int,
        found: HalfSolution,
        network: Network,
        began: float,
    ) -> None:
        with self._lock:
            if self.programs.holds(network):
                self.recorder.offer(network, f"H{half}")
            self.recorder.step(
                start=number,
                round=round_number,
                subproblem=f"H{half}",
                loss=float(self.recorder.problem.objective(network)),
                bound=found.bound,
                seconds=time.perf_counter() - began,
                status=found.status,
                solved_by=found.solved_by,
            )

    def _first_network(self, number: int, rng: np.random.Generator) -> Network:
        recorder, problem = self.recorder, self.recorder.problem
        if number == 0 and recorder.given is not None:
            return recorder.given
        if problem.terms:
            return self._first_allowed(problem, number, rng)
        if self.method.start == "random":
            return self._random_network(rng)
        found = descend(
            problem,
            slot=self._slot(number).part(0.5),
            seed=np.random.SeedSequence(int(rng.integers(2**63))),
            start="straight_through",
            max_sweeps=_START_SWEEPS,
        )
        return found.network

    def _random_network(self, rng: np.random.Generator) -> Network:
        """As Algorithm 1 draws it, or with inputs on both sides of most units."""
        problem = self.recorder.problem
        if self.method.paper:
            return draw_network(problem, rng)
        firm = None if self.robust is None else robust_start(problem, self.robust, rng)
        return firm or random_start(problem, rng)

    def _first_allowed(
        self, problem: Problem[OutputLoss], number: int, rng: np.random.Generator
    ) -> Network:
        """A network to begin with whose weights keep what is asked of weights."""
        found = [self._random_network(rng)]
        if self.method.start == "search":
            slot = self._slot(number).part(0.5)
            own = np.random.default_rng(np.random.SeedSequence(int(rng.integers(2**63))))
            start = make_start(problem, "straight_through", own, slot=slot)
            search_within(
                problem,
                start,
                rng=own,
                sweeps=_START_SWEEPS,
                slot=slot,
                on_network=found.append,
            )
        return with_allowed_weights(problem, found[-1], rng) if len(found) == 1 else found[-1]

    def _order(self, network: Network) -> tuple[int, int]:
        """H1 first; after H2 where units that cut no ball are the better part of a start."""
        if self.robust is None or self.method.paper:
            return 1, 2
        on = network.activations(self.recorder.problem.inputs)[0]
        return (2, 1) if (on != on[0]).any() else (1, 2)

    def _settled(self, network: Network) -> Network:
        """With thresholds that no perturbation crosses; as it is where weights leave none."""
        if self.robust is None:
            return network
        return settled(network, self.robust, self.recorder.problem.inputs) or network

    def _drawn_activations(
        self, network: Network, rng: np.random.Generator
    ) -> list[BoolArray] | None:
        """Activations of the even hidden layers at random, as Algorithm 1 begins."""
        on = network.activations(self.recorder.problem.inputs)
        drawn = [k for k in free_layers(2, len(on)) if k < len(on) - 1]
        for k in drawn:
            on[k] = rng.random(on[k].shape) < 0.5
        return on if drawn else None


def draw_network(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network:
    """Draw every weight from its set and every threshold from [-1, 1], as Algorithm 1 begins."""
    shape = problem.architecture
    weights, thresholds = [], []
    for inputs, units, kind in zip(shape.widths, shape.widths[1:], shape.weights, strict=False):
        W = rng.uniform(-1.0, 1.0, (units, inputs))
        weights.append(rng.choice(kind.values, size=W.shape) if kind.integer else W)
        t = np.zeros(units)
        if shape.thresholds != "zero":
            t = rng.uniform(-1.0, 1.0, units if shape.thresholds == "neuron" else 1)
        thresholds.append(np.broadcast_to(t, (units,)))
    return Network(shape, tuple(weights), tuple(thresholds))
