"""Choice by samples that were held out: among networks, or among ways to train one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.embedding import embed, shallow_problem
from bdnn.search.objective import Objective
from bdnn.search.starts import straight_through

if TYPE_CHECKING:
    from bdnn.training.descent import Search

# Noise of networks trained by gradients: what suits best differs from data to data.
_JITTERS = (0.1, 0.5, 0.3)
# A deep network and its copy of a shallow one, in turn: whether depth helps differs as well.
_DEEP_JITTERS, _SHALLOW_JITTERS = (0.5, 0.1), (0.1, 0.5)
# Noise of networks whose margins are widened at the price of some loss.
_WIDE = 0.5
# Where time is short there is one network of each kind, and these are their parts of it.
_RUSHED_JITTER, _SHALLOW_SHARE, _RUSHED_SHARE = 0.1, 0.15, 0.6
# Part of the time for the training on all samples, once it is known how.
_REFIT_SHARE = 0.4
# How much worse than usual the loss of a network may be, as a factor and then per sample, and how
# often it is drawn anew.
_WORSE, _MUCH_WORSE, _DRAWS = 1.5, 0.1, 3


@dataclass(frozen=True)
class Recipe:
    """Gradients with some noise, and then maybe moves for an objective.

    Parameters
    ----------
    is_copied : bool
        Whether a shallow network is trained, for a deep one to copy.
    jitter : float
        Noise of the inputs, in units of each feature's spread.
    objective : Objective or None
        What moves improve after the gradients.
    """

    is_copied: bool
    jitter: float
    objective: Objective | None = None


def choose_by_validation(search: Search, validation: TrainingProblem, seconds: float) -> None:
    """Take the network with the fewest validation errors, of equal ones the lowest loss.

    Candidates: the network at hand, also with wider margins at the same loss and at the price of
    some; networks that gradients alone have trained, for a deep one also copies of shallow
    networks; and the best of these with wider margins. Where time is short there are only a few,
    with more time each; more would only make the choice more of a lottery.
    """
    trials = _Trials(search, search.recorder.problem, validation, seconds)
    at_hand = search.best
    trials.add(at_hand if search.first is None else search.first)
    n_recipes = 1 if search.is_rushed else 3
    trials.learn(then=n_recipes)
    trials.widen_best(then=n_recipes - 1)
    trials.add(at_hand)
    for number, objective in enumerate((search.objective, trials.wide)[: n_recipes - 1]):
        left = trials.share(n_recipes - 1 - number)
        if left > 0:
            trials.add(search.refined(at_hand, objective, left))
    _take(search, trials.best)


def refit_by_validation(
    search: Search, training: TrainingProblem, validation: TrainingProblem, seconds: float
) -> None:
    """Find out by validation how to train, and train that way on all samples.

    The network at hand has seen all samples and cannot be judged; what made it competes by the
    start and its margins at the same loss on the training part. While there is time, other samples
    are held out in turn, because one part of a small table says little. Where time was too short
    for all that, the best network of the training part is taken.
    """
    if search.is_rushed:
        trials = _Trials(search, training, validation, seconds)
        trials.learn(then=1)
        trials.widen_best()
        if trials.is_ready:
            _take(search, trials.best)
        return
    recorder, ends = search.recorder, search.recorder.seconds + seconds
    found = _best_recipe(search, training, validation, (1.0 - _REFIT_SHARE) * seconds)
    if recorder.interrupted:
        return
    if found is not None:
        recipe, expected = found
        most = _WORSE * expected + _MUCH_WORSE
        for _ in range(_DRAWS):
            left = ends - recorder.seconds
            network = _Trials(search, recorder.problem, validation, left).made(recipe, left)
            if network is None or recorder.interrupted:
                break
            # Gradients sometimes end in a network that says nearly the same for all inputs.
            if _loss_per_mass(recorder.problem, network) <= most:
                _take(search, network)
                return
    left = ends - recorder.seconds
    if left > 0 and not recorder.interrupted:
        _take(search, search.refined(search.best, search.objective, left))


def _best_recipe(
    search: Search, training: TrainingProblem, validation: TrainingProblem, seconds: float
) -> tuple[Recipe, float] | None:
    """The recipe of the fewest validation errors and its usual loss; None: what has been done."""
    recorder, ends = search.recorder, search.recorder.seconds + seconds
    recipes = _recipes(search)
    scores: list[list[tuple[float, float]]] = []
    for part, held_out in _folds(search, training, validation):
        began = recorder.seconds
        trials = _Trials(search, part, held_out, ends - began)
        fold = [
            trials.score(recipe, trials.share(len(recipes) - number))
            for number, recipe in enumerate(recipes)
        ]
        if recorder.interrupted:
            return None
        if not scores or np.isfinite(fold).all():
            scores.append(fold)
        if len(recipes) == 1 or recorder.seconds + (recorder.seconds - began) > ends:
            break
    means = np.mean(scores, axis=0)
    best = min(range(len(recipes)), key=lambda number: tuple(means[number]))
    is_usual = recipes[best] == Recipe(False, 0.0, search.objective)
    return None if is_usual else (recipes[best], float(means[best, 1]))


def _loss_per_mass(problem: TrainingProblem, network: Network) -> float:
    return problem.loss(network) / float(problem.mass.sum())


def _recipes(search: Search) -> list[Recipe]:
    """Ways to train that differ enough to be worth a comparison."""
    wide = replace(search.objective, order=("margin",))
    is_deep = shallow_problem(search.recorder.problem) is not None
    plain = _gradient_recipes(is_deep) if search.start == "straight_through" else []
    return [
        *plain,
        # Moves in deep layers are slow and gain little.
        *(replace(r, objective=wide) for r in plain if (r.is_copied, r.jitter) == (is_deep, _WIDE)),
        Recipe(False, 0.0, search.objective),
    ]


def _gradient_recipes(is_deep: bool) -> list[Recipe]:
    if not is_deep:
        return [Recipe(False, jitter) for jitter in _JITTERS]
    pairs = zip(_DEEP_JITTERS, _SHALLOW_JITTERS, strict=True)
    return [r for deep, flat in pairs for r in (Recipe(False, deep), Recipe(True, flat))]


def _folds(
    search: Search, training: TrainingProblem, validation: TrainingProblem
) -> Iterator[tuple[TrainingProblem, TrainingProblem]]:
    """The given parts, and then others of like sizes, so that every sample has its turn."""
    yield training, validation
    whole = search.recorder.problem
    n_lines = len(whole.inputs)
    if n_lines < 2:
        return
    n_parts = min(n_lines, max(2, round(n_lines / len(validation.inputs))))
    rng = np.random.default_rng(search.spawn_seed())
    for lines in np.array_split(rng.permutation(n_lines), n_parts):
        yield whole.of_lines(np.setdiff1d(np.arange(n_lines), lines)), whole.of_lines(lines)


def _take(search: Search, network: Network) -> None:
    recorder = search.recorder
    if network.architecture != recorder.problem.architecture:
        network = embed(network, recorder.problem.architecture)
    if recorder.objective(network) > recorder.loss:
        search.message = "validation preferred a network of higher training loss"
    recorder.choose(network, "validation")


class _Trials:
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

    def share(self, steps: float) -> float:
        """Seconds for the next of so many steps."""
        recorder = self.search.recorder
        return 0.0 if recorder.interrupted else (self.ends - recorder.seconds) / steps

    def gradients(self, recipe: Recipe, seconds: float) -> Network | None:
        """Train by gradients, if there is time."""
        search = self.search
        kind = self.shallow if recipe.is_copied else self.problem
        if kind is None or seconds <= 0 or search.recorder.heartbeat("validation"):
            return None
        rng = np.random.default_rng(search.spawn_seed())
        return straight_through(kind, rng=rng, seconds=seconds, jitter=recipe.jitter)

    def moved(self, network: Network, objective: Objective, seconds: float) -> Network:
        """Improve a network by moves, if there is time."""
        is_whole = network.architecture == self.problem.architecture
        kind = self.problem if is_whole else self.shallow
        if seconds <= 0:
            return network
        return self.search.refined(network, objective, seconds, problem=kind)

    def made(self, recipe: Recipe, seconds: float) -> Network | None:
        """Follow a recipe, if there is time."""
        plain = replace(recipe, objective=None)
        parts = 1 if recipe.objective is None else 2
        ends = self.search.recorder.seconds + seconds
        network = self._plain.get(plain) or self.gradients(plain, seconds / parts)
        if network is None:
            return None
        self._plain[plain] = network
        if recipe.objective is None:
            return network
        return self.moved(network, recipe.objective, ends - self.search.recorder.seconds)

    def score(self, recipe: Recipe, seconds: float) -> tuple[float, float]:
        """Validation error of what a recipe makes, and its loss per sample."""
        network = self.made(recipe, seconds)
        if network is None:
            return np.inf, np.inf
        return self.validation.error(network), _loss_per_mass(self.problem, network)

    def learn(self, *, then: int) -> None:
        """Train by gradients in several ways; so many steps follow."""
        is_deep = self.shallow is not None
        recipes = _gradient_recipes(is_deep)
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
                    shape = self.search.recorder.problem.architecture
                    is_whole = network.architecture == shape
                    whole = network if is_whole else embed(network, shape)
                    self.search.recorder.offer(whole, "validation")

    def widen_best(self, *, then: int = 0) -> None:
        """Widen the margins of the best network so far at the price of some loss."""
        seconds = self.share(then + 1)
        if seconds > 0 and self.is_ready:
            self.add(self.moved(self.best, self.wide, seconds))
