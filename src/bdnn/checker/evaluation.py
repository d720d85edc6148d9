"""The forward pass in exact rationals, beside the same in double arithmetic.

Every number of a model file is a binary fraction. Numbers of a layer are brought to a common
denominator, so that exact sums are sums of Python's integers.

What a network answers is defined in double arithmetic (see the format of model files). Where exact
sums and double sums lead to different decisions, rounding decides, and that is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from bdnn.checker.model import CheckedModel, Layer

_LIMIT = 2.0**30

Vector = tuple[Fraction, ...]
Point = tuple[int, ...]


@dataclass
class Evaluation:
    """Answers of a network on scaled inputs.

    Attributes
    ----------
    points : list of tuples of int
        The inputs as integers over a common denominator.
    outputs : dict
        0/1 outputs of every distinct point.
    winner : dict
        Predicted class of every distinct point.
    rounded : int
        Decisions that differ between exact and double arithmetic.
    n_decisions : int
        All decisions.
    """

    points: list[Point]
    outputs: dict[Point, tuple[int, ...]] = field(default_factory=dict)
    winner: dict[Point, int] = field(default_factory=dict)
    rounded: int = 0
    n_decisions: int = 0

    @property
    def winners(self) -> list[int]:
        """Predicted class of every input."""
        return [self.winner[point] for point in self.points]


def scaled(model: CheckedModel, row: list[float]) -> Vector:
    """Scale a row: double arithmetic up to the rounding to the grid, as the format defines it."""
    if model.scale_kind is None:
        return tuple(Fraction(value) for value in row)
    return tuple(scaled_feature(model, j, value) for j, value in enumerate(row))


def scaled_feature(model: CheckedModel, j: int, value: float) -> Fraction:
    """Scale one feature."""
    number = (value - model.shift[j]) * model.factor[j]
    number = min(max(number, -_LIMIT), _LIMIT)
    if not model.step:
        return Fraction(number)
    # The product is rounded like in the package; it is exact for steps that are powers of two.
    return Fraction(round(number / model.step) * model.step)


def evaluate(model: CheckedModel, inputs: Sequence[Vector]) -> Evaluation:
    """Evaluate a network on scaled inputs."""
    layers = [_ExactLayer(layer) for layer in model.layers]
    below = math.lcm(*{value.denominator for x in inputs for value in x})
    points = [tuple(v.numerator * (below // v.denominator) for v in x) for x in inputs]
    found = Evaluation(points)
    limits = model.layers[-1].thresholds
    for x, point in zip(inputs, points, strict=True):
        if point in found.outputs:
            continue
        numbers, part, reals = point, below, [float(value) for value in x]
        for layer in layers:
            exact = layer.exact_sums(numbers)
            doubles = layer.double_sums(reals)
            values = []
            for total, double, line in zip(exact, doubles, layer.limits, strict=True):
                reached = [double >= float(t) for t in line]
                true = [total >= t * layer.below * part for t in line]
                found.rounded += sum(a != b for a, b in zip(true, reached, strict=True))
                found.n_decisions += len(line)
                values.append(layer.values[sum(reached)])
            numbers, part, reals = tuple(values), 1, [float(value) for value in values]
        found.outputs[point] = numbers
        scores = [total - t for total, t in zip(doubles, limits, strict=True)]
        last = layers[-1]
        size = last.below * (below if len(layers) == 1 else 1)
        fractions = [total - t * size for total, (t,) in zip(exact, last.limits, strict=True)]
        found.winner[point] = _winner(numbers, scores, model.ties)
        found.n_decisions += 1
        found.rounded += _winner(numbers, fractions, model.ties) != found.winner[point]
    return found


def _winner(on: Sequence[int], scores: Sequence[float | Fraction], ties: str) -> int:
    values: Sequence[float | Fraction] = on if ties == "first" else scores
    return max(range(len(values)), key=lambda i: (values[i], -i))


class _ExactLayer:
    """A layer with its weights as integers over a common denominator."""

    def __init__(self, layer: Layer) -> None:
        fractions = [[Fraction(w) for w in row] for row in layer.weights]
        self.below = math.lcm(*{w.denominator for row in fractions for w in row})
        self.rows = [
            [(j, int(w * self.below)) for j, w in enumerate(row) if w] for row in fractions
        ]
        self.weights = [[float(w) for w in row] for row in layer.weights]
        self.limits = [[Fraction(t) for t in line] for line in layer.limits]
        self.values = layer.values

    def exact_sums(self, numbers: Point) -> list[int]:
        """Sums, times the denominators of weights and inputs."""
        return [sum(w * numbers[j] for j, w in row) for row in self.rows]

    def double_sums(self, numbers: list[float]) -> list[float]:
        """Sums in double arithmetic, added in input order."""
        sums = []
        for row in self.weights:
            total = 0.0
            for w, value in zip(row, numbers, strict=True):
                total += w * value
            sums.append(total)
        return sums
