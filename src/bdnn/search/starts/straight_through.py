"""Training by straight-through gradients, in numpy: a good start, with no claim to optimality."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.starts.latent_weights import LatentWeights, box, with_tails
from bdnn.search.starts.levels import as_levels, of_steps
from bdnn.search.starts.single_features import allows_single_features, single_feature_start


def straight_through(
    problem: TrainingProblem,
    *,
    rng: np.random.Generator,
    seconds: float,
    epochs: int = 100,
    learning_rate: float = 0.02,
    jitter: float = 0.0,
    drift: float = 0.0,
    smoothing: float = 0.0,
    single_features: float = 0.0,
    has_tails: bool = False,
    start: Network | None = None,
    stops: Callable[[], bool] | None = None,
) -> Network:
    """Train by straight-through gradients and return the last network.

    Parameters
    ----------
    problem : TrainingProblem
    rng : numpy.random.Generator
    seconds : float
        Time limit; the learning rate falls to zero over the epochs that fit into it.
    epochs : int
    learning_rate : float
    jitter : float
        Spread of the noise that every batch gets, in ranks as a share of all samples.
    drift : float
        Largest part of the difference of two samples of its class that a sample is moved by.
    smoothing : float
        Part of every sample that is spread evenly over all classes, which keeps scores from growing
        and all samples of account.
    single_features : float
        Share of the first layer's units that begin with a single feature, where units can.
    has_tails : bool
        Whether gradients also pass units far from their threshold, the weaker the farther.
    start : Network, optional
        Where to begin, a network of steps; a random one by default.
    stops : callable () -> bool, optional
        Asked after every epoch; True ends the training.
    """
    if problem.architecture.n_outputs == 1 or len(problem.inputs) == 0:
        return problem.constant_network()
    if problem.architecture.activations:
        shape = problem.architecture
        if start is not None:
            raise ModelError(
                f"start must be None for units of several values, got {start!r}: leave it out."
            )
        steps = straight_through(
            of_steps(problem),
            rng=rng,
            seconds=seconds,
            epochs=epochs,
            learning_rate=learning_rate,
            jitter=jitter,
            drift=drift,
            smoothing=smoothing,
            has_tails=has_tails,
            stops=stops,
        )
        return as_levels(steps, shape)
    started, seconds = time.monotonic(), max(seconds, 1e-3)
    can_be_single = problem.architecture.hidden and allows_single_features(problem.architecture)
    if start is None and single_features and can_be_single:
        start = single_feature_start(problem, rng, share=single_features)
    trainer = LatentWeights(problem, start, rng, smoothing, with_tails if has_tails else box)
    trainer.make_noise(jitter, drift)
    progress, is_timed = 0.0, False
    for epoch in range(epochs):
        progress = max(progress, epoch / epochs)
        for rows in trainer.batches():
            used = (time.monotonic() - started) / seconds
            if used >= 1.0:
                break
            # Where time and not the number of epochs is short, the rate follows the clock.
            progress = max(progress, used) if is_timed else progress
            trainer.learn(rows, learning_rate * (1.0 - progress))
        is_timed = is_timed or used > 1.5 * (epoch + 1) / epochs
        if (stops is not None and stops()) or used >= 1.0:
            break
    return trainer.network()
