"""A search by exact one-unit moves, to be run once or in parts, with what follows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.bounds import FREE
from bdnn.clock import Slot
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.descent import LARGE, descend
from bdnn.search.loading import wait_until_ready
from bdnn.search.margin import widen_margin
from bdnn.search.objective import Objective
from bdnn.search.starts import Start, make_start, separating_start, straight_through
from bdnn.training.choice import choose_by_validation, refit_by_validation
from bdnn.training.constrained import run_within
from bdnn.training.easier_start import easier_start
from bdnn.training.pace import Pace, epoch_seconds
from bdnn.training.run import Run

_PHASE = "search"
# Sweeps of the first round; every further round has twice as many, up to the last number.
_FIRST_SWEEPS, _MOST_SWEEPS = 64, 1024
# Share of the time for the start and again for its margins, and annealing sweeps over these.
_START_SHARE, _START_SWEEPS = 0.25, 30
# Share of the time for gradients where nothing else fits into it.
_LONG_START_SHARE = 0.8
# Sweeps without gain, per second of patience, after which a small problem is taken for exhausted.
_QUIET_SWEEPS = 300
# Forward passes over all samples after the last moment at which a search can stop.
_LAST_PASSES = 16
# A second walk from the best network with a third of its units drawn anew runs beside the first.
_WALKS = 2
# First part of the key of seeds that are not drawn in turn.
_DRAWN = 2**31


class Search:
    """A recorder's search with its random seeds, to be run once or in parts."""

    def __init__(
        self,
        recorder: Run[OutputLoss],
        objective: Objective,
        start: Start,
        patience: float,
    ) -> None:
        self.recorder = recorder
        self.objective = objective
        self.start = start
        self.patience = patience
        self.message = ""
        self.is_compiled = True
        self.first: Network | None = None
        self.pace = Pace()
        self._seeds = np.random.SeedSequence(recorder.budget.seed)

    def spawn_seed(self) -> np.random.SeedSequence:
        """Draw the next seed; all of a run's seeds follow from the budget's."""
        return self._seeds.spawn(1)[0]

    def seed_of_draw(self, draw: int) -> np.random.SeedSequence:
        """Seed of one of several networks trained alike, whatever was drawn before.

        So ways to train differ by what they do and not by luck, the clock has no say in where the
        last training begins, and a deep network copies the very network that a shallow one is.
        """
        return np.random.SeedSequence(self._seeds.entropy, spawn_key=(_DRAWN, draw))

    @property
    def is_rushed(self) -> bool:
        """Whether validation is to choose and there is time for a few epochs only."""
        return self.pace.is_rushed

    @property
    def search_share(self) -> float:
        """Part of the time for the first objective; the rest is for the others."""
        constrained = bool(self.recorder.problem.terms)
        return 1.0 if len(self.objective.order) == 1 or constrained else 0.7

    @property
    def is_led_by_loss(self) -> bool:
        """Whether the loss comes first, so that a proof of its optimality ends the search."""
        return self.objective.order[0] == "loss"

    def raise_bound(self) -> None:
        """Take the bounds that need no solver."""
        recorder = self.recorder
        slot = recorder.slot("bound", min(2.0, 0.2 * recorder.remaining))
        for bound in FREE.bounds(recorder.problem, slot, recorder.loss):
            recorder.prove(bound, "bound")

    def run(self, *, seconds: float) -> str:
        """Descend on the loss from the best start at hand; return why the search ended."""
        recorder = self.recorder
        self.raise_bound()
        if recorder.problem.terms:
            return run_within(self, recorder.problem, seconds=seconds)
        slot = recorder.slot(_PHASE, seconds)
        levels = recorder.problem.architecture.has_levels
        if not wait_until_ready(recorder.slot("load", seconds, until_close=False), levels=levels):
            return self._run_uncompiled()
        with self._few_threads():
            self._begin(slot)
        if self.is_rushed:
            return "feasible"
        quiet = 0
        for number, sweeps in enumerate(_rounds()):
            left = slot.remaining
            if slot.is_over() or (self.first is not None and self._is_slow(left)):
                break
            before = recorder.loss
            done = descend(
                recorder.problem,
                slot=slot,
                seed=self.spawn_seed(),
                start=self._round_start(number, slot),
                target=recorder.target,
                max_sweeps=sweeps,
                restarts=1 if number == 0 else _WALKS,
                n_jobs=recorder.budget.threads,
                # Walks side by side report in an order that depends on the machine; what counts
                # is then the best of them at the end of the round.
                on_network=self._listen if number == 0 else None,
            )
            recorder.offer(done.network, _PHASE)
            quiet = 0 if recorder.loss < before else quiet + done.sweeps
            if quiet > _QUIET_SWEEPS * self.patience or recorder.is_stalled(self.patience):
                self.message = "the search ended because more time had stopped paying"
                return "feasible"
        return "time limit" if recorder.remaining <= 0 else "feasible"

    def _run_uncompiled(self) -> str:
        """Train by gradients, which need no compiled code, when that was not ready in time."""
        recorder = self.recorder
        self.is_compiled = False
        self.message = (
            "the compiled search was not loaded when its time was over (the first search on a "
            "machine compiles for about half a minute), so that only gradients trained the network"
        )
        if not recorder.interrupted and recorder.given is None:
            network = straight_through(
                recorder.problem,
                rng=np.random.default_rng(recorder.budget.seed),
                slot=recorder.slot("gradients", max(0.05, 0.5 * recorder.remaining)),
            )
            recorder.offer(network, "gradients")
        return "time limit"

    def refine(self, *, seconds: float) -> None:
        """Serve the objectives after the loss, which never rises by it if it comes first."""
        recorder = self.recorder
        reserve = _LAST_PASSES * recorder.pass_seconds
        # A rushed run has trained nothing yet.
        seconds = max(seconds - reserve, 0.3 * seconds) if self.is_rushed else seconds - reserve
        if seconds <= 0 or recorder.interrupted or not self.is_compiled:
            return
        if recorder.problem.terms:
            return  # margins are widened by moves that know no rules
        training, validation = recorder.training_part, recorder.validation
        if training is not None and validation is not None and self._compares(seconds):
            with self._few_threads():
                refit_by_validation(self, training, validation, seconds)
        elif training is None and validation is not None:
            with self._few_threads():
                choose_by_validation(self, validation, seconds)
        elif len(self.objective.order) > 1 or not self.is_led_by_loss:
            refined = self.refined(self.best, self.objective, seconds)
            if self.is_led_by_loss:
                recorder.offer(refined, "margin", or_equal=True)
            else:
                recorder.choose(refined, "margin")

    def _compares(self, seconds: float) -> bool:
        """Whether there is time to train in several ways; a given network is just trained on."""
        if self.recorder.given is not None:
            return False
        if self.pace.allows(seconds):
            return True
        self.recorder.note("the time limit left no time to find out by validation how to train")
        return False

    def refined(
        self,
        network: Network,
        objective: Objective,
        seconds: float,
        *,
        problem: Problem[OutputLoss] | None = None,
    ) -> Network:
        """Improve a network's later objectives, or its only one."""
        self.recorder.mark("margin")
        return widen_margin(
            self.recorder.problem if problem is None else problem,
            network,
            slot=self.recorder.slot("margin", seconds, until_close=False),
            seed=self.spawn_seed(),
            objectives=objective.order,
            wanted_margin=objective.wanted_margin,
        )

    def _begin(self, slot: Slot) -> None:
        """Begin with the user's network or a start, and widen its margins on the way down.

        Exact descent takes any way down and soon forgets what gradients have learnt. Moves that
        never raise the loss and widen the margin come nearly as low and generalise better.
        """
        recorder, order = self.recorder, self.objective.order
        seconds = slot.remaining
        if recorder.given is not None:
            return
        rng = np.random.default_rng(self.spawn_seed())
        if recorder.validation is not None and self.start == "straight_through":
            epoch = epoch_seconds(recorder.problem, rng, seconds)
            self.pace = Pace(epoch, seconds, _START_SHARE)
        # More epochs do more for unseen samples than descent does, and all go into the choice.
        if self.is_rushed or len(recorder.problem.inputs) > LARGE:
            return
        if order == ("loss",):
            # Where nothing but the loss is wanted, planes that separate the classes are the end.
            plain = separating_start(recorder.problem)
            if plain is not None and recorder.offer(plain, _PHASE) and recorder.stopping:
                return
        share = _LONG_START_SHARE if self._is_slow(seconds) else _START_SHARE
        self.first = make_start(
            recorder.problem, self.start, rng, slot=slot.part(most=share * seconds)
        )
        recorder.offer(self.first, _PHASE)
        if self._is_slow(seconds):
            self.message = "the time limit left the start alone to train so large a network"
            return
        if order[:2] != ("loss", "margin") or recorder.stopping:
            return
        widen_margin(
            recorder.problem,
            self.first,
            slot=slot.part(most=_START_SHARE * seconds),
            seed=self.spawn_seed(),
            objectives=order[:2],
            wanted_margin=self.objective.wanted_margin,
            sweeps=_START_SWEEPS,
            on_network=self._listen,
        )

    def _few_threads(self) -> Any:
        """No more threads for matrices than asked for, where gradients train more than a start.

        Their matrices are small, and threads that wait for each other on a busy machine make them
        many times slower. Asking takes milliseconds, more than some whole fits.
        """
        if self.recorder.validation is None:
            return nullcontext()
        return threadpool_limits(self.recorder.budget.threads, "blas")

    def _is_slow(self, seconds: float) -> bool:
        """Whether moves would be judged longer than made, so that gradients do better."""
        return seconds < _LAST_PASSES * self.recorder.pass_seconds

    def _round_start(self, number: int, slot: Slot) -> Start:
        """Where a round begins: the start, a shallow network, the best one, a random one."""
        if number == 0 and self.first is None:
            given = self.recorder.given
            return self.start if given is None else given
        if number == 1:
            easier_start(self, slot)
            return self.best
        return "random" if number % 3 == 2 else self.best

    @property
    def best(self) -> Network:
        """The network at hand."""
        network = self.recorder.network
        return self.recorder.problem.constant_network() if network is None else network

    def _listen(self, network: Network) -> None:
        self.recorder.offer(network, _PHASE)


def _rounds() -> Iterator[int]:
    sweeps = _FIRST_SWEEPS
    while True:
        yield sweeps
        sweeps = min(2 * sweeps, _MOST_SWEEPS)
