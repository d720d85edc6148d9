"""How many bytes a network and the cuts it looks at take, about, and at least."""

from __future__ import annotations

import math

import numpy as np

from bdnn.learning.stack import Array, Stack

_CUT, _NUMBER, _THRESHOLD = 2, 4, 1
_NUMBER_THRESHOLD = 4


def stack_bytes(stack: Stack) -> int:
    """Bytes of the layers, each dense or as lists, whichever is less, and of the inputs seen."""
    total = 0
    for k, (W, t) in enumerate(zip(stack.weights, stack.thresholds, strict=True)):
        on_numbers = k == 0 and stack.reads != "bits"
        total += _layer_bytes(W) + len(t) * (_NUMBER_THRESHOLD if on_numbers else _THRESHOLD)
    first = np.abs(stack.weights[0]).sum(axis=0) > 0
    n_first = int(np.count_nonzero(first))
    if stack.reads == "bits":
        return total + _CUT * n_first
    skipped = stack.weights[1][:, len(stack.weights[0]) :] if stack.reads == "mix" else None
    n_bits = 0 if skipped is None else int(np.count_nonzero(np.abs(skipped).sum(axis=0)))
    return total + _NUMBER * n_first + _CUT * n_bits


def least_bytes(stack: Stack) -> float:
    """Bytes below which nothing that computes the network falls: a bit of every weight."""
    return sum(np.count_nonzero(W) for W in stack.weights) / 8


def _layer_bytes(W: Array) -> int:
    """Bytes of weights: all of them in so many bits, or the places of those that are not 0."""
    largest = float(np.abs(W).max(initial=0.0))
    if not W.size or largest == 0.0:
        return 0
    bits = 2 if largest <= 1 else math.ceil(math.log2(2 * largest + 1))
    seen = W[:, np.abs(W).sum(axis=0) > 0]
    place = 1 if seen.shape[1] < 128 or (largest > 1 and seen.shape[1] <= 256) else 2
    one = place + (0 if largest <= 1 else math.ceil(bits / 8))
    lists = len(W) + one * int(np.count_nonzero(W))
    return min(math.ceil(seen.size * bits / 8), lists)
