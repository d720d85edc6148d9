"""Whether a class holds in a ball around a raw input, in exact arithmetic.

The ball holds every vector of doubles x', none beyond 1e100, for which the norm of ``x' - x`` is at
most the radius; in scaled units that of ``(x' - x) * factor``. Lengths are measured exactly, from
the raw input and not from the grid point that it is rounded to.

A prediction subtracts, multiplies, cuts off and rounds to the grid in double arithmetic, and each
of these keeps the order of numbers. So what a feature becomes lies between what its smallest and
its largest double in the ball become, and for l_inf these are the ends of the box of inputs to
look at. Where boxes had to be halved to find a proof, the halvings are gone through again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from bdnn import limits
from bdnn.checker.claims import Deadline
from bdnn.checker.columns import ColumnsAround
from bdnn.checker.evaluation import Evaluator
from bdnn.checker.intervals import SCALING_ERROR, BoxNetwork, clipped, root_above
from bdnn.checker.layers import Number
from bdnn.checker.model import Classifier
from bdnn.checker.samples import Row

Norm = Literal["linf", "l1", "l2"]
Units = Literal["raw", "scaled"]
#: Least and largest coordinate: a grid point, a whole raw number, or the input itself.
Coordinates = list[tuple[Fraction, Fraction]]


@dataclass(frozen=True)
class Domain:
    """The inputs that exist: ranges, whole numbers, fixed features, one-hot groups.

    Another truth value or text is ``change`` away; values may get lost, and gaps may be any value,
    at no cost where that is admitted.
    """

    lower: Sequence[float]
    upper: Sequence[float]
    integer: Sequence[bool]
    fixed: Sequence[bool]
    groups: Sequence[Sequence[int]]
    change: Sequence[float]
    may_be_missing: Sequence[bool]
    may_be_known: Sequence[bool]

    @classmethod
    def of_anything(cls, n: int) -> Domain:
        """Everything that numbers can be; truth values, texts and gaps stay what they are."""
        no = [False] * n
        return cls([-math.inf] * n, [math.inf] * n, no, no, (), [math.inf] * n, no, no)


@dataclass(frozen=True)
class Ball:
    """What a perturbation may be, all with lengths up to the radius, or below it if not closed.

    Units other than raw or scaled moves are the raw move of every column that is a length of 1.
    """

    radius: Fraction
    norm: Norm
    units: Units | Sequence[float]
    closed: bool = True

    def holds(self, lengths: Sequence[Fraction]) -> bool:
        """Tell whether a move of these lengths stays in the ball."""
        size, limit = max(lengths, default=Fraction(0)), self.radius
        if self.norm == "l1":
            size = sum(lengths, Fraction(0))
        elif self.norm == "l2":
            size, limit = sum((x * x for x in lengths), Fraction(0)), limit * limit
        return size <= limit if self.closed else size < limit


class Guarantee:
    """The question whether a class holds in the balls around inputs."""

    def __init__(
        self, model: Classifier, ball: Ball, domain: Domain | None = None, *, joined: bool = True
    ) -> None:
        n, self.encoder = model.n_features, model.encoder
        self.model, self.ball, self.joined = model, ball, joined
        domain = Domain.of_anything(n) if domain is None else domain
        self.network, self.boxes = Evaluator(model), BoxNetwork(model)
        if isinstance(ball.units, str):
            factor = [abs(Fraction(f)) for f in self.encoder.factor]
            self.weight = factor if ball.units == "scaled" else [Fraction(1)] * n
        else:
            self.weight = [1 / Fraction(reach) if reach else Fraction(0) for reach in ball.units]
        still = [
            bool(domain.fixed[j])
            or not self.weight[j]
            or (
                column.kind != "number"
                and math.isinf(domain.change[j])
                and not (domain.may_be_missing[j] or domain.may_be_known[j])
            )
            for j, column in enumerate(self.encoder.columns)
        ]
        self.domain = replace(domain, fixed=still)
        self._reach = [ball.radius / weight if weight else Fraction(0) for weight in self.weight]
        jumps = [
            domain.may_be_missing[j]
            or domain.may_be_known[j]
            or (column.kind != "number" and not still[j])
            for j, column in enumerate(self.encoder.columns)
        ]
        self._is_plain = self.encoder.is_plain and not any(jumps)

    def holds(
        self,
        row: Row,
        label: int,
        proof: Any = None,  # halvings ``[feature, cut, left, right]`` of the box around the input
    ) -> bool:
        """Tell whether every input in the ball is certainly put into a class."""
        if not self.ball.closed and not self.ball.radius:
            return True
        if not self._is_plain:
            if not self.joined:
                return proof is None and self._holds_in_box(row, label)
            return ColumnsAround(self, row).holds(label, proof)
        return _Around(self, row).is_closed(self.reach(row), label, proof)

    def counter_example(self, row: Row, label: int, deadline: Deadline | None = None) -> Row | None:
        """Look in some corners of the ball for an input of another class."""
        for corner in self._corners(row, label):
            if deadline is not None:
                deadline.check()
            if self.contains(row, corner):
                answer = self.network.answer(self.encoder.encode(corner))
                if answer.winner != label:
                    return corner
        return None

    def contains(self, row: Row, other: Row) -> bool:
        """Tell whether another input is in the ball around a row."""
        moves = [self.move(j, a, b) for j, (a, b) in enumerate(zip(row, other, strict=True))]
        lengths = [move for move in moves if move is not None]
        return len(lengths) == len(moves) and (not any(lengths) or self.ball.holds(lengths))

    def move(self, j: int, before: float, after: float) -> Fraction | None:
        """How far a code of a column is from another one, None if it is out of reach."""
        domain, is_gap, is_lost = self.domain, before != before, after != after
        if before == after or (is_gap and is_lost):
            return Fraction(0)
        if domain.fixed[j]:
            return None
        if is_lost:
            return Fraction(0) if domain.may_be_missing[j] else None
        column = self.encoder.columns[j]
        is_unknown = column.kind == "category" and after < 0
        if is_unknown and self.encoder.unknown == "error":
            return None
        if is_gap:
            return Fraction(0) if domain.may_be_known[j] else None
        if column.kind != "number":
            return Fraction(domain.change[j]) if math.isfinite(domain.change[j]) else None
        return abs(Fraction(after) - Fraction(before)) * self.weight[j]

    def _holds_in_box(self, row: Row, label: int) -> bool:
        """Tell whether the class is certain where every column takes what it can on its own.

        Every input grows with its column or does not move, so that the ends of the column are
        those of the input.
        """
        ends = self.ends(row)
        low = self.encoder.encode([least for least, _ in ends])
        high = self.encoder.encode([most for _, most in ends])
        exact = [(Fraction(a), Fraction(b)) for a, b in zip(low, high, strict=True)]
        unit = Fraction(1, max(end.denominator for pair in exact for end in pair))
        return self.boxes.is_certain(
            [(int(a / unit), int(b / unit)) for a, b in exact], unit, label
        )

    def reach(self, row: Row) -> Coordinates:
        """Coordinates that features can have in the ball, each on its own."""
        box = []
        for j, ends in enumerate(self.ends(row)):
            low, high = sorted(self.coordinate(j, end) for end in ends)
            box.append((low, high))
        return box

    def coordinate(self, j: int, value: float) -> Fraction:
        """Where a raw value of a feature comes to lie."""
        if self.domain.integer[j]:
            return Fraction(value)
        seen = Fraction(self.seen(j, value))
        return seen / Fraction(self.encoder.step) if self.encoder.step else seen

    def seen(self, j: int, value: float) -> float:
        """What the network sees of a raw value of a column that is one number."""
        return self.encoder.scaled(self.encoder.numbers[j], value)

    def ends(self, row: Row) -> list[tuple[float, float]]:
        """Smallest and largest double of every feature."""
        ends = []
        for j, (x, reach) in enumerate(zip(row, self._reach, strict=True)):
            least, most = self.range_of(j, x)
            is_free = x != x and self.domain.may_be_known[j] and not self.domain.fixed[j]
            if is_free and self.encoder.columns[j].kind == "number":
                ends.append((least, most))
                continue
            if self.domain.fixed[j] or x != x or self.encoder.columns[j].kind != "number":
                ends.append((x, x))
                continue
            whole = bool(self.domain.integer[j])
            high = _below(Fraction(x) + reach, whole=whole, closed=self.ball.closed)
            low = -_below(reach - Fraction(x), whole=whole, closed=self.ball.closed)
            # An open ball of a feature that cannot move holds the input itself.
            ends.append((min(x, max(low, least)), max(x, min(high, most))))
        return ends

    def range_of(self, j: int, x: float) -> tuple[float, float]:
        """Least and largest value of a column of numbers that exist, the row's own among them."""
        least, most = self.domain.lower[j], self.domain.upper[j]
        if x == x:
            least, most = min(least, x), max(most, x)
        if self.domain.integer[j]:
            least = math.ceil(least) if math.isfinite(least) else least
            most = math.floor(most) if math.isfinite(most) else most
        return max(least, -limits.LARGEST_INPUT), min(most, limits.LARGEST_INPUT)

    def _corners(self, row: Row, label: int) -> Iterator[Row]:
        ends = self.ends(row)
        if self.ball.norm != "linf":
            for j, pair in enumerate(ends):
                for end in pair:
                    yield (*row[:j], end, *row[j + 1 :])
            return
        lines = [self._slopes(line) for line in self.model.layers[0].weights]
        if len(self.model.layers) == 1:
            own = lines[label]
            lines += [[a - b for a, b in zip(line, own, strict=True)] for line in lines]
        for line in lines:
            yield tuple(high if w > 0 else low for w, (low, high) in zip(line, ends, strict=True))
            yield tuple(low if w > 0 else high for w, (low, high) in zip(line, ends, strict=True))

    def _slopes(self, weights: Sequence[Number]) -> list[Fraction]:
        """What the weights of a unit say of every column, all of its inputs together."""
        found = [Fraction(0)] * self.model.n_features
        for weight, part in zip(weights, self.encoder.parts, strict=True):
            found[part.column] += Fraction(weight)
        return found


class _Around:
    """One input and what surrounds it."""

    def __init__(self, guarantee: Guarantee, row: Row) -> None:
        encoder = guarantee.encoder
        self._guarantee, self.step = guarantee, encoder.step
        self.ball, self.domain = guarantee.ball, guarantee.domain
        self.weight = guarantee.weight
        self._raw = [Fraction(x) for x in row]
        self._current = [guarantee.coordinate(j, x) for j, x in enumerate(row)]
        self._centre = self._raw
        if encoder.step:
            exact = (
                (x - Fraction(number.shift)) * Fraction(number.factor)
                for x, number in zip(self._raw, encoder.numbers, strict=True)
            )
            self._centre = [clipped(s) for s in exact]
        # How far a scaled input moves when its raw feature moves by a radius of 1.
        factors = zip(encoder.factor, self.weight, strict=True)
        self._unit = [abs(Fraction(f)) / w if w else Fraction(0) for f, w in factors]

    def is_closed(self, box: Coordinates, label: int, proof: Any) -> bool:
        """Whether a box holds no counter-example, by its halves where it has been halved."""
        if any(low > high for low, high in box):
            return True
        if proof is None:
            return self._is_certain(box, label) or self._is_impossible(box) or self._is_far(box)
        feature, cut, left, right = proof
        low, high = box[feature]
        cut = Fraction(cut)
        apart = bool(self.domain.integer[feature]) or self.step > 0
        if apart and cut.denominator != 1:
            return False
        halves = ((low, min(high, cut)), (max(low, cut + 1 if apart else cut), high))
        return all(
            self.is_closed([*box[:feature], half, *box[feature + 1 :]], label, part)
            for half, part in zip(halves, (left, right), strict=True)
        )

    def _is_far(self, box: Coordinates) -> bool:
        """Whether even the nearest point of the box is outside the ball."""
        step = Fraction(self.step)
        moves = []
        for j, (low, high) in enumerate(box):
            nearest = max(low, min(high, self._current[j]))
            if nearest == self._current[j]:
                moves.append(Fraction(0))
            elif self.domain.integer[j]:
                moves.append(abs(nearest - self._raw[j]) * self.weight[j])
            else:
                distance = abs(nearest * (step or 1) - self._centre[j])
                if step:
                    distance -= step / 2 + SCALING_ERROR * (abs(self._centre[j]) + distance)
                moves.append(max(Fraction(0), distance) / self._unit[j])
        return not self.ball.holds(moves)

    def _is_impossible(self, box: Coordinates) -> bool:
        return any(
            sum(box[j][0] for j in group) > 1 or sum(box[j][1] for j in group) < 1
            for group in self.domain.groups
        )

    def _is_certain(self, box: Coordinates, label: int) -> bool:
        unit = Fraction(self.step)
        seen = box
        if any(self.domain.integer) or not unit:
            exact = [(low * (unit or 1), high * (unit or 1)) for low, high in box]
            for j, ends in enumerate(box):
                if self.domain.integer[j]:
                    low, high = sorted(self._guarantee.seen(j, float(end)) for end in ends)
                    exact[j] = (Fraction(low), Fraction(high))
            unit = unit or Fraction(1, max(end.denominator for ends in exact for end in ends))
            seen = [(low / unit, high / unit) for low, high in exact]
        bounds = None if self.ball.norm == "linf" else self._sum_bounds
        inputs = [(int(low), int(high)) for low, high in seen]
        return self._guarantee.boxes.is_certain(inputs, unit, label, bounds)

    def _sum_bounds(self, weights: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """Bounds of a weighted sum within the ball of the norm, by its dual."""
        middle = sum((w * s for w, s in zip(weights, self._centre, strict=True)), Fraction(0))
        half = Fraction(self.step) / 2
        loose = sum(
            (
                abs(w) * (half + SCALING_ERROR * abs(s))
                for w, s in zip(weights, self._centre, strict=True)
            ),
            Fraction(0),
        )
        sizes = [abs(w) * u for w, u in zip(weights, self._unit, strict=True)]
        dual = max(sizes)
        if self.ball.norm == "l2":
            dual = root_above(sum((size * size for size in sizes), Fraction(0)))
        spread = loose + self.ball.radius * dual * (1 + SCALING_ERROR)
        return middle - spread, middle + spread


def _below(value: Fraction, *, whole: bool, closed: bool) -> float:
    """Largest double, or whole number, that is at most a value, or below it."""
    if value > limits.LARGEST_INPUT:
        return limits.LARGEST_INPUT
    if value < -limits.LARGEST_INPUT:
        return -limits.LARGEST_INPUT
    if whole:
        floor = math.floor(value)
        value, closed = Fraction(floor if closed or floor != value else floor - 1), True
    number = float(value)
    exact = Fraction(number)
    if exact > value or (exact == value and not closed):
        number = math.nextafter(number, -math.inf)
    return number
