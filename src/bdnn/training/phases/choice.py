"""What follows the search: wider margins, or a choice by samples that were held out.

These choose among networks, or among ways to train one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.training.base import Phase
from bdnn.training.phases.search import Search, is_ready
from bdnn.training.phases.trials import (
    Recipe,
    Trials,
    full_seconds,
    gradient_recipes,
    loss_per_weight,
)
from bdnn.training.run import Run

# Standard errors by which another way to train must be better than the best bet to replace it.
_CLEARLY = 1.5
# How much worse than usual the loss of a network may be, as a factor and then per sample.
_WORSE, _MUCH_WORSE = 1.5, 0.1
# Networks trained on all samples, of which that of the least loss is kept.
_DRAWS = 7
_NO_TIME = "the time limit left no time to find out by validation how to train"


@dataclass(frozen=True, eq=False)
class Widen(Phase):
    """Serve the objectives after the loss, which never rises by it if it comes first.

    With held-out samples ways to train, or networks, are compared instead.
    """

    search: Search

    name: ClassVar[str] = "margin"
    is_final: ClassVar[bool] = True
    chooses: ClassVar[bool] = True

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether anything follows the loss, and there are moves for it."""
        wants = run.validation is not None or self.search.widens or not self.search.loss_is_primary
        return wants and self.search.is_compiled and run.problem.is_free

    def execute(self, run: Run[Any], slot: Slot) -> None:
        search, seconds = self.search, slot.remaining
        reserve = run.schedule.last_passes * run.pass_seconds
        # A rushed run has trained nothing yet.
        least = run.schedule.rushed * seconds if search.is_rushed else 0.0
        slot = run.slot(self.name, max(seconds - reserve, least), until_close=False)
        if slot.is_over() or not is_ready(run, slot, search.objective.order):
            return
        training, validation = run.training_part, run.validation
        found: Network | None = None
        if validation is not None and (training is None or self._compares(run, slot.remaining)):
            with search.few_threads():
                found = (
                    choose_by_validation(search, validation, slot)
                    if training is None
                    else refit_by_validation(search, training, validation, slot)
                )
            if found is not None:
                run.choose_by_validation(found)
        elif search.widens or not search.loss_is_primary:
            refined = search.refined(run.best, search.objective, slot.remaining)
            if search.loss_is_primary:
                run.offer(refined, "margin", or_equal=True)
            else:
                run.choose(refined, "margin")

    def _compares(self, run: Run[Any], seconds: float) -> bool:
        """Whether there is time to train in several ways; a given network is just trained on."""
        if run.given is not None:
            return False
        if not self.search.pace.allows(seconds):
            run.note(_NO_TIME)
            return False
        return True


def choose_by_validation(search: Search, validation: Problem[OutputLoss], slot: Slot) -> Network:
    """Find the network with the fewest validation errors, of equal ones the lowest loss.

    Candidates: the network at hand, also with wider margins at the same loss and at the price of
    some; networks that gradients alone have trained, for a deep one also copies of shallow
    networks; and the best of these with wider margins. Where time is short there are only a few,
    with more time each, and outputs of one feature each; more would only make the choice more of a
    lottery.
    """
    trials = Trials(search, search.problem, validation, slot)
    at_hand = search.best
    trials.add(at_hand if search.first is None else search.first)
    n_recipes = 1 if search.pace.is_rushed else 3
    trials.learn(then=n_recipes)
    trials.widen_best(then=n_recipes - 1)
    trials.add(at_hand)
    for number, objective in enumerate((search.objective, trials.wide)[: n_recipes - 1]):
        left = trials.share(n_recipes - 1 - number)
        if left > 0:
            trials.add(search.refined(at_hand, objective, left))
    return trials.whole(trials.best)


def refit_by_validation(
    search: Search, training: Problem[OutputLoss], validation: Problem[OutputLoss], slot: Slot
) -> Network | None:
    """Find out by validation how to train, and train that way on all samples.

    The network at hand has seen all samples and cannot be judged; what made it competes by the
    start and its margins at the same loss on the training part. While there is time, other samples
    are held out in turn, because one part of a small table says little. Where time is too short
    for a comparison, the best bet is trained on all samples, and outputs of one feature each take
    its place if they make fewer mistakes there; where it is even too short for that, the best
    network of the training part is taken. None where nothing was found in time.
    """
    if search.pace.is_rushed:
        trials = Trials(search, training, validation, slot)
        trials.learn(then=1)
        trials.widen_best()
        return trials.whole(trials.best) if trials.is_ready else None
    found = _best_recipe(search, training, validation, slot.part(1.0 - search.pace.shares.refit))
    if slot.is_stopped():
        return None
    if found is not None:
        recipe, expected = found
        whole = search.problem
        same = loss_per_weight(whole, whole.constant_network())
        # Nearer to what is usual than to a network that says the same for all inputs.
        if expected is None:
            most = (loss_per_weight(whole, search.best) + same) / 2
        else:
            most = min(_WORSE * expected + _MUCH_WORSE, max(expected, (expected + same) / 2))
        trials = Trials(search, whole, validation, slot)
        network = trials.made(recipe, trials.share(1), draws=_DRAWS)
        if network is None or slot.is_stopped():
            return None
        if expected is None:
            network = trials.simplest(network)
        # Gradients sometimes end in a network that says nearly the same for all inputs.
        if loss_per_weight(whole, network) <= most:
            return trials.whole(network)
    if slot.is_over():
        return None
    return search.refined(search.best, search.objective, slot.remaining)


def _best_recipe(
    search: Search, training: Problem[OutputLoss], validation: Problem[OutputLoss], slot: Slot
) -> tuple[Recipe, float | None] | None:
    """The best recipe by validation and its usual loss, if known; None: what has been done.

    The first recipe is the best bet before anything is known. Taking whatever makes the fewest
    mistakes costs accuracy: differences are mostly chance, and what is lucky on the samples at
    hand is, if anything, less lucky on others. So another one has to be clearly better.
    """
    recipes = _recipes(search)
    if len(recipes) == 1:
        return None
    whole = full_seconds(search.problem, search.pace.epoch)
    if slot.remaining / len(recipes) < search.pace.shares.least * whole:
        return recipes[0], None
    single = Recipe(True, has_single_features=True)
    mistakes: list[FloatArray] = []
    losses: list[list[float]] = []
    for number, (part, held_out) in enumerate(_folds(search, training, validation)):
        began = slot.remaining
        # Ways to train begin alike on one part, and otherwise on another.
        trials = Trials(search, part, held_out, slot, first_draw=number)
        fold = [
            trials.judged(recipe, trials.share(len(recipes) - place))
            for place, recipe in enumerate(recipes)
        ]
        is_whole = np.isfinite([loss for _, loss in fold]).all()
        fold.append(trials.judged(single, 0.0))  # made in next to no time, where it can be
        if slot.is_stopped():
            return None
        if not losses or is_whole:
            mistakes.append(np.array([each for each, _ in fold]))
            losses.append([loss for _, loss in fold])
        if began - slot.remaining > slot.remaining:  # another one would not be finished
            break
    best = clearly_best(np.concatenate(mistakes, axis=1))
    if best == len(recipes) - 1:
        return None
    return [*recipes, single][best], float(np.mean(losses, axis=0)[best])


def clearly_best(
    # (n_ways, n_samples): weight of every sample that a way to train puts into a wrong class.
    mistakes: FloatArray,
) -> int:
    """Find the row of the fewest mistakes among those clearly better than the first, or that."""
    gains = mistakes[0] - mistakes
    gain = gains.sum(axis=1)
    error = np.sqrt(np.square(gains).sum(axis=1))
    return int(np.argmax(np.where(gain > _CLEARLY * error, gain, 0.0)))


def _recipes(search: Search) -> list[Recipe]:
    """Ways to train that differ enough to compare: the best bet first, last what has been done."""
    usual = Recipe(False, 0.0, objective=search.objective)
    if search.start != "straight_through":
        return [usual]
    plain = gradient_recipes(search.problem)
    wide = replace(plain[0], objective=replace(search.objective, order=("margin",)))
    return [*plain, wide, usual]


def _folds(
    search: Search, training: Problem[OutputLoss], validation: Problem[OutputLoss]
) -> Iterator[tuple[Problem[OutputLoss], Problem[OutputLoss]]]:
    """The given parts, and then others of like sizes, so that every sample has its turn."""
    yield training, validation
    whole = search.problem
    n_lines = len(whole.inputs)
    if n_lines < 2:
        return
    n_parts = min(n_lines, max(2, round(n_lines / len(validation.inputs))))
    rng = np.random.default_rng(search.spawn_seed())
    for lines in np.array_split(rng.permutation(n_lines), n_parts):
        yield whole.subset(np.setdiff1d(np.arange(n_lines), lines)), whole.subset(lines)
