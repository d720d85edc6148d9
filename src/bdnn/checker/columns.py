"""Whether a class holds around a row of raw columns with bits, texts and gaps, in fractions.

A column of numbers has a bin per interval between neighbouring cuts, then one for a missing value;
truth values have the bins false, true, missing; texts have one bin for what is not listed, one per
listed text, and the missing one. Every double of a bin gives the same bits, and its ends are
doubles, so that the cost of a bin is the exact distance to the nearest of them.

A sum of inputs is the sum of what the columns add. For l_inf every column takes any bin in reach.
For l_1 and l_2 (of squares) one bin per column within a budget is a multiple-choice knapsack, whose
linear relaxation is solved exactly: convex hulls of the bins, steepest slopes first.

Where boxes had to be halved, a number below that of the columns names the bin of a column, and the
numbers from there on the raw values of those columns that are scaled numbers too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bdnn import limits
from bdnn.checker.intervals import SCALING_ERROR, clipped, root_above
from bdnn.checker.samples import Row

if TYPE_CHECKING:
    from bdnn.checker.guarantee import Guarantee

#: Least and largest coordinate: of bins, then of raw values.
Spans = list[tuple[float, float]]


@dataclass(frozen=True)
class Bin:
    """A bin: its values that exist, the inputs they give, and how far away it is, None for never.

    The inputs are pairs of place and value.
    """

    first: float
    last: float
    inputs: list[tuple[int, Fraction]]
    cost: Fraction | None
    is_missing: bool


class ColumnsAround:
    """One row of raw columns and what surrounds it."""

    def __init__(self, guarantee: Guarantee, row: Row) -> None:
        self._guarantee, self._row = guarantee, row
        self._encoder, self._domain = guarantee.encoder, guarantee.domain
        columns = self._encoder.columns
        self._numbered = [
            j
            for j, column in enumerate(columns)
            if column.kind == "number" and any(n.column == j for n in self._encoder.numbers)
        ]
        self._bins = [self._bins_of(j) for j in range(len(columns))]

    def holds(self, label: int, proof: Any) -> bool:
        """Tell whether every row in the ball is certainly put into a class."""
        return self._is_closed(self._spans, label, proof)

    def keeps_first_layer(self) -> bool:
        """Tell whether certainly no row in the ball changes a first-layer activation."""
        return _Box(self._guarantee, self._row, *self._held(self._spans)).keeps_first_layer()

    @property
    def _spans(self) -> Spans:
        """All bins, and what raw values can be in the ball."""
        spans: Spans = [(0, len(bins) - 1) for bins in self._bins]
        ends = self._guarantee.ends(self._row)
        return spans + [ends[j] for j in self._numbered]

    def _held(self, spans: Spans) -> tuple[list[list[Bin]], dict[int, tuple[float, float]]]:
        """Bins in reach of every column, and ends of raw values, of what spans hold."""
        reach = [self._reached(j, spans[j]) for j in range(len(self._bins))]
        return reach, dict(zip(self._numbered, spans[len(self._bins) :], strict=True))

    def _bins_of(self, j: int) -> list[Bin]:
        column, x = self._encoder.columns[j], self._row[j]
        least, most = self._guarantee.range_of(j, x)
        if column.kind == "number":
            cuts = {bit.value for bit in self._encoder.bits if bit.column == j and bit.kind == "ge"}
            if any(j in group for group in self._domain.groups):
                cuts.add(1.0)  # a member of a group is 0 or 1
            starts = [-limits.LARGEST_INPUT, *sorted(cuts)]
            stops = [*(math.nextafter(c, -math.inf) for c in starts[1:]), limits.LARGEST_INPUT]
            ends = list(zip(starts, stops, strict=True))
        elif column.kind == "boolean":
            ends = [(0.0, 0.0), (1.0, 1.0)]
        else:
            ends = [(float(code), float(code)) for code in range(-1, len(column.values))]
        found = []
        own = max((b for b, (first, _) in enumerate(ends) if first <= x), default=0)
        for b, (first, last) in enumerate(ends):
            inputs = self._inputs(j, first)
            if column.kind == "number":
                first, last = max(first, least), min(last, most)
                if self._domain.integer[j] and first <= last:
                    first, last = float(math.ceil(first)), float(math.floor(last))
            cost = self._cost(j, first, last)
            cost = Fraction(0) if x == x and b == own else cost
            found.append(Bin(first, last, inputs, cost, is_missing=False))
        lost = self._guarantee.move(j, x, math.nan)
        return [*found, Bin(math.nan, math.nan, self._inputs(j, math.nan), lost, is_missing=True)]

    def _cost(self, j: int, first: float, last: float) -> Fraction | None:
        """The shortest move into an interval of values, None if there is none."""
        if first > last:
            return None
        x = self._row[j]
        nearest = first if x != x else min(max(x, first), last)
        return self._guarantee.move(j, x, nearest)

    def _inputs(self, j: int, code: float) -> list[tuple[int, Fraction]]:
        """What a code makes of the inputs that the bin of its column decides."""
        encoder, is_number = self._encoder, self._encoder.columns[j].kind == "number"
        row = tuple(code if i == j else 0.0 for i in range(len(encoder.columns)))
        values, found = encoder.encode(row), []
        for place, part in enumerate(encoder.parts):
            if part.column == j and not (is_number and place < len(encoder.numbers)):
                value = values[place]
                found.append((place, Fraction(0) if value != value else Fraction(value)))
        return found

    def _is_closed(self, spans: Spans, label: int, proof: Any) -> bool:
        if proof is not None:
            number, cut, left, right = proof
            if type(number) is not int or not 0 <= number < len(spans):
                return False
            low, high = spans[number]
            cut = float(cut)
            after = math.nextafter(cut, math.inf)
            n = len(self._bins)
            if number < n or self._domain.integer[self._numbered[number - n]]:
                if cut != math.floor(cut):
                    return False
                after = cut + 1
            halves = ((low, min(high, cut)), (max(low, after), high))
            return all(
                self._is_closed([*spans[:number], half, *spans[number + 1 :]], label, part)
                for half, part in zip(halves, (left, right), strict=True)
            )
        reach, raw = self._held(spans)
        if not all(reach):
            return True
        return (
            self._is_empty(reach, raw)
            or self._is_far(reach, raw)
            or self._is_impossible(reach)
            or _Box(self._guarantee, self._row, reach, raw).is_certain(label)
        )

    def _reached(self, j: int, span: tuple[float, float]) -> list[Bin]:
        """Bins of a span that the ball reaches."""
        bins, ball = self._bins[j], self._guarantee.ball
        return [
            one
            for b, one in enumerate(bins)
            if span[0] <= b <= span[1]
            and one.cost is not None
            and (not one.cost or ball.holds([one.cost]))
        ]

    def _is_empty(self, reach: list[list[Bin]], raw: dict[int, tuple[float, float]]) -> bool:
        """Whether a column has neither a value in its range nor may be missing."""
        return any(
            not any(b.is_missing or max(b.first, low) <= min(b.last, high) for b in reach[j])
            for j, (low, high) in raw.items()
        )

    def _is_far(self, reach: list[list[Bin]], raw: dict[int, tuple[float, float]]) -> bool:
        """Whether even the nearest point of the box is outside the ball."""
        moves = []
        for j, bins in enumerate(reach):
            costs = []
            for one in bins:
                own, (low, high) = one, raw.get(j, (-math.inf, math.inf))
                if not one.is_missing and j in raw and self._row[j] == self._row[j]:
                    own = replace(one, cost=self._cost(j, max(one.first, low), min(one.last, high)))
                if own.cost is not None:
                    costs.append(own.cost)
            if not costs:
                return True
            moves.append(min(costs))
        return any(moves) and not self._guarantee.ball.holds(moves)

    def _is_impossible(self, reach: list[list[Bin]]) -> bool:
        """Whether no point has exactly one 1 in every group."""
        for group in self._domain.groups:
            least = sum(all(not b.is_missing and b.first >= 1 for b in reach[j]) for j in group)
            most = sum(any(b.is_missing or b.last >= 1 for b in reach[j]) for j in group)
            if least > 1 or most < 1:
                return True
        return False


class _Box:
    """Bins in reach, with the ranges of scaled numbers beside them."""

    def __init__(
        self,
        guarantee: Guarantee,
        row: Row,
        reach: list[list[Bin]],
        raw: dict[int, tuple[float, float]],
    ) -> None:
        self._guarantee, self._row, self._reach, self._raw = guarantee, row, reach, raw
        encoder = guarantee.encoder
        self._ends: list[tuple[Fraction, Fraction]] = [
            (Fraction(0), Fraction(0))
        ] * encoder.n_inputs
        for bins in reach:
            for k, (place, _) in enumerate(bins[0].inputs):
                values = [one.inputs[k][1] for one in bins]
                self._ends[place] = (min(values), max(values))
        self._numbers = [
            i for i, n in enumerate(encoder.numbers) if encoder.columns[n.column].kind == "number"
        ]
        for place in self._numbers:
            number = encoder.numbers[place]
            seen = [encoder.scaled(number, x) for x in self._values(number.column)]
            self._ends[place] = (Fraction(min(seen)), Fraction(max(seen)))

    def _values(self, j: int) -> list[float]:
        """Ends of what a column of numbers can be."""
        low, high = self._raw[j]
        values = []
        for one in self._reach[j]:
            if one.is_missing:
                values.append(self._guarantee.encoder.columns[j].fill)
            elif max(one.first, low) <= min(one.last, high):
                values += [max(one.first, low), min(one.last, high)]
        return values

    def is_certain(self, label: int) -> bool:
        """Whether the network certainly answers a class in the box."""
        return self._guarantee.boxes.is_certain(*self._whole(), label, self._sums)

    def keeps_first_layer(self) -> bool:
        """Whether every first-layer unit certainly takes one value in the box."""
        return self._guarantee.boxes.keeps_first_layer(*self._whole(), self._sums)

    def _whole(self) -> tuple[list[tuple[int, int]], Fraction]:
        """Ends of inputs as multiples of a unit, and the unit."""
        unit = Fraction(1, max(end.denominator for pair in self._ends for end in pair))
        return [(int(low / unit), int(high / unit)) for low, high in self._ends], unit

    def _sums(self, weights: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        upper, _ = self._least([-w for w in weights])
        lower, _ = self._least(weights)
        return lower, -upper

    def _least(self, weights: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """Lower limit of a sum, and what its columns give when each takes what it likes."""
        numbers = sum(
            (min(weights[i] * end for end in self._ends[i]) for i in self._numbers), Fraction(0)
        )
        parts = [
            [
                (one.cost or Fraction(0), sum((weights[i] * v for i, v in one.inputs), Fraction(0)))
                for one in bins
            ]
            for bins in self._reach
        ]
        free = sum((min(t for _, t in part) for part in parts), Fraction(0))
        ball = self._guarantee.ball
        if ball.norm == "linf":
            return numbers + free, free
        limited = max(free, _knapsack(parts, ball.radius, squares=ball.norm == "l2"))
        found = numbers + limited
        if self._numbers and not self._jumps():
            found = max(found, self._in_ball(weights) + free)
        return found, free

    def _jumps(self) -> bool:
        domain = self._guarantee.domain
        return any(domain.may_be_missing[j] or domain.may_be_known[j] for j in self._raw)

    def _in_ball(self, weights: Sequence[Fraction]) -> Fraction:
        """Lower limit of the numbers' part by the dual norm of their weights."""
        encoder, ball = self._guarantee.encoder, self._guarantee.ball
        middle, loose, sizes = Fraction(0), Fraction(0), [Fraction(0)]
        for i in self._numbers:
            number, w = encoder.numbers[i], weights[i]
            x = self._row[number.column]
            x = encoder.columns[number.column].fill if x != x else x
            s = Fraction(x)
            if encoder.step:
                s = clipped((s - Fraction(number.shift)) * Fraction(number.factor))
            middle += w * s
            loose += abs(w) * (Fraction(encoder.step) / 2 + SCALING_ERROR * abs(s))
            weight = self._guarantee.weight[number.column]
            sizes.append(abs(w) * abs(Fraction(number.factor)) / weight if weight else Fraction(0))
        dual = max(sizes)
        if ball.norm == "l2":
            dual = root_above(sum((size * size for size in sizes), Fraction(0)))
        return middle - loose - ball.radius * dual * (1 + SCALING_ERROR)


def _knapsack(
    columns: list[list[tuple[Fraction, Fraction]]], radius: Fraction, *, squares: bool
) -> Fraction:
    """Least sum of one (cost, part) per column within a budget, parts of columns allowed."""
    total, slopes = Fraction(0), []
    budget = radius * radius if squares else radius
    is_whole = all(t.denominator == 1 for column in columns for _, t in column)
    for column in columns:
        points = sorted((cost * cost if squares else cost, t) for cost, t in column)
        hull = [points[0]]
        for cost, t in points[1:]:
            if t >= hull[-1][1]:
                continue
            # A point above the line from the one before it to this one is on no hull.
            while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (cost - hull[-2][0]) >= (
                t - hull[-2][1]
            ) * (hull[-1][0] - hull[-2][0]):
                hull.pop()
            if cost == hull[-1][0]:
                hull[-1] = (cost, t)
            else:
                hull.append((cost, t))
        total += hull[0][1]
        budget = max(Fraction(0), budget - hull[0][0])
        for (a, s), (b, t) in pairwise(hull):
            slopes.append(((t - s) / (b - a), b - a))
    for slope, cost in sorted(slopes):
        part = min(cost, budget)
        total += slope * part
        budget -= part
    return Fraction(math.ceil(total)) if is_whole else total
