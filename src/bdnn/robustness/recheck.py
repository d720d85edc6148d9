"""A guarantee once more, by interval arithmetic in exact fractions.

Written without numpy's arithmetic and without the bounds of this package: a second opinion that is
slow and plain. The reach of a perturbation, the sums of every layer and the leads between classes
are fractions; what floating point numbers in the forward pass can be off is added as a fraction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.activation import FloatArray
from bdnn.network import Network
from bdnn.robustness.domain import Domain
from bdnn.robustness.norms import Norm, Units
from bdnn.scaling import Scaler

Box = list[tuple[Fraction, Fraction]]

# Relative error of the scaler, which subtracts and multiplies once: two roundings, doubled twice.
_SCALING_ERROR = Fraction(1, 2**50)
_LARGEST_SCALED = Fraction(2**30)


def holds(
    network: Network,
    scaler: Scaler,
    domain: Domain,
    *,
    norm: Norm,
    units: Units,
    radius: float,
    sample: FloatArray,
    label: int,
    proof: Any = None,
) -> bool:
    """Tell whether no input nearer than a radius is put into another class than ``label``."""
    if radius == 0:
        return True
    question = _Question.create(network, scaler, domain, norm, units, radius, sample, label)
    return question.is_closed(question.reach(), proof)


@dataclass(frozen=True)
class _Question:
    network: Network
    scaler: Scaler
    domain: Domain
    norm: Norm
    radius: Fraction
    raw: list[Fraction]
    centre: list[Fraction]
    current: list[Fraction]
    unit: list[Fraction]
    weight: list[Fraction]
    label: int

    @classmethod
    def create(
        cls,
        network: Network,
        scaler: Scaler,
        domain: Domain,
        norm: Norm,
        units: Units,
        radius: float,
        sample: FloatArray,
        label: int,
    ) -> _Question:
        raw = list(map(Fraction, sample.tolist()))
        seen = list(map(Fraction, scaler.transform(sample[None])[0].tolist()))
        step = Fraction(scaler.step)
        centre = seen
        factor = [abs(Fraction(f)) for f in scaler.factor.tolist()]
        if scaler.kind is not None:
            shift = map(Fraction, scaler.shift.tolist())
            signed = map(Fraction, scaler.factor.tolist())
            scaled = [(x - b) * f for x, b, f in zip(raw, shift, signed, strict=True)]
            centre = [max(-_LARGEST_SCALED, min(_LARGEST_SCALED, s)) for s in scaled]
        ones = [Fraction(1)] * len(raw)
        whole = domain.integer.tolist()
        current = [
            x if is_whole else (z / step if step else z)
            for x, z, is_whole in zip(raw, seen, whole, strict=True)
        ]
        unit, weight = (ones, factor) if units == "scaled" else (factor, ones)
        return cls(
            network,
            scaler,
            domain,
            norm,
            Fraction(radius),
            raw,
            centre,
            current,
            unit,
            weight,
            label,
        )

    def reach(self) -> Box:
        """Coordinates within the radius: grid points, whole raw values, or inputs as they are."""
        step = Fraction(self.scaler.step)
        ends = sorted_ends(self.scaler, self.domain)
        box: Box = []
        for j, own in enumerate(self.current):
            if self.domain.integer[j]:
                move = self.radius / self.weight[j]
                low = Fraction(math.ceil(self.raw[j] - move))
                high = Fraction(math.floor(self.raw[j] + move))
            else:
                move = self.radius * self.unit[j] + step / 2
                if self.scaler.kind is not None:
                    move += _SCALING_ERROR * (abs(self.centre[j]) + move)
                low, high = self.centre[j] - move, self.centre[j] + move
                if step:
                    low, high = Fraction(math.ceil(low / step)), Fraction(math.floor(high / step))
            least, most = ends[j]
            low = low if least is None else max(low, least)
            high = high if most is None else min(high, most)
            fixed = bool(self.domain.fixed[j])
            box.append((own, own) if fixed else (min(low, own), max(high, own)))
        return box

    def is_closed(self, box: Box, proof: Any) -> bool:
        """Whether a box holds no counter-example, by its halves where it has been halved."""
        if any(low > high for low, high in box):
            return True
        if proof is None:
            return self._is_far(box) or self._is_impossible(box) or self._is_certain(box)
        feature, cut, left, right = proof
        low, high = box[feature]
        cut = Fraction(cut)
        apart = bool(self.domain.integer[feature]) or self.scaler.step > 0
        if apart and cut.denominator != 1:
            return False
        halves = ((low, min(high, cut)), (max(low, cut + 1 if apart else cut), high))
        return all(
            self.is_closed([*box[:feature], half, *box[feature + 1 :]], part)
            for half, part in zip(halves, (left, right), strict=True)
        )

    def _is_far(self, box: Box) -> bool:
        """Whether even the nearest point of the box is at least the radius away."""
        step = Fraction(self.scaler.step)
        moves = []
        for j, (low, high) in enumerate(box):
            nearest = max(low, min(high, self.current[j]))
            if nearest == self.current[j]:
                moves.append(Fraction(0))
            elif self.domain.integer[j]:
                moves.append(abs(nearest - self.raw[j]) * self.weight[j])
            else:
                distance = abs(nearest * (step or 1) - self.centre[j])
                if self.scaler.kind is not None:
                    distance -= step / 2 + _SCALING_ERROR * (abs(self.centre[j]) + distance)
                moves.append(max(Fraction(0), distance) / self.unit[j])
        if self.norm == "linf":
            return max(moves) >= self.radius
        if self.norm == "l1":
            return sum(moves) >= self.radius
        return sum(move * move for move in moves) >= self.radius**2

    def _is_impossible(self, box: Box) -> bool:
        return any(
            sum(box[j][0] for j in group) > 1 or sum(box[j][1] for j in group) < 1
            for group in self.domain.groups
        )

    def _is_certain(self, box: Box) -> bool:
        inputs = self._inputs(box)
        if all(low == high for low, high in inputs):
            point = np.array([[float(low) for low, _ in inputs]])
            return int(self.network.predict(point)[0]) == self.label
        values = inputs
        grid = Fraction(self.scaler.step)
        first = True
        for W, t in zip(self.network.weights[:-1], self.network.thresholds[:-1], strict=True):
            units = []
            for w, level in zip(W.tolist(), map(Fraction, t.tolist()), strict=True):
                row = list(map(Fraction, w))
                low, high = self._sum(row, values, first)
                error = _error(row, Fraction(0), values, grid)
                units.append(
                    (Fraction(int(low - error >= level)), Fraction(int(high + error >= level)))
                )
            values, grid, first = units, Fraction(1), False
        return self._decides(values, grid, first)

    def _decides(self, values: Box, grid: Fraction, first: bool) -> bool:
        """Whether the outputs certainly say the class."""
        rows = [list(map(Fraction, w)) for w in self.network.weights[-1].tolist()]
        levels = list(map(Fraction, self.network.thresholds[-1].tolist()))
        if self.network.architecture.ties == "first":
            on, off = [], []
            for row, level in zip(rows, levels, strict=True):
                low, high = self._sum(row, values, first)
                error = _error(row, Fraction(0), values, grid)
                on.append(low - error >= level)
                off.append(high + error < level)
            is_first = on[self.label] and all(off[: self.label])
            return is_first or (self.label == 0 and all(off[1:]))
        own, own_level = rows[self.label], levels[self.label]
        own_error = _error(own, own_level, values, grid)
        for q, (row, level) in enumerate(zip(rows, levels, strict=True)):
            if q == self.label:
                continue
            ahead = [a - b for a, b in zip(own, row, strict=True)]
            lead = self._sum(ahead, values, first)[0] - (own_level - level)
            error = own_error + _error(row, level, values, grid)
            wins_level = q > self.label and error == 0
            if not (lead >= 0 if wins_level else lead > error):
                return False
        return True

    def _inputs(self, box: Box) -> Box:
        """What the network sees at the ends of a box of coordinates."""
        step = Fraction(self.scaler.step)
        seen = [(low * (step or 1), high * (step or 1)) for low, high in box]
        for j in np.flatnonzero(self.domain.integer).tolist():
            ends = np.zeros((2, len(box)))
            ends[:, j] = [float(end) for end in box[j]]
            values = sorted(map(Fraction, self.scaler.transform(ends)[:, j].tolist()))
            seen[j] = (values[0], values[1])
        return seen

    def _sum(self, w: list[Fraction], values: Box, first: bool) -> tuple[Fraction, Fraction]:
        """Bounds of a weighted sum; the first layer's are also within the ball of the norm."""
        ends = [(a * v[0], a * v[1]) for a, v in zip(w, values, strict=True)]
        low = sum(map(min, ends), Fraction())
        high = sum(map(max, ends), Fraction())
        if not first or self.norm == "linf":
            return low, high
        middle = sum((a * s for a, s in zip(w, self.centre, strict=True)), Fraction())
        loose = sum(
            (
                abs(a) * (Fraction(self.scaler.step) / 2 + _SCALING_ERROR * abs(s))
                for a, s in zip(w, self.centre, strict=True)
            ),
            Fraction(),
        )
        sizes = [abs(a) * u for a, u in zip(w, self.unit, strict=True)]
        dual = (
            max(sizes)
            if self.norm == "l1"
            else _root_above(sum((s * s for s in sizes), Fraction()))
        )
        spread = loose + self.radius * dual * (1 + _SCALING_ERROR)
        return max(low, middle - spread), min(high, middle + spread)


def sorted_ends(scaler: Scaler, domain: Domain) -> list[tuple[Fraction | None, Fraction | None]]:
    """Range of the coordinates by the domain, None where there is none."""
    ends = np.sort(scaler.transform(np.stack([domain.lower, domain.upper])), axis=0)
    pairs: list[tuple[Fraction | None, Fraction | None]] = []
    for j, (low, high) in enumerate(ends.T.tolist()):
        if domain.integer[j]:
            low, high = domain.lower[j], domain.upper[j]
            least = Fraction(math.ceil(low)) if math.isfinite(low) else None
            most = Fraction(math.floor(high)) if math.isfinite(high) else None
        else:
            unit = Fraction(scaler.step) or Fraction(1)
            least = Fraction(low) / unit if math.isfinite(low) else None
            most = Fraction(high) / unit if math.isfinite(high) else None
        pairs.append((least, most))
    return pairs


def _error(w: list[Fraction], level: Fraction, values: Box, grid: Fraction) -> Fraction:
    """Most by which the forward pass can be off, 0 where all partial sums are representable.

    They are if they are multiples of one power of two and less than 2**53 of it.
    """
    size = sum(
        (abs(a) * max(abs(v[0]), abs(v[1])) for a, v in zip(w, values, strict=True)), Fraction()
    )
    size += abs(level)
    parts = [*w, level]
    if grid and all(part.denominator & (part.denominator - 1) == 0 for part in (*parts, grid)):
        finest = max(part.denominator for part in parts) * grid.denominator
        if size * finest < 2**53:
            return Fraction(0)
    return size * Fraction(2 * len(w) + 4, 2**53)


def _root_above(square: Fraction) -> Fraction:
    """A fraction not below a square root, and hardly above."""
    scale = 2**60
    return Fraction(math.isqrt(math.ceil(square * scale * scale)) + 1, scale)
