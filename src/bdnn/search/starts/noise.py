"""Noise that fits most features: values move past a share of the other samples' values.

Noise of one spread blurs what lies close together and leaves outliers alone. Moved by ranks, a
value goes little where samples are dense and far where they are rare, whatever the feature's unit,
so that one amount of noise suits most data. A feature of two values has no small moves and is left
as it is.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.search.kernels.arrays import IntArray

# Quantiles per feature that noisy values are taken from.
_QUANTILES = 1024


class RankNoise:
    """Moves samples by normal noise of their ranks, feature by feature.

    Parameters
    ----------
    inputs : array of shape (n_inputs, n_features)
    weight : array of shape (n_inputs,)
        How many samples every input stands for.
    spread : float
        Standard deviation of the noise, as a share of all samples.
    rng : numpy.random.Generator
    """

    def __init__(
        self, inputs: FloatArray, weight: FloatArray, spread: float, rng: np.random.Generator
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
            is_kept[j] = np.count_nonzero(np.diff(inputs[order, j])) < 2
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
