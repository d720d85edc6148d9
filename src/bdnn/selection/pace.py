"""How fast gradients train a network, and so what a choice by validation has time for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.starts import straight_through

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
