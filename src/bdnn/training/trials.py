"""Ways to train, tried on one part of the samples and judged by another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bdnn.activation import FloatArray
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.embedding import embed, shallow_problem
from bdnn.search.objective import Objective
from bdnn.search.starts import straight_through

if TYPE_CHECKING:
    from bdnn.training.search_run import Search

# Noise of networks trained by gradients, in ranks: what suits most data, and more of it; a deep one
# that could copy a shallow one gets more. Sums of fewer features than these average less of it out,
# and get less.
_JITTERS, _DEEP_JITTER, _MANY_FEATURES = (0.06, 0.12), 0.08, 12
# For two classes and for more: epochs, learning rate, and how much of a sample is spread over all
# classes. Of many classes each has few samples, which a network that was never in doubt about them
# fits too closely.
_EPOCHS, _RATES, _SMOOTHING = (100, 300), (0.02, 0.04), (0.0, 0.2)
# Where time is short, samples are many and need no noise. There is one network of each kind, and
# these are their parts of the time.
_RUSHED_JITTER, _SHALLOW_SHARE, _RUSHED_SHARE = 0.0, 0.15, 0.6


@dataclass(frozen=True)
class Recipe:
    """Gradients with some noise, and then maybe moves for an objective.

    Parameters
    ----------
    is_copied : bool
        Whether a shallow network is trained, for a deep one to copy.
    jitter : float
        Noise of the inputs, in ranks as a share of all samples.
    objective : Objective or None
        What moves improve after the gradients.
    """

    is_copied: bool
    jitter: float
    objective: Objective | None = None


def gradient_recipes(is_deep: bool) -> list[Recipe]:
    """Gradients alone, the best bet first: noise, and more of it or, after a copy, depth."""
    if is_deep:
        return [Recipe(True, _JITTERS[0]), Recipe(False, _DEEP_JITTER)]
    return [Recipe(False, jitter) for jitter in _JITTERS]


def noisy_gradients(
    problem: TrainingProblem,
    *,
    rng: np.random.Generator,
    seconds: float,
    stops: Callable[[], bool],
    jitter: float = _JITTERS[0],
    start: Network | None = None,
) -> Network:
    """Train by gradients in the way that suits the number of classes and features."""
    has_many = problem.architecture.n_outputs > 2
    averaged = min(1.0, np.sqrt(problem.architecture.n_features / _MANY_FEATURES))
    return straight_through(
        problem,
        rng=rng,
        seconds=seconds,
        epochs=_EPOCHS[has_many],
        learning_rate=_RATES[has_many],
        jitter=averaged * jitter,
        smoothing=_SMOOTHING[has_many],
        start=start,
        stops=stops,
    )


def full_seconds(problem: TrainingProblem, epoch: float) -> float:
    """Seconds of a whole training by gradients, of which an epoch takes so many."""
    return epoch * _EPOCHS[problem.architecture.n_outputs > 2]


def loss_per_mass(problem: TrainingProblem, network: Network) -> float:
    """Loss of a network per sample of weight 1."""
    return problem.loss(network) / float(problem.mass.sum())


class Trials:
    """Networks trained on one part of the samples and judged by another, within a time."""

    def __init__(
        self, search: Search, problem: TrainingProblem, validation: TrainingProblem, seconds: float
    ) -> None:
        self.search, self.problem, self.validation = search, problem, validation
        self.seconds = seconds
        self.ends = search.recorder.seconds + seconds
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
        return equal[0] if len(equal) == 1 else min(equal, key=self.problem.loss)

    def whole(self, network: Network) -> Network:
        """The network itself, or a deep one that copies it."""
        shape = self.problem.architecture
        return network if network.architecture == shape else embed(network, shape)

    def share(self, steps: float) -> float:
        """Seconds for the next of so many steps."""
        recorder = self.search.recorder
        return 0.0 if recorder.interrupted else (self.ends - recorder.seconds) / steps

    def _kind(self, recipe: Recipe) -> TrainingProblem:
        return (self.shallow if recipe.is_copied else None) or self.problem

    def gradients(self, recipe: Recipe, seconds: float) -> Network | None:
        """Train by gradients, if there is time."""
        recorder = self.search.recorder
        if seconds <= 0 or recorder.heartbeat("validation"):
            return None
        return noisy_gradients(
            self._kind(recipe),
            rng=np.random.default_rng(self.search.spawn_seed()),
            seconds=seconds,
            stops=lambda: recorder.heartbeat("validation"),
            jitter=recipe.jitter,
        )

    def drawn(self, recipe: Recipe, seconds: float, draws: int) -> Network | None:
        """Train by gradients so many times, or as often as time allows, and keep the least loss."""
        recorder = self.search.recorder
        ends, longest = recorder.seconds + seconds, 0.0
        found: list[tuple[float, Network]] = []
        for _ in range(draws):
            began = recorder.seconds
            if found and began + longest > ends:
                break  # a network that runs out of time is worse than the others
            network = self.gradients(recipe, ends - began)
            if network is None:
                break
            longest = max(longest, recorder.seconds - began)
            found.append((self._kind(recipe).loss(network), network))
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
        ends = self.search.recorder.seconds + seconds
        network = self._plain.get(plain) or self.drawn(plain, seconds / parts, draws)
        if network is None:
            return None
        self._plain[plain] = network
        if recipe.objective is None:
            return network
        return self.moved(network, recipe.objective, ends - self.search.recorder.seconds)

    def judged(self, recipe: Recipe, seconds: float) -> tuple[FloatArray, float]:
        """Validation mistakes of what a recipe makes, and its loss per sample.

        Where there was no time to make anything, all is mistaken and the loss is infinite.
        """
        network = self.made(recipe, seconds)
        if network is None:
            return self.validation.mass.sum(axis=1), np.inf
        return self.validation.mistakes(network), loss_per_mass(self.problem, network)

    def learn(self, *, then: int) -> None:
        """Train by gradients in several ways; so many steps follow."""
        is_deep = self.shallow is not None
        recipes = gradient_recipes(is_deep)
        if self.search.is_rushed:
            kinds = (True, False) if is_deep else (False,)
            recipes = [Recipe(is_copied, _RUSHED_JITTER) for is_copied in kinds]
        if self.search.start != "straight_through":
            recipes = []
        for number, recipe in enumerate(recipes):
            seconds = self.share(then + len(recipes) - number)
            if self.search.is_rushed:
                seconds = self.seconds * (_SHALLOW_SHARE if recipe.is_copied else _RUSHED_SHARE)
            network = self.gradients(recipe, seconds)
            if network is not None:
                self.add(network)
                if self.search.is_rushed:  # there is no other network yet that could be kept
                    self.search.recorder.offer(self.whole(network), "validation")

    def widen_best(self, *, then: int = 0) -> None:
        """Widen the margins of the best network so far at the price of some loss."""
        seconds = self.share(then + 1)
        if seconds > 0 and self.is_ready:
            self.add(self.moved(self.best, self.wide, seconds))
