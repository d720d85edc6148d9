"""Which class is certain whatever the input in a box, in integers.

Weights and inputs are whole multiples of powers of two, so that all sums are sums of integers.
Every layer maps bounds of its inputs to bounds of its sums, and these to the values that its units
may take. What double arithmetic in the forward pass can be off is added, where it can be off at
all. Of few units that may switch all combinations are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from bdnn.checker.evaluation import Evaluator
from bdnn.checker.layers import Layer
from bdnn.checker.model import Classifier

# Relative error of the scaler, which subtracts and multiplies once: two roundings, doubled twice.
SCALING_ERROR = Fraction(1, 2**50)
_LARGEST_SCALED = Fraction(2**30)


def clipped(scaled: Fraction) -> Fraction:
    """A scaled input as far as the encoder lets it grow."""
    return max(-_LARGEST_SCALED, min(_LARGEST_SCALED, scaled))


def root_above(square: Fraction) -> Fraction:
    """A fraction not below a square root, and hardly above."""
    scale = 2**60
    return Fraction(math.isqrt(math.ceil(square * scale * scale)) + 1, scale)


#: Least and largest input, as whole multiples of a unit.
Box = list[tuple[int, int]]
#: Bounds of a weighted sum of inputs, beside those that a box gives.
SumBounds = Callable[[Sequence[Fraction]], tuple[Fraction, Fraction]]

_MOST_WEIGHTS = 1_000_000
_MOST_STATES = 1 << 10
_DOUBLE = 2**53


def is_too_large(model: Classifier) -> bool:
    """Tell whether a network has more weights than are looked at as integers."""
    return sum(len(row) for layer in model.layers for row in layer.weights) > _MOST_WEIGHTS


class BoxNetwork:
    """A network that is applied to boxes of scaled inputs."""

    def __init__(self, model: Classifier) -> None:
        self._network = Evaluator(model)
        self._layers = [_ExactLayer(layer) for layer in model.layers]
        self._ties = model.ties

    def is_certain(
        self,
        box: Box,  # inputs as multiples of ``unit``, one over a power of two
        unit: Fraction,
        label: int,
        bounds: SumBounds | None = None,  # further bounds of sums of inputs
    ) -> bool:
        """Tell whether the network certainly answers a class in a box."""
        if all(low == high for low, high in box):
            inputs = tuple(float(low * unit) for low, _ in box)
            return self._network.answer(inputs).winner == label
        values, first = box, self._layers[0]
        reached: list[tuple[int, int]] = []
        for k, layer in enumerate(self._layers[:-1]):
            spans = layer.reached(values, unit, None if k else bounds)
            reached = reached or spans
            values = [(layer.values[sure], layer.values[maybe]) for sure, maybe in spans]
            unit, bounds = Fraction(1), None
        if self._decides(values, unit, label, bounds):
            return True
        if math.prod(1 + maybe - sure for sure, maybe in reached) > _MOST_STATES or not reached:
            return False
        states = (first.values[sure : maybe + 1] for sure, maybe in reached)
        return all(
            self._network.answer(tuple(map(float, state)), after=1).winner == label
            for state in product(*states)
        )

    def keeps_first_layer(self, box: Box, unit: Fraction, bounds: SumBounds) -> bool:
        """Tell whether every unit of the first layer certainly takes one value in a box."""
        spans = self._layers[0].reached(box, unit, bounds)
        return all(sure == maybe for sure, maybe in spans)

    def _decides(self, box: Box, unit: Fraction, label: int, bounds: SumBounds | None) -> bool:
        """Whether the outputs certainly say the class."""
        top = self._layers[-1]
        if self._ties == "first":
            spans = top.reached(box, unit, bounds)
            on, off = [sure for sure, _ in spans], [not maybe for _, maybe in spans]
            is_first = bool(on[label]) and all(off[:label])
            return is_first or (label == 0 and all(off[1:]))
        own = top.limits[label][0]
        own_error = top.error(label, box, unit, own)
        for other, (limit,) in enumerate(top.limits):
            if other == label:
                continue
            ahead = [a - b for a, b in zip(top.rows[label], top.rows[other], strict=True)]
            lead = top.bounds(ahead, box, unit, bounds)[0] - (own - limit)
            error = own_error + top.error(other, box, unit, limit)
            # With an error no lead is known to be level.
            if not (lead >= 0 if other > label and error == 0 else lead > error):
                return False
        return True


class _ExactLayer:
    """A layer with its weights as integers over a common denominator."""

    def __init__(self, layer: Layer) -> None:
        fractions = [[Fraction(w) for w in row] for row in layer.weights]
        self.below = max(w.denominator for row in fractions for w in row)
        self.rows = [[int(w * self.below) for w in row] for row in fractions]
        self.limits = [[Fraction(t) for t in line] for line in layer.limits]
        self.values = layer.values

    def reached(self, box: Box, unit: Fraction, more: SumBounds | None) -> list[tuple[int, int]]:
        """How many thresholds every unit certainly reaches, and how many perhaps."""
        found = []
        for number, (row, line) in enumerate(zip(self.rows, self.limits, strict=True)):
            low, high = self.bounds(row, box, unit, more)
            error = self.error(number, box, unit)
            low, high = low - error, high + error
            found.append((sum(low >= t for t in line), sum(high >= t for t in line)))
        return found

    def bounds(
        self, row: Sequence[int], box: Box, unit: Fraction, more: SumBounds | None
    ) -> tuple[Fraction, Fraction]:
        """Least and largest sum of inputs with weights over the common denominator."""
        least = most = 0
        for w, (low, high) in zip(row, box, strict=True):
            if w > 0:
                least, most = least + w * low, most + w * high
            elif w:
                least, most = least + w * high, most + w * low
        lower, upper = least * unit / self.below, most * unit / self.below
        if more is None:
            return lower, upper
        other_lower, other_upper = more([Fraction(w, self.below) for w in row])
        return max(lower, other_lower), min(upper, other_upper)

    def error(
        self, number: int, box: Box, unit: Fraction, level: Fraction = Fraction(0)
    ) -> Fraction:
        """Most by which the forward pass can be off, 0 where all partial sums are doubles."""
        row = self.rows[number]
        largest = max(max(abs(low), abs(high)) for low, high in box)
        size = sum(map(abs, row)) * largest * unit / self.below + abs(level)
        if size * max(self.below * unit.denominator, level.denominator) < _DOUBLE:
            return Fraction(0)
        return size * Fraction(2 * len(row) + 4, _DOUBLE) + Fraction(len(row), 2**1070)
