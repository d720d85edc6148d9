"""Search for classes: a start, and exact one-unit moves from it and from others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.descent import LARGE, descend
from bdnn.search.embedding import as_levels, embed, of_steps, shallow_problem
from bdnn.search.limits import projected
from bdnn.search.loading import begin_to_load, wait_until_ready
from bdnn.search.margin import widen_margin
from bdnn.search.objective import Objective
from bdnn.search.starts import Start, make_start, separating_start, straight_through
from bdnn.search.walk import search_within
from bdnn.training.base import Phase
from bdnn.training.limits import Shares, check_positive
from bdnn.training.run import Run

_PHASE = "search"
PAID = "the search ended because more time had stopped paying"
NOT_LOADED = "the compiled search was not loaded when its time was over"
_FIRST_TIME = " (the first search on a machine compiles for some twenty seconds)"
# Sweeps of the first round; every further round has twice as many, up to the last number.
_FIRST_SWEEPS, _MOST_SWEEPS = 64, 1024
# The same under constraints, where every walk has half as many again as the last, and walks after
# which a search that has stalled may end.
_FIRST_WALK, _LONGEST_WALK, _FEWEST_WALKS = 60, 600, 4
# Annealing sweeps over the margins of a start; sweeps of a shallow network, and of one of steps.
_START_SWEEPS, _SHALLOW_SWEEPS, _STEP_SWEEPS = 30, 64, 256
# Sweeps without gain, per second of patience, after which a small problem is taken for exhausted.
_QUIET_SWEEPS = 300
# A second walk from the best network with a third of its units drawn anew runs beside the first.
_WALKS = 2
_DEFAULT_OBJECTIVES = ("loss", "margin")
# Epochs that are too few for several trainings to be compared, and for any.
_FEW_EPOCHS, _FEWEST_EPOCHS = 30, 3
# Epochs that one way to train needs in a comparison.
_SHORTEST_EPOCHS = 8
# Inputs whose epochs tell how long one of all inputs takes, and how many of these.
_TIMED_INPUTS, _TIMED_EPOCHS = 8192, 3


@dataclass(frozen=True)
class Pace:
    """What fits into the time of a search."""

    epoch: float = 0.0  # seconds that gradients take to go through all samples once
    seconds: float = math.inf  # of the search
    start_share: float = 1.0  # part of these for the start
    shares: Shares = field(default_factory=Shares)

    @property
    def is_hopeless(self) -> bool:
        """Whether nothing can be compared at all."""
        return self.seconds < _FEWEST_EPOCHS * self.epoch

    @property
    def is_rushed(self) -> bool:
        """Whether a few epochs are all there is time for."""
        start = self.start_share * self.seconds
        return not self.is_hopeless and start < _FEW_EPOCHS * self.epoch

    def allows(self, seconds: float) -> bool:
        """Whether so many seconds are enough to train in several ways."""
        has_time = seconds * self.shares.recipe >= _SHORTEST_EPOCHS * self.epoch
        return self.is_rushed or (has_time and not self.is_hopeless)


def epoch_seconds(problem: Problem[OutputLoss], rng: np.random.Generator, seconds: float) -> float:
    """Measure an epoch of gradients, within a part of the seconds."""
    n_timed = min(len(problem.inputs), _TIMED_INPUTS)
    part = problem.subset(np.arange(n_timed))
    limit = min(1.0, 0.2 * seconds)
    slot = Slot.of(limit)
    moments = [slot.clock()]

    def take_time() -> bool:
        moments.append(slot.clock())
        return False

    straight_through(part, rng=rng, slot=slot.until(take_time), epochs=_TIMED_EPOCHS)
    # The first epoch comes after preparations that are made once, any may be disturbed, and the
    # last may be cut short.
    epochs = np.diff(moments)
    whole = epochs[:-1] if moments[-1] - moments[0] >= limit and len(epochs) > 1 else epochs
    return float(whole.min(initial=limit)) * len(problem.inputs) / n_timed


class Search:
    """What the phases of a search share."""

    def __init__(
        self,
        run: Run[Any],
        objectives: Sequence[str],
        wanted_margin: float | None,
        start: Start,
        patience: float,
    ) -> None:
        self.run, self.problem, self.patience = run, run.problem, patience
        self.start = start
        self.objective = Objective.create(objectives, run.problem.architecture, wanted_margin)
        check_positive("patience", patience)
        if run.problem.terms and self.objective.order not in (_DEFAULT_OBJECTIVES, ("loss",)):
            raise ModelError(
                f"objectives={self.objective.order!r} cannot be combined with "
                f"{run.problem.term_names}: leave objectives out, or give margins a price by "
                "Regularizer(saturated_margin=...)."
            )
        self.is_compiled = True  # whether the moves were loaded in time
        self.first: Network | None = None  # the network the search began with
        self.pace = Pace()  # what fits into its time
        self.spawn_seed = run.spawn_seed
        self.seed_of_draw: Callable[[int], np.random.SeedSequence] = run.seed_of_draw

    @property
    def best(self) -> Network:
        """The network at hand."""
        return self.run.best

    @property
    def loss_is_primary(self) -> bool:
        """Whether the loss comes first, so that a proof of its optimality ends the search."""
        return self.objective.order[0] == "loss"

    @property
    def wants_proof(self) -> bool:
        """Whether bounds and solvers are worth the time that is left."""
        return self.loss_is_primary and not self.is_rushed

    @property
    def is_rushed(self) -> bool:
        """Whether a choice by validation has no time for anything else."""
        return self.run.validation is not None and self.pace.is_rushed

    @property
    def widens(self) -> bool:
        """Whether later objectives follow, whose moves know no constraints."""
        return len(self.objective.order) > 1 and self.run.problem.is_free

    def keep(self, network: Network) -> None:
        """Take note of a network that could be returned."""
        self.run.offer(network, "validation")

    def refined(
        self,
        network: Network,
        objective: Objective,
        seconds: float,
        *,
        problem: Problem[OutputLoss] | None = None,
    ) -> Network:
        """Improve a network's later objectives, or its only one."""
        self.run.mark("margin")
        return widen_margin(
            self.problem if problem is None else problem,
            network,
            slot=self.run.slot("margin", seconds, until_close=False),
            seed=self.spawn_seed(),
            objectives=objective.order,
            wanted_margin=objective.wanted_margin,
        )

    def few_threads(self) -> Any:
        """No more threads for matrices than asked for, where gradients train more than a start.

        Their matrices are small, and threads that wait for each other on a busy machine make them
        many times slower. Asking takes milliseconds, more than some whole fits.
        """
        if self.run.validation is None:
            return nullcontext()
        return threadpool_limits(self.run.budget.threads, "blas")

    def is_slow(self, seconds: float) -> bool:
        """Whether moves would be judged longer than made, so that gradients do better."""
        return seconds < self.run.schedule.last_passes * self.run.pass_seconds


def is_ready(
    run: Run[Any], slot: Slot, objectives: Sequence[str], *, descends: bool = True
) -> bool:
    """Wait for compiled moves, whatever the loss is by now."""
    loading = run.slot("load", slot.remaining, until_close=False)
    return wait_until_ready(
        loading,
        run.problem.architecture,
        objectives=_moved(run, objectives),
        descends=descends,
    )


def _moved(run: Run[Any], objectives: Sequence[str]) -> Sequence[str]:
    """Objectives that moves are compiled for."""
    is_priced = any(term.prices_weights for term in run.problem.terms)
    return (*objectives, "sparsity") if is_priced else objectives


@dataclass(frozen=True, eq=False)
class Begin(Phase):
    """Begin with the user's network or a start, and widen its margins on the way down.

    Exact descent takes any way down and soon forgets what gradients have learnt. Moves that never
    raise the loss and widen the margin come nearly as low and generalise better. Under constraints
    every walk has a start of its own. Gradients train while moves are loaded or compiled.
    """

    search: Search

    name: ClassVar[str] = _PHASE

    def execute(self, run: Run[Any], slot: Slot) -> None:
        search, seconds = self.search, slot.remaining
        order = search.objective.order
        begin_to_load(run.problem.architecture, _moved(run, order))
        # The pace of a choice by validation is measured when nothing else runs.
        is_loaded = run.validation is None or is_ready(run, slot, order)
        if is_loaded and run.given is None and not run.problem.terms:
            with search.few_threads():
                self._begin(run, slot)
        if run.is_close:
            return
        if not is_loaded or not is_ready(run, slot, order):
            self._train_by_gradients(run)
        elif search.first is not None and not (search.is_slow(seconds) or run.stopping):
            with search.few_threads():
                self._widen(run, search.first, slot.part(most=run.schedule.start * seconds))

    def _begin(self, run: Run[Any], slot: Slot) -> None:
        search, schedule, seconds = self.search, run.schedule, slot.remaining
        order, rng = search.objective.order, np.random.default_rng(run.spawn_seed())
        if run.validation is not None and search.start == "straight_through":
            epoch = epoch_seconds(run.problem, rng, seconds)
            search.pace = Pace(epoch, seconds, schedule.start, schedule.selection)
        # More epochs do more for unseen samples than descent does, and all go into the choice.
        if search.is_rushed or len(run.problem.inputs) > LARGE:
            return
        if order == ("loss",):
            # Where nothing but the loss is wanted, planes that separate the classes are the end.
            plain = separating_start(run.problem)
            if plain is not None and run.offer(plain, _PHASE) and run.stopping:
                return
        share = schedule.slow_start if search.is_slow(seconds) else schedule.start
        search.first = make_start(
            run.problem, search.start, rng, slot=slot.part(most=share * seconds)
        )
        run.offer(search.first, _PHASE)
        if search.is_slow(seconds):
            reason = "the time limit left the start alone to train so large a network"
            run.end("feasible", reason)

    def _widen(self, run: Run[Any], start: Network, slot: Slot) -> None:
        objective = self.search.objective
        if objective.order[:2] == _DEFAULT_OBJECTIVES:
            widen_margin(
                run.problem,
                start,
                slot=slot,
                seed=run.spawn_seed(),
                objectives=objective.order[:2],
                wanted_margin=objective.wanted_margin,
                sweeps=_START_SWEEPS,
                on_network=lambda network: run.offer(network, _PHASE),
            )

    def _train_by_gradients(self, run: Run[Any]) -> None:
        """Do without compiled code, when that was not ready in time."""
        self.search.is_compiled = False
        run.end(
            "time limit",
            f"{NOT_LOADED}{_FIRST_TIME}, so that only gradients trained the network",
        )
        if not run.interrupted and run.given is None and self.search.first is None:
            rng = np.random.default_rng(run.budget.seed)
            slot = run.slot("gradients", max(0.05, run.schedule.gradients * run.remaining))
            network = straight_through(run.problem, rng=rng, slot=slot)
            run.offer(projected(run.problem, network, rng), "gradients")


@dataclass(frozen=True, eq=False)
class Descend(Phase):
    """Walk from the start, the best network and random ones until more time stops paying."""

    search: Search

    name: ClassVar[str] = _PHASE

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether moves are loaded, and gradients do not need the time."""
        return self.search.is_compiled and not self.search.is_rushed

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Walk, and say why the search ended."""
        pays = self._walk_within(run, slot) if run.problem.terms else self._walk(run, slot)
        run.end("feasible", run.reason if pays else PAID)

    def _walk(self, run: Run[Any], slot: Slot) -> bool:
        """Rounds of walks; tell whether they still paid when time was over."""
        search, quiet, number, sweeps = self.search, 0, 0, _FIRST_SWEEPS
        while not slot.is_over() and not (
            search.first is not None and search.is_slow(slot.remaining)
        ):
            before = run.loss
            done = descend(
                run.problem,
                slot=slot,
                seed=run.spawn_seed(),
                start=self._start(run, number, slot),
                target=run.target,
                max_sweeps=sweeps,
                restarts=1 if number == 0 else _WALKS,
                n_jobs=run.budget.threads,
                # Walks side by side report in an order that depends on the machine; what counts
                # is then the best of them at the end of the round.
                on_network=(lambda n: run.offer(n, _PHASE)) if number == 0 else None,
            )
            run.offer(done.network, _PHASE)
            quiet = 0 if run.loss < before else quiet + done.sweeps
            if quiet > _QUIET_SWEEPS * search.patience or run.is_stalled(search.patience):
                return False
            number, sweeps = number + 1, min(2 * sweeps, _MOST_SWEEPS)
        return True

    def _start(self, run: Run[Any], number: int, slot: Slot) -> Start:
        """Where a round begins: the start, an easier network, the best one, a random one."""
        if number == 0 and self.search.first is None:
            return self.search.start if run.given is None else run.given
        if number == 1:
            self._offer_easier(run, slot.part(run.schedule.easier))
        return "random" if number % 3 == 2 else run.best

    def _offer_easier(self, run: Run[Any], slot: Slot) -> None:
        """Depth never has to hurt, and neither do more values: both can copy less of it."""
        shape = run.problem.architecture
        if not shape.has_levels:
            problem, phase, sweeps = shallow_problem(run.problem), "shallow", _SHALLOW_SWEEPS
        elif shape.thresholds == "neuron":
            problem, phase, sweeps = of_steps(run.problem), "steps", _STEP_SWEEPS
        else:
            return
        if problem is None:
            return
        run.mark(phase)
        found = descend(
            problem,
            slot=slot,
            seed=run.spawn_seed(),
            start=self.search.start,
            target=run.target,
            max_sweeps=sweeps,
        )
        copy = as_levels if shape.has_levels else embed
        with suppress(ModelError):  # for example no spare unit to make a constant of
            run.offer(copy(found.network, shape), phase)

    def _walk_within(self, run: Run[Any], slot: Slot) -> bool:
        """The same with moves that keep constraints."""
        sweeps, walks, seconds = _FIRST_WALK, 0, slot.remaining

        def report(network: Network) -> None:
            run.offer(network, _PHASE)

        while not slot.is_over():
            if walks >= _FEWEST_WALKS and run.is_stalled(self.search.patience):
                return False
            rng = np.random.default_rng(run.spawn_seed())
            begin: Start = run.best if walks % 2 == 0 and run.network is not None else "random"
            if walks == 0:
                begin = self.search.start if run.given is None else run.given
            starting = slot.part(most=run.schedule.drawn_start * seconds)
            start = make_start(run.problem, begin, rng, slot=starting)
            search_within(run.problem, start, rng=rng, sweeps=sweeps, slot=slot, on_network=report)
            walks, sweeps = walks + 1, min(_LONGEST_WALK, sweeps * 3 // 2)
        return True
