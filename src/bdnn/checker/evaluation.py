"""The forward pass in double arithmetic, with every decision compared with exact arithmetic.

What a network answers is defined in double arithmetic (see the format of model files). Where exact
sums and double sums lead to different decisions, rounding decides, and that is counted. Sums that
cannot be rounded need no comparison, nor do those that are farther from their threshold than all
rounding together; the others are computed again in fractions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add, mul

from bdnn.checker.claims import Deadline
from bdnn.checker.layers import Layer, Number
from bdnn.checker.model import Classifier
from bdnn.checker.samples import Row

#: Scaled inputs as little-endian doubles.
Point = bytes

_LIMIT = 2.0**30
# Twice the relative error of a product and a sum, and more than products that vanish.
_ROUNDOFF, _TINY = 2.0**-52, 2.0**-1000
# Thresholds on this grid are subtracted from exact sums without rounding.
_FINEST = 2.0**-20
_EXACT = 2.0**53


@dataclass(frozen=True)
class Answer:
    """What a network says of one input."""

    outputs: tuple[int, ...]  # 0/1 outputs
    winner: int  # predicted class
    n_decisions: int  # all decisions, and those that differ between exact and double arithmetic
    rounded: int


@dataclass
class Evaluation:
    """Answers of a network on many rows."""

    points: list[Point] = field(default_factory=list)  # distinct scaled inputs
    numbers: list[int] = field(default_factory=list)  # which of these every row has
    # Of every point; equal ones are one object.
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    winner: list[int] = field(default_factory=list)  # predicted class of every point
    n_decisions: int = 0  # as of an answer, for all points together
    rounded: int = 0

    @property
    def winners(self) -> list[int]:
        """Predicted class of every row."""
        return [self.winner[number] for number in self.numbers]


def evaluate(
    model: Classifier, rows: Iterable[Row], deadline: Deadline | None = None
) -> Evaluation:
    """Evaluate a network on raw rows."""
    network, layout = Evaluator(model), struct.Struct(f"<{model.encoder.n_inputs}d")
    found = Evaluation()
    known: dict[Point, int] = {}
    patterns: dict[tuple[int, ...], tuple[int, ...]] = {}
    for row in rows:
        inputs = model.encoder.encode(row)
        point = layout.pack(*(value + 0.0 for value in inputs))
        number = known.setdefault(point, len(known))
        found.numbers.append(number)
        if number < len(found.points):
            continue
        answer = network.answer(inputs)
        found.points.append(point)
        found.outputs.append(patterns.setdefault(answer.outputs, answer.outputs))
        found.winner.append(answer.winner)
        found.n_decisions += answer.n_decisions
        found.rounded += answer.rounded
        if deadline is not None:
            deadline.check()
    return found


class Evaluator:
    """A network with what is known of its sums."""

    def __init__(self, model: Classifier) -> None:
        self._ties = model.ties
        encoder = model.encoder
        # Bits are multiples of every step.
        size, step = (_LIMIT, encoder.step) if encoder.numbers else (1.0, 1.0)
        self._layers = []
        for layer in model.layers:
            self._layers.append(_Sums(layer, size, step))
            size, step = float(max(map(abs, layer.values))), 1.0

    def answer(self, inputs: Row, *, after: int = 0) -> Answer:
        """Say what the network makes of scaled inputs, or of the values of a hidden layer."""
        n_decisions, rounded = 1, 0
        values: Row = inputs
        for layer in self._layers[after:]:
            sums, taken = [], []
            for unit, line in enumerate(layer.limits):
                total = layer.total(unit, values)
                reached = sum(total >= t for t in line)
                rounded += layer.rounded(unit, values, total)
                n_decisions += len(line)
                sums.append(total)
                taken.append(layer.values[reached])
            last, values = values, tuple(map(float, taken))
        outputs = tuple(taken)
        if self._ties == "first":
            return Answer(outputs, outputs.index(1) if 1 in outputs else 0, n_decisions, rounded)
        scores = [total - t for total, (t,) in zip(sums, layer.limits, strict=True)]
        winner = _largest(scores)
        rounded += winner != layer.exact_winner(last, scores, winner)
        return Answer(outputs, winner, n_decisions, rounded)


class _Sums:
    """The sums of a layer, in doubles and exactly."""

    def __init__(self, layer: Layer, size: float, step: float) -> None:
        self.rows, self.limits, self.values = layer.weights, layer.limits, layer.values
        largest = max(sum(map(abs, row)) for row in self.rows) * size
        # Whole multiples of the step that doubles hold, whatever the order they are added in.
        self._is_exact = all(w == int(w) for row in self.rows for w in row) and (
            largest == 0 or largest < _EXACT * step
        )
        most = _EXACT * min(step, _FINEST) - largest
        self._has_exact_scores = self._is_exact and all(
            abs(t) < most and t / _FINEST == int(t / _FINEST) for t, *_ in self.limits
        )

    def total(self, unit: int, values: Row) -> float:
        """A sum in double arithmetic, added in input order."""
        return reduce(add, map(mul, self.rows[unit], values), 0.0)

    def rounded(self, unit: int, values: Row, total: float) -> int:
        """How many of a unit's decisions hang on rounding."""
        if self._is_exact:
            return 0
        row, line = self.rows[unit], self.limits[unit]
        error = _error(row, values)
        if all(abs(total - t) > error for t in line):
            return 0
        true = _exact_sum(row, values)
        return sum((true >= Fraction(t)) != (total >= t) for t in line)

    def exact_winner(self, values: Row, scores: list[float], winner: int) -> int:
        """The class of the largest score in exact arithmetic."""
        if self._has_exact_scores:
            return winner
        errors = [
            _error(row, values) + abs(score) * _ROUNDOFF
            for row, score in zip(self.rows, scores, strict=True)
        ]
        is_clear = all(
            scores[winner] - score > errors[winner] + error
            for i, (score, error) in enumerate(zip(scores, errors, strict=True))
            if i != winner
        )
        if is_clear:
            return winner
        return _largest(
            [
                _exact_sum(row, values) - Fraction(t)
                for row, (t,) in zip(self.rows, self.limits, strict=True)
            ]
        )


def _error(row: Sequence[Number], values: Row) -> float:
    """More than a sum in double arithmetic can be off."""
    size: float = sum(map(abs, map(mul, row, values)))
    return (len(row) + 2) * _ROUNDOFF * size + _TINY


def _exact_sum(row: Sequence[Number], values: Row) -> Fraction:
    parts = (Fraction(w) * Fraction(v) for w, v in zip(row, values, strict=True) if w and v)
    return sum(parts, Fraction(0))


def _largest(scores: Sequence[float | Fraction]) -> int:
    return max(range(len(scores)), key=lambda i: (scores[i], -i))
