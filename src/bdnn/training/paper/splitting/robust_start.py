"""A random network whose first-layer activations hold in balls around all inputs."""

from __future__ import annotations

import numpy as np

from bdnn.mip import Robust
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.starts import random_start
from bdnn.training.paper.splitting.epoch import EpochProblem
from bdnn.training.paper.splitting.proposals import propose_directions
from bdnn.training.paper.splitting.units import allowed_units
from bdnn.training.robust import settled

# Directions of the first pool; every further attempt has twice as many.
_DIRECTIONS = 300
_ATTEMPTS = 3


def robust_start(
    problem: Problem[OutputLoss], robust: Robust, rng: np.random.Generator
) -> Network | None:
    """Draw a network and give it units that cut no ball, those that halve the data rather.

    Weights at random would leave few gaps between the balls: sums of many features overlap. None
    where no network was found.
    """
    network = random_start(problem, rng)
    shape = problem.architecture
    # Every input is a cluster of its own.
    each = EpochProblem(problem, np.arange(len(problem.inputs)), robust)
    for attempt in range(_ATTEMPTS):
        directions = propose_directions(each, shape.weights[0], _DIRECTIONS << attempt, rng)
        pool = allowed_units(each, directions, shape.thresholds)
        if len(pool) > 0:
            break
    if len(pool) > 0:
        n_on = pool.on.sum(axis=1)
        chance = np.minimum(n_on, pool.on.shape[1] - n_on)
        places = rng.choice(len(pool), size=shape.widths[1], p=chance / chance.sum())
        units = pool.take(places)
        network = Network(
            shape, (units.W, *network.weights[1:]), (units.t, *network.thresholds[1:])
        )
    return settled(network, robust, problem.inputs)
