"""Training by straight-through gradients, in numpy: a good start, with no claim to optimality.

Every weight has a latent real value ``v``; the forward pass uses the nearest weight ``q(v)`` of the
set and step units, the backward pass pretends that ``dq/dv = 1`` and that the step is the identity
where ``|z| <= 1``, with ``z`` the pre-activation above threshold in units of its typical size; or
that its slope has long tails, ``1 / (1 + 2 |z|)^2``, with which deep networks learn more.
The outputs' scores go through a softmax and cross entropy (a logistic function where one output
stands for two classes), so that margins grow; Adam takes the steps.

Noise of inputs is in ranks. Of one spread it would blur what lies close together and leave outliers
alone. Moved by ranks, a value goes little where samples are dense and far where they are rare,
whatever the feature's unit, so that one amount of noise suits most data. How features vary together
ranks do not know; differences of two samples of a class do. A feature of two values has no small
moves and is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray, weighted_sums
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import as_levels, of_steps
from bdnn.search.kernels.arrays import IntArray
from bdnn.search.starts.simple import allows_single_features, random_start, single_feature_start

_BATCH = 64
_LARGEST_BATCH = 1024
_DECAY = (0.9, 0.999)
_SMALLEST = 1e-8
# Inputs in units of the typical sum up to which single precision tells neighbours apart.
_ORDINARY = 1e3
# How far a latent value may be from its weight, in units of the distance of two weights.
_INSIDE = 0.49
# Scores are divided by this times the square root of the fan-in before the softmax.
_SOFTNESS = 0.5


class LatentWeights:
    """Latent weights and thresholds with the moments of Adam."""

    def __init__(
        self,
        problem: Problem[OutputLoss],
        start: Network | None,  # whose weights the latent ones are near; None for a random network
        rng: np.random.Generator,
        smoothing: float,  # part of every sample that is spread evenly over all classes
        # What the backward pass takes for the slope of a step: `box` or `with_tails`.
        step_slope: Callable[[FloatArray], FloatArray],
    ) -> None:
        self.problem, self.rng, self.step_slope = problem, rng, step_slope
        shape = problem.architecture
        self.kinds = shape.weights
        self.paired = shape.n_outputs == 2 and shape.thresholds == "neuron"
        begin = random_start(problem, rng) if start is None else start
        weights, thresholds = list(begin.weights), list(begin.step_thresholds)
        if self.paired and start is None:
            weights[-1], thresholds[-1] = weights[-1][1:], thresholds[-1][1:]
        elif self.paired:  # the class with the higher score is the same
            weights[-1] = 0.5 * (weights[-1][1:] - weights[-1][:1])
            thresholds[-1] = 0.5 * (thresholds[-1][1:] - thresholds[-1][:1])
        latent = [W / kind.limit for W, kind in zip(weights, self.kinds, strict=True)]
        for k, (W, kind) in enumerate(zip(latent, self.kinds, strict=True)):
            if kind.integer:
                # Latent values anywhere in their cells, so that gradients soon move some of them.
                noise = 0.3 * rng.standard_normal(W.shape)
                if start is not None:
                    noise = np.clip(noise, -_INSIDE, _INSIDE) / kind.limit
                latent[k] = np.clip(W + noise, -1.0, 1.0)
        self.sizes = _typical_sizes(problem.inputs, latent, self.kinds)
        inputs = problem.inputs / self.sizes[0]
        # Half the digits are twice as fast, and enough for inputs of ordinary size.
        self.dtype: Any = np.float32 if np.abs(inputs).max() < _ORDINARY else np.float64
        self.inputs: FloatArray = inputs.astype(self.dtype)
        self.latent: list[FloatArray] = [W.astype(self.dtype) for W in latent]
        self.offsets: list[FloatArray] = [
            (t / size).astype(self.dtype) for t, size in zip(thresholds, self.sizes, strict=True)
        ]
        parameters = [*self.latent, *self.offsets]
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
        self.steps = 0
        total = problem.loss.label_weight.sum(axis=1)
        share = problem.loss.label_weight / np.maximum(total, 1e-300)[:, None]
        share += smoothing * (1.0 / shape.n_outputs - share)
        self.share: FloatArray = share.astype(self.dtype)
        self.weight: FloatArray = (total / max(total.mean(), 1e-300)).astype(self.dtype)
        self.by_rank: RankNoise | None = None
        self.by_class: ClassNoise | None = None
        m = len(inputs)
        self.batch = int(np.clip(m // 64, min(_BATCH, m), _LARGEST_BATCH))

    def make_noise(self, jitter: float, mixup: float) -> None:
        """Let every batch have noise."""
        label_weight = self.problem.loss.label_weight
        if jitter:
            self.by_rank = RankNoise(self.inputs, label_weight.sum(axis=1), jitter, self.rng)
        if mixup:
            self.by_class = ClassNoise(self.inputs, label_weight, mixup, self.rng)

    def batches(self) -> Iterator[IntArray]:
        """All inputs once, in random order."""
        order = self.rng.permutation(len(self.share))
        for first in range(0, len(order), self.batch):
            yield order[first : first + self.batch]

    def learn(self, rows: IntArray, rate: float) -> None:
        """Take a step for some inputs."""
        self._step(self._gradients(rows), rate)

    def _moved(self, rows: IntArray) -> FloatArray:
        """Some inputs with their noise."""
        inputs = self.inputs[rows] if self.by_rank is None else self.by_rank.moved(rows)
        return inputs if self.by_class is None else inputs + self.by_class.drawn(rows)

    def _gradients(self, rows: IntArray) -> list[FloatArray]:
        values, z = [self._moved(rows)], []
        weights = [
            kind.nearest(V * kind.limit) for V, kind in zip(self.latent, self.kinds, strict=True)
        ]
        # The inputs are in units of the first layer's size already.
        sizes = [1.0, *self.sizes[1:]]
        for W, offset, size in zip(weights, self.offsets, sizes, strict=True):
            z.append(values[-1] @ W.T / size - offset)
            values.append((z[-1] >= 0.0).astype(self.dtype))
        # From here on `slope` is the derivative of the cross entropy by z.
        if self.paired:
            slope = 1.0 / (1.0 + np.exp(-np.clip(2.0 * z[-1], -60, 60))) - self.share[rows, 1:]
        else:
            odds = np.exp(z[-1] - z[-1].max(axis=1, keepdims=True))
            slope = odds / odds.sum(axis=1, keepdims=True) - self.share[rows]
        slope = slope * (self.weight[rows] / len(rows))[:, None]
        by_weight: list[FloatArray] = []
        by_offset: list[FloatArray] = []
        for k in range(len(weights) - 1, -1, -1):
            scaled = slope * (self.kinds[k].limit / sizes[k])
            by_weight.insert(0, scaled.T @ values[k])
            by_offset.insert(0, -slope.sum(axis=0))
            if k > 0:
                slope = (slope / sizes[k]) @ weights[k] * self.step_slope(z[k - 1])
        return [*by_weight, *by_offset]

    def _step(self, gradients: list[FloatArray], rate: float) -> None:
        self.steps += 1
        kind = self.problem.architecture.thresholds
        n_layers = len(self.latent)
        unbiased = (1.0 - _DECAY[1] ** self.steps) ** 0.5
        for index, gradient in enumerate(gradients):
            if index >= n_layers:
                if kind == "zero":
                    continue
                if kind == "layer":
                    gradient = np.full_like(gradient, gradient.mean())
            mean, square = self.moments[index]
            mean *= _DECAY[0]
            mean += (1.0 - _DECAY[0]) * gradient
            square *= _DECAY[1]
            square += (1.0 - _DECAY[1]) * np.square(gradient)
            root = np.sqrt(square)
            root += _SMALLEST * unbiased
            target = self.latent[index] if index < n_layers else self.offsets[index - n_layers]
            target -= (rate * unbiased / (1.0 - _DECAY[0] ** self.steps)) * mean / root
            if index < n_layers:
                np.clip(target, -1.0, 1.0, out=target)
            elif kind == "layer" and not self.kinds[index - n_layers].integer:
                limit = 1.0 / self.sizes[index - n_layers]
                np.clip(target, -limit, limit, out=target)

    def network(self) -> Network:
        """Round the latent weights, and place the outputs' thresholds where the loss is least."""
        shape = self.problem.architecture
        weights = [
            kind.nearest(V.astype(float) * kind.limit)
            for V, kind in zip(self.latent, self.kinds, strict=True)
        ]
        thresholds = [
            offset.astype(float) * size
            for offset, size in zip(self.offsets, self.sizes, strict=True)
        ]
        if shape.thresholds == "layer":
            limits = [np.inf if kind.integer else 1.0 for kind in self.kinds]
            thresholds = [
                np.full_like(t, np.clip(t[0], -limit, limit))
                for t, limit in zip(thresholds, limits, strict=True)
            ]
        if self.paired:
            weights[-1] = np.concatenate((-weights[-1], weights[-1]))
            thresholds[-1] = np.concatenate(
                (-np.nextafter(thresholds[-1], -np.inf), thresholds[-1])
            )
        network = Network(shape, tuple(weights), tuple(thresholds))
        return network if self.paired else _lower_outputs(self.problem, network)


def _lower_outputs(problem: Problem[OutputLoss], network: Network) -> Network:
    """Shift all output thresholds alike to where the loss is least; the ranking of scores stays.

    Cross entropy only sees differences of scores, the loss also sees which of them reach 0.
    """
    kind = problem.architecture.thresholds
    if kind == "zero":
        return network
    scores = network.values(problem.inputs)
    order = np.argsort(scores, axis=None)
    levels = scores.ravel()[order]
    gains = (problem.loss.cost_off - problem.loss.cost_on).ravel()[order]
    # Entry p is the merit of switching on everything from position p upwards.
    merits = np.concatenate((np.cumsum(gains[::-1])[::-1], [0.0]))
    possible = np.concatenate(([True], levels[1:] > levels[:-1], [True]))
    below = np.concatenate(([levels[0] - 1.0], levels))
    above = np.concatenate((levels, [levels[-1] + 1.0]))
    shifts = 0.5 * below + 0.5 * above
    if kind == "layer" and not problem.architecture.weights[-1].integer:
        possible &= np.abs(network.output_thresholds[0] + shifts) <= 1.0
    if not possible.any():
        return network
    shift = shifts[np.argmax(np.where(possible, merits, -np.inf))]
    thresholds = (*network.thresholds[:-1], network.thresholds[-1] + shift)
    return Network(network.architecture, network.weights, thresholds)


def box(z: FloatArray) -> FloatArray:
    """Slope of a step that is the identity near its threshold."""
    return np.asarray(np.abs(z) <= 1.0, dtype=z.dtype)


def with_tails(z: FloatArray) -> FloatArray:
    """Slope of a step that is felt far from its threshold."""
    return np.asarray(1.0 / np.square(1.0 + 2.0 * np.abs(z)))


def _typical_sizes(
    inputs: FloatArray, latent: list[FloatArray], kinds: tuple[WeightSet, ...]
) -> list[float]:
    """Spread of the pre-activations of every layer, which gradients are scaled by."""
    sums = weighted_sums(inputs[:2000], kinds[0].nearest(latent[0] * kinds[0].limit))
    sizes = [max(float(sums.std()), 1e-12)]
    for W, kind in zip(latent[1:], kinds[1:], strict=True):
        sizes.append(_SOFTNESS * kind.limit * float(np.sqrt(W.shape[1])))
    return sizes


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
    mixup: float = 0.0,
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
    trainer.make_noise(jitter, mixup)
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


# Quantiles per feature that noisy values are taken from.
_QUANTILES = 1024


class RankNoise:
    """Moves samples by normal noise of their ranks, feature by feature."""

    def __init__(
        self,
        inputs: FloatArray,  # (n_inputs, n_features)
        weight: FloatArray,  # (n_inputs,): how many samples every input stands for
        spread: float,  # standard deviation of the noise, as a share of all samples
        rng: np.random.Generator,
    ) -> None:
        self.rng, self.spread = rng, spread * _QUANTILES
        n_inputs, n_features = inputs.shape
        is_kept = np.zeros(n_features, dtype=bool)
        self.quantiles: FloatArray = np.empty((n_features, _QUANTILES), inputs.dtype)
        self.places = np.empty((n_inputs, n_features), np.float32)
        self.first = np.arange(n_features) * _QUANTILES
        share = weight / max(float(weight.sum()), 1e-300)
        levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        for j in range(n_features):
            # Equal values stand in random order, so that a few of them come next to another value.
            order = rng.permutation(n_inputs)
            order = order[np.argsort(inputs[order, j], kind="stable")]
            ends = np.cumsum(share[order])
            nearest = np.minimum(ends.searchsorted(levels), n_inputs - 1)
            self.quantiles[j] = inputs[order[nearest], j]
            self.places[order, j] = (ends - 0.5 * share[order]) * _QUANTILES
            is_kept[j] = has_few_values(inputs[order, j])
        self.kept = np.flatnonzero(is_kept)
        self.kept_inputs = inputs[:, self.kept]

    def moved(self, rows: IntArray) -> FloatArray:
        """Draw noisy copies of some inputs."""
        places = self.rng.standard_normal((len(rows), len(self.first)), dtype=np.float32)
        places *= self.spread
        places += self.places[rows]
        np.clip(places, 0, _QUANTILES - 1, out=places)
        moved = self.quantiles.take(places.astype(np.intp) + self.first)
        moved[:, self.kept] = self.kept_inputs[rows]
        return moved


class ClassNoise:
    """Moves samples by parts of the difference of two samples of their class.

    Where classes are apart, what differs within one of them does not matter for telling it from the
    others. Where they overlap, such moves lead far into another class.
    """

    def __init__(
        self,
        inputs: FloatArray,  # (n_inputs, n_features)
        # (n_inputs, n_classes): how many samples of every class an input stands for.
        label_weight: FloatArray,
        most: float,  # largest part of a difference
        rng: np.random.Generator,
    ) -> None:
        self.inputs, self.most, self.rng = inputs, most, rng
        self.leading = label_weight.argmax(axis=1)
        # Samples stand in a row, each class over an interval of length 1, so that one number draws
        # one of a class, however light that is beside others.
        share = label_weight / np.maximum(label_weight.sum(axis=0), np.finfo(float).tiny)
        self.ends = (np.cumsum(share, axis=0) + np.arange(label_weight.shape[1])).T.ravel()
        self.kept = np.flatnonzero([has_few_values(np.sort(column)) for column in inputs.T])

    def drawn(self, rows: IntArray) -> FloatArray:
        """Draw moves for some inputs."""
        part = self.rng.random((len(rows), 1), dtype=np.float32) * self.most
        moves = self.inputs[self._of_class(rows)] - self.inputs[self._of_class(rows)]
        moves *= part.astype(moves.dtype)
        moves[:, self.kept] = 0.0
        return moves

    def _of_class(self, rows: IntArray) -> IntArray:
        """Draw an input of the same class for each of some inputs."""
        leading = self.leading[rows]
        found = self.ends.searchsorted(leading + self.rng.random(len(rows)), side="right")
        # Rounding may put the last place of a class beyond its end.
        last = (leading + 1) * len(self.inputs) - 1
        return np.asarray(np.minimum(found, last) - leading * len(self.inputs))


def has_few_values(ordered: FloatArray) -> bool:
    """Whether values in ascending order are two at most, between which there is nothing."""
    return bool(np.count_nonzero(np.diff(ordered)) < 2)
