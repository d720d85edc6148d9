"""A binarized network: frozen weights and thresholds, and the forward pass that decides all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import (
    STEP,
    Activation,
    BoolArray,
    FloatArray,
    row_blocks,
    step,
    weighted_sums,
)
from bdnn.network.architecture import Architecture
from bdnn.network.packed import PackedRows, Words, pack

# Values of a layer that are computed at once.
_FEWEST_ROWS = 2048  # below which preparing the weights takes longer than using them
_BLOCK_ENTRIES = 1 << 16
# The table of a wider layer would take longer to fill than it saves.
_WIDEST_TABLE = 10
_HAS_BIT_COUNT = int(np.__version__.split(".")[0]) >= 2
# Rows are handled in blocks of about this many sums, which stay in cache.
_BLOCK = 1 << 17

# Rows of a table: numbers, or bits of which blocks become numbers.
Rows = ArrayLike | PackedRows
Classes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Network:
    """Weights and thresholds of every layer, with the forward pass.

    Unit ``j`` of layer ``k`` takes the value number ``l`` of its ``Activation``, where ``l`` is how
    many of ``thresholds[k][j]`` its sum ``weights[k][j] @ input`` reaches. A step has one threshold
    and is on where it is reached.

    Parameters
    ----------
    architecture : Architecture
    weights : tuple of arrays of shape (units, inputs)
        Copied and made read-only.
    thresholds : tuple of arrays of shape (units, levels)
        One level less than a unit has values, ascending in every line; one array of shape (units,)
        is taken for one level. Equal within a layer for shared thresholds, those of the activation
        for ``thresholds="zero"``, which are 0 for two values.
    """

    architecture: Architecture
    weights: tuple[FloatArray, ...]
    thresholds: tuple[FloatArray, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(_frozen(W) for W in self.weights))
        thresholds = tuple(_frozen(t, n_dimensions=2) for t in self.thresholds)
        object.__setattr__(self, "thresholds", thresholds)
        self._check()

    def __reduce__(self) -> tuple[type[Network], tuple[object, ...]]:
        # Through the constructor, since arrays come out of a pickle writable.
        return Network, (self.architecture, self.weights, self.thresholds)

    def _check(self) -> None:
        shape = self.architecture
        if not len(self.weights) == len(self.thresholds) == shape.n_layers:
            raise ModelError(
                f"a network of {shape.n_layers} layers needs as many weight and threshold arrays, "
                f"got {len(self.weights)} and {len(self.thresholds)}: give one of each per layer."
            )
        for k, (W, t) in enumerate(zip(self.weights, self.thresholds, strict=True), start=1):
            expected = (shape.widths[k], shape.widths[k - 1])
            rule = shape.activation_of(k - 1)
            limits = (expected[0], rule.n_thresholds)
            if W.shape != expected or t.shape != limits:
                raise ModelError(
                    f"layer {k} needs weights of shape {expected} and thresholds of shape "
                    f"{limits}, got {W.shape} and {t.shape}: check the arrays."
                )
            if not (np.isfinite(W).all() and np.isfinite(t).all()):
                raise ModelError(f"layer {k} holds a number that is not finite: check the arrays.")
            if not shape.weights[k - 1].contains(W):
                raise ModelError(
                    f"layer {k} holds a weight outside the set '{shape.weights[k - 1].name}': "
                    "check the arrays or choose another weight set."
                )
            if (np.diff(t, axis=1) < 0).any():
                raise ModelError(
                    f"layer {k} has a unit whose thresholds are out of order: sort them so that "
                    "every value has its interval."
                )
            if not _keeps_offsets(t, rule):
                raise ModelError(
                    f"layer {k} has thresholds that are not at the distances of its activation "
                    f"'{rule.name}': check the arrays or leave its thresholds free."
                )
            shared = t.size == 0 or bool((t == t[0]).all())
            if (shape.thresholds == "layer" and not shared) or (
                shape.thresholds == "zero" and (t != rule.offsets).any()
            ):
                raise ModelError(
                    f"layer {k} has thresholds that do not fit thresholds='{shape.thresholds}': "
                    "check the arrays or use thresholds='neuron'."
                )

    @property
    def output_thresholds(self) -> FloatArray:
        """Thresholds of the outputs, of shape (n_outputs,)."""
        return self.thresholds[-1][:, 0]

    @property
    def step_thresholds(self) -> tuple[FloatArray, ...]:
        """Thresholds of a network whose units have one each, every array of shape (units,)."""
        return tuple(t.squeeze(axis=1) for t in self.thresholds)

    def preactivations(self, X: ArrayLike) -> list[FloatArray]:
        """Pre-activations of every layer, each of shape (n_samples, units)."""
        return self._forward(X)[0]

    def activations(self, X: ArrayLike) -> list[NDArray[Any]]:
        """Values of the units of every layer, the outputs last; truth values where 0 or 1."""
        return self._forward(X)[1]

    def outputs(self, X: Rows) -> BoolArray:
        """0/1 values of the output units, of shape (n_samples, n_outputs)."""
        return self._last_layer(X)[1]

    def scores(self, X: Rows) -> FloatArray:
        """What decides between classes, of shape (n_samples, n_outputs).

        With ties by ``score`` this is pre-activation minus threshold, which is at least 0 exactly
        where the output is on, so that its largest entry is an output that is on if there is one.
        With ties by ``first`` it is the output itself.
        """
        sums, on = self._last_layer(X)
        if self.architecture.ties == "first":
            return on.astype(float)
        return sums - self.output_thresholds

    def values(self, X: Rows) -> FloatArray:
        """How far outputs are above their thresholds, of shape (n_samples, n_outputs).

        These are the numbers that identity outputs give: the threshold is a bias with the sign
        turned.
        """
        return self._last_layer(X)[0] - self.output_thresholds

    def predict(self, X: Rows) -> NDArray[np.intp]:
        """Index of the predicted class of every sample."""
        if not self.architecture.hidden or not all(
            rule.values == STEP.values for rule in self.architecture.activations
        ):
            return np.asarray(np.argmax(self.scores(X), axis=1))
        values = self._checked(X)
        classes = np.empty(len(values), dtype=np.intp)
        for rows in row_blocks((len(values), max(self.architecture.widths))):
            sums = weighted_sums(values[rows], self.weights[0])
            classes[rows] = self._tail.classes(step(sums, self.thresholds[0][:, 0]))
        return classes

    @cached_property
    def _tail(self) -> _PackedTail:
        """The layers after the first one, on packed bits."""
        return _PackedTail(self.weights[1:], self.step_thresholds[1:], self._choose)

    def _choose(self, sums: FloatArray, on: BoolArray) -> NDArray[np.intp]:
        """Classes by the largest score, the first of equal ones."""
        by_output = self.architecture.ties == "first"
        return np.asarray(np.argmax(on if by_output else sums - self.output_thresholds, axis=1))

    def _checked(self, X: Rows) -> FloatArray | PackedRows:
        values = X if isinstance(X, PackedRows) else np.asarray(X, dtype=float)
        if len(values.shape) != 2 or values.shape[1] != self.architecture.n_features:
            raise DataError(
                f"the network takes rows of {self.architecture.n_features} features, got an array "
                f"of shape {values.shape}: check the columns."
            )
        return values

    def _last_layer(self, X: Rows) -> tuple[FloatArray, BoolArray]:
        """Pre-activations and 0/1 values of the outputs."""
        values = self._checked(X)
        sums = np.empty((len(values), self.architecture.n_outputs))
        on = np.empty(sums.shape, dtype=bool)
        # Blocks of rows stay in cache from layer to layer.
        block = max(_FEWEST_ROWS, _BLOCK_ENTRIES // max(self.architecture.widths))
        for first in range(0, len(values), block):
            rows = slice(first, first + block)
            every_sum, every_value = self._forward(values[rows])
            sums[rows], on[rows] = every_sum[-1], every_value[-1]
        return sums, on

    def _forward(self, X: ArrayLike) -> tuple[list[FloatArray], list[NDArray[Any]]]:
        values = self._checked(X)[:]
        sums: list[FloatArray] = []
        taken: list[NDArray[Any]] = []
        for k, (W, t) in enumerate(zip(self.weights, self.thresholds, strict=True)):
            sums.append(weighted_sums(values, W))
            taken.append(self.architecture.activation_of(k)(sums[-1], t))
            values = taken[-1].astype(float)
        return sums, taken

    @property
    def score_step(self) -> float:
        """A power of two: differences of scores below it mean little or do not occur."""
        shape = self.architecture
        is_whole = shape.ties == "first" or (shape.hidden and shape.weights[-1].integer)
        return 1.0 if is_whole else 2.0**-20

    @property
    def size_bits(self) -> int:
        """Bits that store all weights and thresholds."""
        total = 0
        kind = self.architecture.thresholds
        for k, (weights, W, t) in enumerate(
            zip(self.architecture.weights, self.weights, self.thresholds, strict=True)
        ):
            stored = {"neuron": t, "layer": t[:1], "zero": t[:0]}[kind]
            if self.architecture.activation_of(k).thresholds is not None:
                stored = stored[:, :1]  # the others lie at fixed distances
            total += W.size * weights.bits + sum(map(_threshold_bits, stored.ravel().tolist()))
        return total

    def describe(self) -> str:
        """Say in a few lines what the network is."""
        bits = self.size_bits
        nonzero = sum(int(np.count_nonzero(W)) for W in self.weights)
        return "\n".join(
            [
                f"binarized network {self.architecture}",
                f"{self.architecture.n_weights} weights, {nonzero} of them not zero",
                f"{bits} bits ({math.ceil(bits / 8)} bytes) of weights and thresholds",
            ]
        )

    def __repr__(self) -> str:
        return f"<Network: {self.architecture}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self.architecture == other.architecture and all(
            np.array_equal(a, b)
            for a, b in zip(
                (*self.weights, *self.thresholds),
                (*other.weights, *other.thresholds),
                strict=True,
            )
        )

    __hash__ = None  # type: ignore[assignment]


def _frozen(values: ArrayLike, n_dimensions: int = 1) -> FloatArray:
    array = np.array(values, dtype=float)
    if array.ndim < n_dimensions:
        array = array[..., None]
    array += 0.0  # turns -0.0 into 0.0, so that equal networks have equal bytes
    array.flags.writeable = False
    return array


def _keeps_offsets(t: FloatArray, rule: Activation) -> bool:
    """Whether thresholds lie at an activation's fixed distances, up to rounding of their shift."""
    if rule.thresholds is None:
        return True
    distance = (t - t[:, :1]) - (rule.offsets - rule.offsets[0])
    return bool((np.abs(distance) <= 1e-9 * (1.0 + np.abs(t).max(axis=1, keepdims=True))).all())


def _threshold_bits(value: float) -> int:
    """Bits of a threshold as a fixed-point number with its sign.

    Between two integers only the upper one matters; other thresholds need as many binary places as
    they have, which are few where inputs lie on a grid.
    """
    for places in range(1, 24):
        if abs(value) >= 2 ** (31 - places):
            break
        scaled = math.ldexp(value, places)
        if scaled == round(scaled):
            return (math.ceil(value) if places == 1 else round(scaled)).bit_length() + 1
    return 64


class _PackedTail:
    """The layers after the first one, on packed bits.

    A hidden layer is a pattern of bits. If it is narrow, the classes of all patterns are tabled
    once; if it is wide and the weights are -1, 0 and 1, a sum is the number of bits under one mask
    minus that under another. Both give exactly what the forward pass gives.
    """

    def __init__(
        self,
        # Of these layers, the outputs last.
        weights: Sequence[FloatArray],
        thresholds: Sequence[FloatArray],
        # Makes classes of the outputs' sums and 0/1 values.
        choose: Callable[[FloatArray, BoolArray], Classes],
    ) -> None:
        self._layers = [(W, _masks(W), t) for W, t in zip(weights, thresholds, strict=True)]
        self._choose = choose
        width = weights[0].shape[1]
        self._table: Classes | None = None
        if width <= _WIDEST_TABLE:
            patterns = (np.arange(2**width)[:, None] >> np.arange(width)) & 1
            self._table = self._walk(patterns.astype(bool))

    def classes(self, on: BoolArray) -> Classes:
        """Classes of the first layer's 0/1 values, one sample per line."""
        if self._table is None:
            return self._walk(on)
        packed = np.packbits(on, axis=1, bitorder="little")
        codes = packed[:, 0].astype(np.intp)
        if packed.shape[1] > 1:
            codes |= packed[:, 1].astype(np.intp) << 8
        return self._table[codes]

    def _walk(self, on: BoolArray) -> Classes:
        for W, masks, t in self._layers:
            sums = weighted_sums(on.astype(float), W) if masks is None else _count(on, *masks)
            on = step(sums, t)
        return self._choose(sums, on)


def _masks(W: FloatArray) -> tuple[Words, Words] | None:
    """Masks of the weights 1 and -1, None if there are others."""
    if not _HAS_BIT_COUNT or not np.isin(W, (-1.0, 0.0, 1.0)).all():
        return None
    return pack(W > 0), pack(W < 0)


def _count(on: BoolArray, plus: Words, minus: Words) -> FloatArray:
    """Sums of weights -1, 0 and 1, whole numbers."""
    sums = np.empty((len(on), len(plus)))
    block = max(1, _BLOCK // max(1, plus.size))
    for first in range(0, len(on), block):
        rows = slice(first, first + block)
        words = pack(on[rows])[:, None, :]
        above = np.bitwise_count(words & plus).sum(axis=2, dtype=np.int64)
        sums[rows] = above - np.bitwise_count(words & minus).sum(axis=2, dtype=np.int64)
    return sums
