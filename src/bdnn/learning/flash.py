"""Bytes that a network takes on a device: by a formula, and by tables and code of its C export.

The formula counts a network and the cuts it looks at, about; it costs nothing, so that candidates
are compared by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from bdnn.encoding import Encoder
from bdnn.export.c import export_c
from bdnn.learning.stack import Array, Stack
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network

# Bytes of a cut, a number, a threshold, and a threshold of sums of numbers.
_CUT, _NUMBER, _THRESHOLD = 2, 4, 1
_NUMBER_THRESHOLD = 4
# Bits of a factor; numbers of a few dozen levels need no more.
_FACTOR_BITS = 8


def seen_network(stack: Stack, encoder: Encoder) -> tuple[Encoder, Network]:
    """The network of a stack, and the encoder of the inputs that it looks at."""
    network = stack.network(encoder.n_numbers, encoder.n_bits, encoder.step)
    used = np.asarray(network.weights[0].any(axis=0))
    used[0] |= not used.any()
    shape = replace(network.architecture, n_features=int(used.sum()))
    weights = (network.weights[0][:, used], *network.weights[1:])
    return encoder.subset(used), Network(shape, weights, network.thresholds)


@dataclass(eq=False)
class FlashSize:
    """Bytes of stacks on the inputs of an encoder.

    Parameters
    ----------
    encoder : Encoder
    data : mapping
        Ranges and units of the columns, by which the type of the inputs is chosen.
    """

    encoder: Encoder
    data: Mapping[str, Any]
    _known: WeakKeyDictionary[Stack, int] = field(default_factory=WeakKeyDictionary)

    def __call__(self, stack: Stack) -> int:
        """Estimate the flash of a stack."""
        if stack not in self._known:
            encoder, network = seen_network(stack, self.encoder)
            model = Model(encoder, network, tuple(range(network.architecture.n_outputs)))
            self._known[stack] = flash_size(model, self.data)
        return self._known[stack]


def flash_size(model: Model, data: Mapping[str, Any] | None) -> int:
    """Estimate the flash of a model's C export."""
    return export_c(model, data=data).flash_estimate


def with_short_scale(encoder: Encoder) -> Encoder:
    """Scale by factors of few bits and shifts that are multiples of a power of two.

    They take fewer bytes, and whole inputs never lie halfway between two levels.
    """
    if not encoder.step:
        return encoder
    mantissa, exponent = np.frexp(encoder.factor)
    factor = np.ldexp(np.rint(np.ldexp(mantissa, _FACTOR_BITS)), exponent - _FACTOR_BITS)
    grain = np.minimum(np.ldexp(1.0, -exponent - _FACTOR_BITS), 0.25)
    return encoder.scaled_by(
        _odd(encoder.shift, grain), factor, encoder.step, encoder.scale or "standard"
    )


def _odd(values: FloatArray, grain: FloatArray) -> FloatArray:
    """Nearest odd multiples of a grain, where doubles hold these."""
    places = values / (2.0 * grain)
    return np.where(np.abs(places) < 2.0**50, (2.0 * np.floor(places) + 1.0) * grain, values)


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
