"""Ways to train by gradients that do well on samples that no one has seen, and trials of them.

Each is tried on one part of the samples and judged by another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import embed, shallow_problem
from bdnn.search.objective import Objective
from bdnn.search.starts import best_single_features, straight_through
from bdnn.training.phases.search import Search

# Noise of networks trained by gradients, in ranks: what suits most data, and more of it; a deep one
# that could copy a shallow one gets more. Sums of fewer features than these average less of it out,
# and get less.
_JITTERS, _DEEP_JITTER, _MANY_FEATURES = (0.06, 0.12), 0.1, 12
# For two classes and for more: epochs, learning rate, and how much of a sample is spread over all
# classes. Of many classes each has few samples, which a network that was never in doubt about them
# fits too closely.
_EPOCHS, _RATES, _SMOOTHING = (100, 300), (0.02, 0.04), (0.0, 0.2)
# Noise along the differences of a class, for more than two classes. Two mostly overlap, and then it
# costs accuracy (two points on boston-housing; on digits, iris and wine it gains up to one).
_MIXUP = 0.8
# Share of units that begin with a single feature, for two classes and where there is one such unit
# for every feature at least.
_SINGLE_FEATURES = 0.5
# Inputs of more than two classes from which on depth itself is a better bet than a copy.
_MANY_INPUTS = 1000


@dataclass(frozen=True)
class Recipe:
    """Gradients with some noise, and then maybe moves for an objective."""

    is_copied: bool  # whether a shallow network is trained, for a deep one to copy
    jitter: float = 0.0  # noise of the inputs, in ranks as a share of all samples
    mixup: float = 0.0  # noise along the differences of a class, as their largest part
    objective: Objective | None = None  # what moves improve after the gradients
    # Whether outputs that look at one feature each take the place of gradients.
    has_single_features: bool = False


def gradient_recipes(problem: Problem[OutputLoss]) -> list[Recipe]:
    """Gradients alone, the best bet first, and then what differs most from it.

    That is more noise for two classes, less of it for more, and depth for a copy or the reverse.
    """
    usual, more = _JITTERS
    can_copy = shallow_problem(problem) is not None
    if problem.architecture.n_outputs <= 2:
        if can_copy:
            return [Recipe(True, usual), Recipe(False, _DEEP_JITTER)]
        return [Recipe(False, usual), Recipe(False, more)]
    if can_copy and len(problem.inputs) < _MANY_INPUTS:
        return [Recipe(True, usual, _MIXUP), Recipe(False, _DEEP_JITTER)]
    return [Recipe(False, _DEEP_JITTER if can_copy else usual, _MIXUP), Recipe(can_copy, usual)]


def noisy_gradients(
    problem: Problem[OutputLoss],
    *,
    rng: np.random.Generator,
    slot: Slot,
    recipe: Recipe | None = None,
    start: Network | None = None,
) -> Network:
    """Train by gradients in the way that suits the number of classes, features and layers.

    Without a recipe it is the best bet for the problem itself, without a copy.
    """
    shape = problem.architecture
    has_many, is_deep = shape.n_outputs > 2, len(shape.hidden) > 1
    own = (each for each in gradient_recipes(problem) if not each.is_copied)
    noise = next(own) if recipe is None else recipe
    averaged = min(1.0, np.sqrt(shape.n_features / _MANY_FEATURES))
    n_single = _SINGLE_FEATURES * shape.hidden[0] if shape.hidden and not has_many else 0.0
    return straight_through(
        problem,
        rng=rng,
        slot=slot,
        epochs=_EPOCHS[has_many],
        learning_rate=_RATES[has_many],
        jitter=averaged * noise.jitter,
        mixup=noise.mixup,
        smoothing=_SMOOTHING[has_many],
        single_features=_SINGLE_FEATURES if n_single >= shape.n_features else 0.0,
        # Without noise they fit too closely (credit-default, continuous weights: 0.6 points).
        has_tails=noise.jitter > 0 and (is_deep or not has_many),
        start=start,
    )


def full_seconds(problem: Problem[OutputLoss], epoch: float) -> float:
    """Seconds of a whole training by gradients, of which an epoch takes so many."""
    return epoch * _EPOCHS[problem.architecture.n_outputs > 2]


def loss_per_weight(problem: Problem[OutputLoss], network: Network) -> float:
    """Loss of a network per sample of weight 1."""
    return float(problem.value(network)) / problem.loss.total


class Trials:
    """Networks trained on one part of the samples and judged by another, within a time."""

    def __init__(
        self,
        search: Search,
        problem: Problem[OutputLoss],
        validation: Problem[OutputLoss],
        slot: Slot,
        *,
        first_draw: int = 0,
    ) -> None:
        self.search, self.problem, self.validation = search, problem, validation
        self.first_draw = first_draw
        self.slot = slot
        self.seconds = slot.remaining
        self.shallow = shallow_problem(problem)
        self.wide = replace(search.objective, order=("margin",))
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
            rng=np.random.default_rng(self.search.seed_of_draw(self.first_draw + draw)),
            slot=self.slot.part(most=seconds),
            recipe=recipe,
        )

    def of_single_features(self) -> Network | None:
        """Make the network whose outputs look at one feature each, if there is one.

        It takes next to no time, and on data of many features and much noise gradients take long to
        find anything better.
        """
        single = best_single_features(self.problem, np.random.default_rng(self.search.spawn_seed()))
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
        return self.search.refined(network, objective, seconds, problem=kind)

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
        return mistakes, loss_per_weight(self.problem, network)

    def learn(self, *, then: int) -> None:
        """Train by gradients in several ways; so many steps follow."""
        recipes = gradient_recipes(self.problem)
        if self.search.pace.is_rushed:
            kinds = (False,) if self.shallow is None else (True, False)
            recipes = [Recipe(is_copied) for is_copied in kinds]
            single = self.of_single_features()
            if single is not None:
                self._add_and_keep(single)
        if self.search.start != "straight_through":
            recipes = []
        for number, recipe in enumerate(recipes):
            seconds = self.share(then + len(recipes) - number)
            if self.search.pace.is_rushed:
                shares = self.search.pace.shares
                seconds = self.seconds * (shares.shallow if recipe.is_copied else shares.whole)
            network = self.gradients(recipe, seconds)
            if network is not None and self.search.pace.is_rushed:
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
        self.search.keep(self.whole(network))
