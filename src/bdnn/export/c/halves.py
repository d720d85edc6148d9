"""Networks whose first units look at numbers or at bits, but not at both.

Such a network is one on bits alone: those that units on numbers give, and those that compare raw
values. A unit that copies a bit is that bit, and the layer above reads it without a unit between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding import Bit, Encoder, Number
from bdnn.export.inputs import Integers
from bdnn.export.plan.levels import most_levels
from bdnn.export.plan.planner import whole_limit
from bdnn.model import Model
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.network.expansion import unrolled
from bdnn.network.network import Network

_EXACT = 2**53
# A factor beyond this would make the difference from the shift a subnormal number that matters,
# and those some processors flush to zero.
_LARGEST_FACTOR = 2.0**900
_LEAST_STEP = 2.0**-30
_KINDS = ("ge", "is", "missing")


@dataclass(frozen=True)
class Halves:
    """A network in two parts.

    Units with integer weights on the levels of numbers reach integer limits or not. The tail takes
    what they say, and then the bits. Without such units and bits it takes the numbers themselves.
    """

    numbers: tuple[Number, ...]
    weights: Integers
    limits: tuple[int, ...]
    bits: tuple[Bit, ...]
    tail: Network

    @property
    def has_outputs_on_numbers(self) -> bool:
        """Whether there is no unit between numbers and outputs."""
        return bool(self.numbers) and not self.limits


def split(model: Model) -> Halves | None:
    """Split a network, None if a unit looks at both halves or at numbers that may round."""
    encoder, network = model.encoder, unrolled(model.network, "export to C")
    shape, n = network.architecture, encoder.n_numbers
    W, t = network.weights[0], network.thresholds[0][:, 0]
    on_numbers = W[:, :n].any(axis=1)
    if not shape.weights[0].integer or (on_numbers & W[:, n:].any(axis=1)).any():
        return None
    if on_numbers.any():
        on_numbers |= ~W.any(axis=1)  # constant ones; they are no copies of bits
    if on_numbers.any() and not _is_exact(encoder, W[:, :n]):
        return None
    if on_numbers.any() and not shape.hidden:
        places = _places(encoder, W[:, :n])
        numbers = tuple(encoder.numbers[i] for i in places)
        tail = _with_first(network, W[:, places])
        return None if W[:, n:].any() else Halves(numbers, np.zeros((0, 0), int), (), (), tail)
    chosen = np.flatnonzero(on_numbers)
    order = sorted(range(encoder.n_bits), key=lambda i: _KINDS.index(encoder.bits[i].kind))
    on_bits = W[:, n:][:, order]
    tail = _tail(network, chosen, on_bits)
    used: BoolArray = np.asarray(tail.weights[0].any(axis=0))
    if not used.any():
        return None
    used_units = chosen[used[: len(chosen)]]
    places = _places(encoder, W[used_units, :n])
    if len(used_units) and not places:
        return None
    weights = W[used_units][:, places].astype(np.int64)
    return Halves(
        tuple(encoder.numbers[i] for i in places),
        weights,
        _limits(encoder, weights, t[used_units]),
        tuple(
            encoder.bits[i] for i, is_on in zip(order, used[len(chosen) :], strict=True) if is_on
        ),
        _with_first(tail, tail.weights[0][:, used]),
    )


def _places(encoder: Encoder, W: FloatArray) -> list[int]:
    """Numbers that some weights look at, indicators of texts last."""
    used = np.flatnonzero(W.any(axis=0)).tolist()
    return sorted(used, key=lambda i: encoder.numbers[i].value is not None)


def has_ordinary_scale(encoder: Encoder) -> bool:
    """Whether numbers are scaled by factors and a step that C computes with as Python does."""
    size = np.abs(encoder.factor)
    is_ordinary = ((size > 0) & (size < _LARGEST_FACTOR)).all()
    return bool(is_ordinary and encoder.step >= _LEAST_STEP)


def _is_exact(encoder: Encoder, W: FloatArray) -> bool:
    """Whether sums of scaled numbers are those of integers."""
    if not has_ordinary_scale(encoder):
        return False
    return bool(np.abs(W).sum(axis=1).max() * most_levels(encoder) * 2 < _EXACT)


def _limits(encoder: Encoder, weights: Integers, t: FloatArray) -> tuple[int, ...]:
    """Least sums of levels that reach the thresholds; out of reach if none does."""
    reach = [int(total) * most_levels(encoder) for total in np.abs(weights).sum(axis=1)]
    limits = [whole_limit(value, encoder.step) for value in t.tolist()]
    return tuple(
        min(max(limit, -most), most + 1) for limit, most in zip(limits, reach, strict=True)
    )


def _tail(network: Network, chosen: NDArray[np.intp], on_bits: FloatArray) -> Network:
    """The network on what the chosen first units say, and on bits."""
    shape, (n_units, n_bits) = network.architecture, on_bits.shape
    t = network.thresholds[0][:, 0].copy()
    W: FloatArray = np.zeros((n_units, len(chosen) + n_bits))
    W[chosen, np.arange(len(chosen))] = 1.0
    W[:, len(chosen) :] = on_bits
    t[chosen] = 0.5
    # Sums of other than integers would round in another way with their terms in another order.
    if shape.hidden and shape.weights[1].integer and _are_copies(W, t).all():
        above = replace(
            shape,
            n_features=n_units,
            hidden=shape.hidden[1:],
            weights=shape.weights[1:],
            activations=(),
            thresholds="neuron",
        )
        rest = Network(above, network.weights[1:], network.thresholds[1:])
        return _with_first(rest, network.weights[1] @ W)
    free = replace(shape, activations=(), thresholds="neuron")
    whole = Network(free, network.weights, (t, *network.thresholds[1:]))
    return _with_first(whole, W)


def _are_copies(W: FloatArray, t: FloatArray) -> BoolArray:
    ones = (W == 1).sum(axis=1) == 1
    return np.asarray(ones & ((W != 0).sum(axis=1) == 1) & (t > 0) & (t <= 1))


def _with_first(network: Network, W: FloatArray) -> Network:
    """A network with other integer weights of its first layer."""
    shape, limit = network.architecture, max(1, int(np.abs(W).max(initial=1.0)))
    first = WeightSet(f"int:{limit}", limit, integer=True, zero=True)
    given = replace(shape, n_features=W.shape[1], weights=(first, *shape.weights[1:]))
    return Network(given, (W, *network.weights[1:]), network.thresholds)
