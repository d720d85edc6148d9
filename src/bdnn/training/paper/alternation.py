"""Layers in turn (Algorithm 1): every start alternates over H1 and H2 until a round brings nothing.

Starts run beside each other, and what they end with does not depend on which of them was faster.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from bdnn.clock import Slot
from bdnn.mip import DEFAULT_EPS
from bdnn.network.activation import BoolArray
from bdnn.network.network import Network
from bdnn.parallel import run_tasks
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.descent import descend
from bdnn.search.embedding import of_steps
from bdnn.search.loading import wait_until_ready
from bdnn.search.starts import make_start, random_start
from bdnn.search.starts.simple import random_levels
from bdnn.search.walk import search_within, with_allowed_weights
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.base import Phase
from bdnn.training.paper.construction import robust_start
from bdnn.training.paper.halves import Freed, HalfSolution, Halves, Neighbourhood, free_layers
from bdnn.training.paper.programs import HalfPrograms
from bdnn.training.run import Run

Subproblems = Literal["auto", "mip", "search"]
LocalStart = Literal["random", "search"]

# Sweeps of a search that only makes a start.
_START_SWEEPS = 64
# Starts beyond those that were asked for, where these led to no network at all.
_MOST_FURTHER = 100


@dataclass(frozen=True, eq=False)
class Alternate(Phase):
    """Optimise odd and even layers in turn, from several starts."""

    solver: str | AbstractSolver = "auto"
    # See :class:`~bdnn.training.LocalSearch`.
    starts: int = 4
    start: LocalStart = "random"
    subproblems: Subproblems = "auto"
    units: Freed = 1.0
    samples: Freed = 1.0
    eps: float = DEFAULT_EPS
    paper: bool = False

    name: ClassVar[str] = "local"

    def execute(self, run: Run[OutputLoss], slot: Slot) -> None:
        """Offer what the starts find, and say why that ended."""
        problem, budget = run.problem, run.budget
        threads = 1 if self.starts > 1 else budget.threads
        halves = Halves(problem)
        programs = HalfPrograms(halves, self.solver, threads, budget.seed, self.eps)
        # A solver reads the whole program again and again.
        most = run.schedule.reread_per_second * slot.remaining if programs.is_whole else math.inf
        is_readable = programs.size(()) <= most
        needs_moves = self.subproblems != "mip" or self.start == "search" or bool(problem.terms)
        frees_samples = not isinstance(self.samples, float | int) or self.samples < 1
        if not is_readable and (self.subproblems == "mip" or frees_samples):
            return run.end(
                "time limit",
                "the subproblems are too large to be handed to a solver in this time, so that "
                "only a constant network or the start is returned: use method 'data_splitting'",
            )
        shape = problem.architecture
        if needs_moves and not wait_until_ready(slot, shape, objectives=("loss",)):
            message = "the compiled search was not loaded when its time was over"
            return run.end("time limit", message)
        has_programs = is_readable and self.subproblems != "search"
        if programs.is_whole and has_programs:
            _ = programs.whole  # before the starts, which share it, run beside each other
        _Starts(run, self, halves, programs if has_programs else None, slot).run_all()


@dataclass(eq=False)
class _Starts:
    """All starts of a local search and what they share."""

    run: Run[OutputLoss]
    phase: Alternate
    halves: Halves
    programs: HalfPrograms | None
    slot: Slot
    is_cut: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _first_good: int | None = None

    @property
    def problem(self) -> Problem[OutputLoss]:
        return self.run.problem

    def run_all(self) -> None:
        """Run every start; of equally good ends the earliest counts."""
        run, n_starts = self.run, self.phase.starts
        root = np.random.SeedSequence(run.budget.seed)
        ends = list(
            run_tasks(
                lambda task: self._path(*task),
                enumerate(root.spawn(n_starts)),
                n_jobs=run.budget.threads,
                is_shared=True,
            )
        )
        # More starts as long as none led to a network that keeps what is asked.
        while run.network is None and not self.phase.paper and not self._stops(len(ends)):
            if len(ends) >= n_starts + _MOST_FURTHER:
                break
            ends.append(self._path(len(ends), root.spawn(1)[0]))
        kept = list(filter(self.halves.holds, ends))
        if kept:
            run.offer(min(kept, key=self.problem.objective), Alternate.name, or_equal=True)
        # Subproblems may have ended at their time limit, so this is no local optimum for certain.
        reason = "" if self.is_cut else "the last rounds brought no smaller loss"
        run.end("time limit" if self.is_cut else "feasible", reason)

    def _is_superseded(self, number: int) -> bool:
        """Whether an earlier start is good enough, so that this one does not count."""
        return self._first_good is not None and self._first_good < number

    def _slot(self, number: int) -> Slot:
        """The time of one start, which an earlier one may end."""
        return self.slot.until(lambda: self._is_superseded(number))

    def _stops(self, number: int) -> bool:
        return self._slot(number).is_over()

    def _path(self, number: int, seed: np.random.SeedSequence) -> Network:
        """Alternate from one start until a round brings nothing."""
        rng = np.random.default_rng(seed)
        problem, halves, paper = self.problem, self.halves, self.phase.paper
        network = halves.settled(self._first_network(number, rng))
        activations = self._drawn_activations(network, rng) if paper else None
        order = self._order(network)
        round_number = quiet = 0
        while not self._stops(number):
            before = problem.objective(network) if halves.holds(network) else math.inf
            round_number += 1
            for half in order:
                layers = free_layers(half, problem.architecture.n_layers)
                if not layers or self._stops(number):
                    continue
                began = time.perf_counter()
                found = self._half(network, layers, number, rng, activations)
                if activations is None or found.status not in ("infeasible", "no start"):
                    network = found.network
                activations = None
                self.run.mark(f"{Alternate.name} {number + 1}")
                self.run.step(
                    start=number,
                    round=round_number,
                    subproblem=f"H{half}",
                    loss=float(problem.objective(network)),
                    bound=found.bound,
                    seconds=time.perf_counter() - began,
                    status=found.status,
                    solved_by=found.solved_by,
                )
            holds = halves.holds(network)
            if holds and self.run.suffices(problem.objective(network)):
                with self._lock:
                    known = self._first_good
                    self._first_good = number if known is None else min(known, number)
                break
            quiet = 0 if holds and problem.objective(network) < before else quiet + 1
            if quiet >= self._most_quiet and self.slot.remaining > 0:
                break
        self.is_cut |= self.slot.remaining <= 0
        return network

    @property
    def _most_quiet(self) -> int:
        """Rounds without gain that end a start; another draw of what is freed may still help."""
        freed = (self.phase.units, self.phase.samples)
        return math.ceil(1 / math.prod(part for part in freed if isinstance(part, float | int)))

    def _half(
        self,
        network: Network,
        layers: tuple[int, ...],
        number: int,
        rng: np.random.Generator,
        activations: list[BoolArray] | None,
    ) -> HalfSolution:
        """Meet the bound of equal patterns as the network is, by moves, or by programs."""
        halves, programs, phase = self.halves, self.programs, self.phase
        schedule = self.run.schedule
        hood = Neighbourhood.draw(self.problem, phase.units, phase.samples, rng)
        # Moves let the layers between follow, which H1 and H2 hold fixed, and so may do better.
        is_bound = phase.subproblems == "mip" or len(layers) == 1
        bound = halves.bound(network, layers) if is_bound else self.problem.floor
        # Drawn activations are not the network's own, on which the bound rests.
        if activations is None and halves.is_met(network, bound):
            return HalfSolution(network, bound, "optimal", "bound")
        slot, patience = self._slot(number), math.inf
        if phase.subproblems != "mip" and hood.samples is None:
            network = halves.move(network, layers, hood, rng=rng, target=bound, slot=slot)
            is_met = halves.is_met(network, bound)
            # Of terms about outputs moves know nothing: a solver is more than a second opinion.
            most = math.inf if self.problem.terms else schedule.largest_half
            if is_met or programs is None or programs.size(layers) > most:
                return HalfSolution(network, bound, "optimal" if is_met else "local", "search")
            patience = math.inf if self.problem.terms else schedule.second_opinion
        assert programs is not None
        found = programs.solve(
            network,
            layers,
            hood,
            rng=rng,
            slot=slot.part(schedule.half, most=patience),
            activations=activations,
        )
        if found.status == "interrupted" and not self._is_superseded(number):
            self.run.interrupted = True
        self.run.solver = f"{found.solved_by} {get_solver(found.solved_by).version()}"
        return found

    def _first_network(self, number: int, rng: np.random.Generator) -> Network:
        """Where a start begins: as it is given, at random, or with a search."""
        problem = self.problem
        if number == 0 and self.run.given is not None:
            return self.run.given
        if self.phase.start == "search":
            slot = self._slot(number).part(self.run.schedule.searched_start)
            found = _searched(problem, np.random.SeedSequence(int(rng.integers(2**63))), slot)
            if found is not None:
                return found
        if self.phase.paper:
            network = draw_network(problem, rng)
        else:
            # With inputs on both sides of most units.
            is_held = problem.loss.pattern is not None and not problem.architecture.has_levels
            firm = robust_start(problem, rng) if is_held else None
            network = firm or random_start(problem, rng)
        return with_allowed_weights(problem, network, rng) if problem.terms else network

    def _order(self, network: Network) -> tuple[int, int]:
        """H1 first; after H2 where units that cut no ball are the better part of a start."""
        if self.problem.loss.pattern is None or self.phase.paper:
            return 1, 2
        on = network.activations(self.problem.inputs)[0]
        return (2, 1) if (on != on[0]).any() else (1, 2)

    def _drawn_activations(
        self, network: Network, rng: np.random.Generator
    ) -> list[BoolArray] | None:
        """Activations of the even hidden layers at random, as Algorithm 1 begins."""
        on = network.activations(self.problem.inputs)
        drawn = [k for k in free_layers(2, len(on)) if k < len(on) - 1]
        if self.problem.architecture.has_levels:
            return None  # drawn levels are those of drawn thresholds
        for k in drawn:
            on[k] = rng.random(on[k].shape) < 0.5
        return on if drawn else None


def _searched(
    problem: Problem[OutputLoss], seed: np.random.SeedSequence, slot: Slot
) -> Network | None:
    """A network of the search, None if none was found that keeps the terms."""
    if not problem.terms:
        return descend(
            problem, slot=slot, seed=seed, start="straight_through", max_sweeps=_START_SWEEPS
        ).network
    rng, found = np.random.default_rng(seed), list[Network]()
    start = make_start(problem, "straight_through", rng, slot=slot)
    search_within(problem, start, rng=rng, sweeps=_START_SWEEPS, slot=slot, on_network=found.append)
    return found[-1] if found else None


def draw_network(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network:
    """Draw every weight from its set and every threshold from [-1, 1], as Algorithm 1 begins."""
    shape = problem.architecture
    if shape.has_levels:
        return random_levels(draw_network(of_steps(problem), rng), problem, rng)
    weights, thresholds = [], []
    for inputs, units, kind in zip(shape.widths, shape.widths[1:], shape.weights, strict=False):
        W = rng.uniform(-1.0, 1.0, (units, inputs))
        weights.append(rng.choice(kind.values, size=W.shape) if kind.integer else W)
        t = np.zeros(units)
        if shape.thresholds != "zero":
            t = rng.uniform(-1.0, 1.0, units if shape.thresholds == "neuron" else 1)
        thresholds.append(np.broadcast_to(t, (units,)))
    return Network(shape, tuple(weights), tuple(thresholds))
