"""The average over perturbations: any loss, of moved copies of the samples.

Where noise has no malice, as that of a sensor or the paper's random attack, the average is what
counts: every sample is replaced by copies, each moved by the radius in a random direction, that
share its weight. The result is a training problem like any other, so that every method, bound and
proof applies to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.network.activation import FloatArray
from bdnn.network.norms import Norm, length

# A power of two, by which weights can be divided without rounding.
_MOST_COPIES = 16
# Rows beyond which fewer copies do: noise averages out over the samples themselves.
_ENOUGH_ROWS = 16_000


def moved_copies(
    scaler: Encoder,
    X: FloatArray,
    radius: FloatArray,
    norm: Norm,
    weight: FloatArray,
    *,
    seed: int = 0,
) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Replace raw samples by moved copies, over which a loss is an average.

    Every feature of a copy moves up or down by the same amount, and the whole by the radius, in
    units of scaled inputs. Returns the copies' inputs, the sample of each, and their weights.
    """
    n_copies = _MOST_COPIES
    while n_copies > 1 and n_copies * len(X) > _ENOUGH_ROWS:
        n_copies //= 2
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(len(X)), n_copies)
    signs = rng.choice([-1.0, 1.0], size=(len(rows), X.shape[1]))
    signs[:, [column.kind == "category" for column in scaler.columns]] = 0.0
    move = radius[rows] / length(norm, np.ones(X.shape[1]))
    copies = X[rows] + move[:, None] * signs / scaler.units
    return scaler.transform(copies), rows, weight[rows] / n_copies
