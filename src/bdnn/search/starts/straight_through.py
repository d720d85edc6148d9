"""Training by straight-through gradients, in numpy: a good start, with no claim to optimality."""

from __future__ import annotations

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import as_levels, of_steps
from bdnn.search.starts.latent_weights import LatentWeights, box, with_tails
from bdnn.search.starts.single_features import allows_single_features, single_feature_start


def straight_through(
    problem: Problem[OutputLoss],
    *,
    rng: np.random.Generator,
    # The learning rate falls to zero over the epochs that fit into it; whether it was stopped is
    # asked after every epoch.
    slot: Slot,
    epochs: int = 100,
    learning_rate: float = 0.02,
    # Spread of the noise that every batch gets, in ranks as a share of all samples.
    jitter: float = 0.0,
    # Largest part of the difference of two samples of its class that a sample is moved by.
    drift: float = 0.0,
    # Part of every sample that is spread evenly over all classes, which keeps scores from growing
    # and all samples of account.
    smoothing: float = 0.0,
    # Share of the first layer's units that begin with a single feature, where units can.
    single_features: float = 0.0,
    # Whether gradients also pass units far from their threshold, the weaker the farther.
    has_tails: bool = False,
    start: Network | None = None,  # where to begin, a network of steps; a random one by default
) -> Network:
    """Train by straight-through gradients and return the last network."""
    if problem.architecture.n_outputs == 1 or len(problem.inputs) == 0:
        return problem.constant_network()
    shape = problem.architecture
    if shape.has_levels:
        if start is not None:
            raise ModelError(
                f"start must be None for units of several values, got {start!r}: leave it out."
            )
        problem = of_steps(problem)
    seconds = max(slot.remaining, 1e-3)
    can_be_single = problem.architecture.hidden and allows_single_features(problem.architecture)
    if start is None and single_features and can_be_single:
        start = single_feature_start(problem, rng, share=single_features)
    trainer = LatentWeights(problem, start, rng, smoothing, with_tails if has_tails else box)
    trainer.make_noise(jitter, drift)
    progress, is_timed = 0.0, False
    for epoch in range(epochs):
        progress = max(progress, epoch / epochs)
        for rows in trainer.batches():
            used = 1.0 - slot.remaining / seconds if np.isfinite(seconds) else 0.0
            if used >= 1.0:
                break
            # Where time and not the number of epochs is short, the rate follows the clock.
            progress = max(progress, used) if is_timed else progress
            trainer.learn(rows, learning_rate * (1.0 - progress))
        is_timed = is_timed or used > 1.5 * (epoch + 1) / epochs
        if slot.is_over():
            break
    network = trainer.network()
    return as_levels(network, shape) if shape.has_levels else network
