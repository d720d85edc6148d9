"""Ways to train, tried on one part of the samples and judged by another; what there is time for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import embed, shallow_problem
from bdnn.search.objective import Objective
from bdnn.search.starts import Start, best_single_features, straight_through
from bdnn.selection.recipes import Recipe, gradient_recipes, noisy_gradients


class Trainer(Protocol):
    """The run that asks for a choice, as far as a choice knows it.

    That is all samples that its loss counts, what its moves minimise, where it begins and with
    which network it began, what fits into its time, and where seeds come from.
    """

    problem: Problem[OutputLoss]
    objective: Objective
    start: Start
    first: Network | None
    pace: Pace
    spawn_seed: Callable[[], np.random.SeedSequence]
    seed_of_draw: Callable[[int], np.random.SeedSequence]

    @property
    def best(self) -> Network:
        """The network at hand."""

    def keep(self, network: Network) -> None:
        """Take note of a network that could be returned."""

    def refined(
        self,
        network: Network,
        objective: Objective,
        seconds: float,
        *,
        problem: Problem[OutputLoss] | None = None,
    ) -> Network:
        """Improve a network's later objectives, or its only one."""


def loss_per_mass(problem: Problem[OutputLoss], network: Network) -> float:
    """Loss of a network per sample of weight 1."""
    return float(problem.value(network)) / problem.loss.total


class Trials:
    """Networks trained on one part of the samples and judged by another, within a time."""

    def __init__(
        self,
        trainer: Trainer,
        problem: Problem[OutputLoss],
        validation: Problem[OutputLoss],
        slot: Slot,
        *,
        first_draw: int = 0,
    ) -> None:
        self.trainer, self.problem, self.validation = trainer, problem, validation
        self.first_draw = first_draw
        self.slot = slot
        self.seconds = slot.remaining
        self.shallow = shallow_problem(problem)
        self.wide = replace(trainer.objective, order=("margin",))
        self._plain: dict[Recipe, Network] = {}
        self._found: list[tuple[float, Network]] = []

    def add(self, network: Network) -> None:
        """Judge a network."""
        self._found.append((self.validation.error(network), network))

    @property
    def is_ready(self) -> bool:
        """Whether there is anything to choose from."""
        return bool(self._found)

    @property
    def best(self) -> Network:
        """The network of the fewest validation errors."""
        least = min(error for error, _ in self._found)
        equal = [network for error, network in self._found if error == least]
        # A pass over all samples may take long, and mostly there is only one.
        return equal[0] if len(equal) == 1 else min(equal, key=self.problem.value)

    def whole(self, network: Network) -> Network:
        """The network itself, or a deep one that copies it."""
        shape = self.problem.architecture
        return network if network.architecture == shape else embed(network, shape)

    def share(self, steps: float) -> float:
        """Seconds for the next of so many steps."""
        return 0.0 if self.slot.is_stopped() else self.slot.remaining / steps

    def _kind(self, recipe: Recipe) -> Problem[OutputLoss]:
        return (self.shallow if recipe.is_copied else None) or self.problem

    def gradients(self, recipe: Recipe, seconds: float, draw: int = 0) -> Network | None:
        """Train by gradients, if there is time; draws of one number begin alike."""
        if seconds <= 0 or self.slot.is_stopped():
            return None
        return noisy_gradients(
            self._kind(recipe),
            rng=np.random.default_rng(self.trainer.seed_of_draw(self.first_draw + draw)),
            slot=self.slot.part(most=seconds),
            recipe=recipe,
        )

    def of_single_features(self) -> Network | None:
        """Make the network whose outputs look at one feature each, if there is one.

        It takes next to no time, and on data of many features and much noise gradients take long to
        find anything better.
        """
        single = best_single_features(
            self.problem, np.random.default_rng(self.trainer.spawn_seed())
        )
        if single is None:
            return None
        try:
            return embed(single, (self.shallow or self.problem).architecture)
        except ModelError:  # fewer units than outputs, or a layer above without weight 0
            return None

    def simplest(self, network: Network) -> Network:
        """The network, or one of single features if that makes fewer mistakes."""
        single = self.of_single_features()
        if single is None or self.problem.error(single) >= self.problem.error(network):
            return network
        return single

    def drawn(self, recipe: Recipe, seconds: float, draws: int) -> Network | None:
        """Train by gradients so many times, or as often as time allows, and keep the least loss."""
        slot, longest = self.slot.part(most=seconds), 0.0
        found: list[tuple[float, Network]] = []
        for draw in range(draws):
            left = slot.remaining
            if found and longest > left:
                break  # a network that runs out of time is worse than the others
            network = self.gradients(recipe, left, draw)
            if network is None:
                break
            longest = max(longest, left - slot.remaining)
            found.append((float(self._kind(recipe).value(network)), network))
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def moved(self, network: Network, objective: Objective, seconds: float) -> Network:
        """Improve a network by moves, if there is time."""
        is_whole = network.architecture == self.problem.architecture
        kind = self.problem if is_whole else self.shallow
        if seconds <= 0:
            return network
        return self.trainer.refined(network, objective, seconds, problem=kind)

    def made(self, recipe: Recipe, seconds: float, *, draws: int = 1) -> Network | None:
        """Follow a recipe, if there is time; ``draws`` as in :meth:`drawn`."""
        plain = replace(recipe, objective=None)
        parts = 1 if recipe.objective is None else 2
        slot = self.slot.part(most=seconds)
        network = self._plain.get(plain)
        if network is None and recipe.has_single_features:
            network = self.of_single_features()
        elif network is None:
            network = self.drawn(plain, seconds / parts, draws)
        if network is None:
            return None
        self._plain[plain] = network
        if recipe.objective is None:
            return network
        return self.moved(network, recipe.objective, slot.remaining)

    def judged(self, recipe: Recipe, seconds: float) -> tuple[FloatArray, float]:
        """Validation mistakes of what a recipe makes, and its loss per sample.

        Where there was no time to make anything, all is mistaken and the loss is infinite.
        """
        network = self.made(recipe, seconds)
        if network is None:
            return self.validation.loss.label_weight.sum(axis=1), np.inf
        mistakes = self.validation.loss.mistakes(network, self.validation.samples)
        return mistakes, loss_per_mass(self.problem, network)

    def learn(self, *, then: int) -> None:
        """Train by gradients in several ways; so many steps follow."""
        recipes = gradient_recipes(self.problem)
        if self.trainer.pace.is_rushed:
            kinds = (False,) if self.shallow is None else (True, False)
            recipes = [Recipe(is_copied) for is_copied in kinds]
            single = self.of_single_features()
            if single is not None:
                self._add_and_keep(single)
        if self.trainer.start != "straight_through":
            recipes = []
        for number, recipe in enumerate(recipes):
            seconds = self.share(then + len(recipes) - number)
            if self.trainer.pace.is_rushed:
                shares = self.trainer.pace.shares
                seconds = self.seconds * (shares.shallow if recipe.is_copied else shares.whole)
            network = self.gradients(recipe, seconds)
            if network is not None and self.trainer.pace.is_rushed:
                self._add_and_keep(network)
            elif network is not None:
                self.add(network)

    def widen_best(self, *, then: int = 0) -> None:
        """Widen the margins of the best network so far at the price of some loss."""
        seconds = self.share(then + 1)
        if seconds > 0 and self.is_ready:
            self.add(self.moved(self.best, self.wide, seconds))

    def _add_and_keep(self, network: Network) -> None:
        """Judge a network of a rushed run, which has no other yet that could be returned."""
        self.add(network)
        self.trainer.keep(self.whole(network))


# Epochs that are too few for several trainings to be compared, and for any.
_FEW_EPOCHS, _FEWEST_EPOCHS = 30, 3
# Epochs that one way to train needs in a comparison.
_SHORTEST_EPOCHS = 8
# Inputs whose epochs tell how long one of all inputs takes, and how many of these.
_TIMED_INPUTS, _TIMED_EPOCHS = 8192, 3


@dataclass(frozen=True)
class Shares:
    """Parts of the time of a choice by validation."""

    recipe: float = 0.1  # for one of several ways to train
    refit: float = 0.4  # for the training on all samples, once it is known how
    least: float = 0.5  # of a whole training that each way needs to be worth a comparison
    # For a network to be copied and for the network itself, where time is short. Samples are many
    # then and need no noise, and there is one network of each kind.
    shallow: float = 0.15
    whole: float = 0.6


@dataclass(frozen=True)
class Pace:
    """What fits into the time of a search."""

    epoch: float = 0.0  # seconds that gradients take to go through all samples once
    seconds: float = math.inf  # of the search
    start_share: float = 1.0  # part of these for the start
    shares: Shares = Shares()

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
