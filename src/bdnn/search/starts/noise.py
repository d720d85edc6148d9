"""Noise that fits most data: in ranks feature by feature, and along the differences of a class.

Noise of one spread blurs what lies close together and leaves outliers alone. Moved by ranks, a
value goes little where samples are dense and far where they are rare, whatever the feature's unit,
so that one amount of noise suits most data. How features vary together it does not know; how two
samples of a class differ shows that. A feature of two values has no small moves and is left as it
is.
"""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.search.kernels.arrays import IntArray

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
        mass: FloatArray,
        most: float,  # largest part of a difference
        rng: np.random.Generator,
    ) -> None:
        self.inputs, self.most, self.rng = inputs, most, rng
        self.leading = mass.argmax(axis=1)
        # Samples stand in a row, each class over an interval of length 1, so that one number draws
        # one of a class, however light that is beside others.
        share = mass / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        self.ends = (np.cumsum(share, axis=0) + np.arange(mass.shape[1])).T.ravel()
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
