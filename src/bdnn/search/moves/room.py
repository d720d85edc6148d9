"""Where a unit stands, and how many of its weights may differ from 0."""

from __future__ import annotations

from bdnn.network.activation import FloatArray
from bdnn.problem.limits import UNLIMITED
from bdnn.search.kernels.arrays import IntArray, MoveLimits
from bdnn.search.kernels.backend import compiled


@compiled
def layer_at(ends: IntArray, place: int) -> int:
    """Layer of a unit or of a weight, by where layers begin."""
    k = 0
    while place >= ends[k + 1]:
        k += 1
    return k


@compiled
def nonzeros(weights: FloatArray, first: int, last: int) -> int:
    """Number of weights in a range that are not 0."""
    count = 0
    for j in range(first, last):
        count += 1 if weights[j] != 0.0 else 0
    return count


@compiled
def room_of(
    weights: FloatArray, weight_at: IntArray, limits: MoveLimits, k: int, at: int, n: int
) -> int:
    """How many of a unit's ``n`` weights may differ from 0, given those of all other units.

    The unit is one of layer ``k``, and its weights begin at ``at``.
    """
    room, in_layer, in_all = min(n, limits.most[0, k]), limits.most[1, k], limits.total
    if in_layer >= UNLIMITED and in_all >= UNLIMITED:
        return int(room)
    layers = len(weight_at) - 1
    own = nonzeros(weights, at, at + n)
    copies = 1
    for layer in range(layers):
        used = nonzeros(weights, weight_at[layer], weight_at[layer + 1])
        used -= own if layer == k else 0
        count = limits.copies if layer == layers - 1 else 1
        in_all -= used * count
        if layer == k:
            copies = count
            in_layer -= used * count
    return int(max(0, min(room, in_layer // copies, in_all // copies)))
