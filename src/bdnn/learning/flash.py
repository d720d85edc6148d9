"""Bytes of flash that a network takes on a device: tables, encoder and code of its C export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from bdnn.encoding import Encoder
from bdnn.export.c import export_c
from bdnn.learning.stack import Stack
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network

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
            self._known[stack] = export_c(model, data=self.data).flash_estimate
        return self._known[stack]


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
