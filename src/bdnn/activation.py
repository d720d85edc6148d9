"""What a unit computes: its pre-activation and the step, each written once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Rows handled at once in `weighted_sums`: small enough for the accumulator to stay in cache.
_CHUNK_ENTRIES = 1 << 16
# Products of blocks of this size are not worth several threads to a BLAS, and stay in cache.
_PRODUCT_ENTRIES = 1 << 19
# Sums of multiples of 2**-20, as scaled inputs are, with integer weights do not round.
_GRID = 2.0**20
_EXACT = 2.0**53


def step(preactivation: FloatArray, threshold: FloatArray) -> BoolArray:
    """Switch a unit on iff its pre-activation reaches its threshold."""
    return preactivation >= threshold


def weighted_sums(inputs: FloatArray, weights: FloatArray) -> FloatArray:
    """Pre-activations ``inputs @ weights.T``, summed in feature order.

    A matrix product may add in any order, so that a row's last bits depend on the rows beside it.
    Adding feature by feature gives every row the same bits alone, in a batch, and in plain C.
    Where all partial sums are exact (integer weights on 0/1 activations, or on inputs that lie on
    the scaler's grid) the order is irrelevant and the fast product is used.

    Parameters
    ----------
    inputs : array of shape (n_samples, n_inputs)
    weights : array of shape (n_units, n_inputs)

    Returns
    -------
    array of shape (n_samples, n_units)
    """
    n_samples, n_inputs = inputs.shape
    n_units = weights.shape[0]
    sums = np.empty((n_samples, n_units))
    columns = np.ascontiguousarray(weights.T)
    largest = _largest_exact(weights)
    chunk = _CHUNK_ENTRIES // max(1, n_units)
    if largest:
        chunk = min(chunk, _PRODUCT_ENTRIES // max(1, n_units * n_inputs))
    chunk = max(1, chunk)
    for first in range(0, n_samples, chunk):
        rows = slice(first, first + chunk)
        block, target = inputs[rows], sums[rows]
        if largest and _is_on_grid(block, largest):
            np.matmul(block, columns, out=target)
            continue
        target[:] = 0.0
        for j in range(n_inputs):
            target += block[:, j, None] * columns[j]
    return sums


def _largest_exact(weights: FloatArray) -> float:
    """Find how large inputs may be for no sum to round, 0 if the weights are no integers."""
    if not np.array_equal(weights, np.rint(weights)):
        return 0.0
    return _EXACT / _GRID / max(1.0, float(np.abs(weights).sum(axis=1).max(initial=0.0)))


def _is_on_grid(inputs: FloatArray, largest: float) -> bool:
    """Tell whether all inputs are multiples of the grid's step and below a limit."""
    if not inputs.size:
        return True
    if not (inputs.max() < largest and inputs.min() > -largest):
        return False
    multiples = inputs * _GRID
    return bool((multiples == np.rint(multiples)).all())
