"""Ways to train by gradients that do well on samples that no one has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import shallow_problem
from bdnn.search.objective import Objective
from bdnn.search.starts import straight_through

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
_DRIFT = 0.8
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
    drift: float = 0.0  # noise along the differences of a class, as their largest part
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
        return [Recipe(True, usual, _DRIFT), Recipe(False, _DEEP_JITTER)]
    return [Recipe(False, _DEEP_JITTER if can_copy else usual, _DRIFT), Recipe(can_copy, usual)]


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
        drift=noise.drift,
        smoothing=_SMOOTHING[has_many],
        single_features=_SINGLE_FEATURES if n_single >= shape.n_features else 0.0,
        # Without noise they fit too closely (credit-default, continuous weights: 0.6 points).
        has_tails=noise.jitter > 0 and (is_deep or not has_many),
        start=start,
    )


def full_seconds(problem: Problem[OutputLoss], epoch: float) -> float:
    """Seconds of a whole training by gradients, of which an epoch takes so many."""
    return epoch * _EPOCHS[problem.architecture.n_outputs > 2]
