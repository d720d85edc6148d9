"""Exact moves of one unit of the last hidden layer, its output weights fitted along."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.search.kernels.backend import best_split, set_gain

# Coordinates of a unit that one visit tries, and features that a proposal looks at.
_MOST_COORDINATES = 64
_SHARES = (0.3, 0.6, 1.0)
# A move must gain this share more than the unit as it is.
_LEAST = 1e-9


@dataclass
class Unit:
    """A unit's weights and threshold with its sums and the gain it brings."""

    weights: FloatArray
    threshold: float
    sums: FloatArray
    gain: float


@dataclass(frozen=True, eq=False)
class UnitSearch:
    """The choice of one unit while all others stay.

    Parameters
    ----------
    values : array of shape (n_features, n_inputs)
        Inputs of the unit's layer.
    moments : array of shape (n_inputs, 1 + n_outputs)
        Weight of every input, and its residuals without the unit times the weight. With a bias the
        residuals have mean 0.
    price : array of shape (n_outputs,)
    rules : array of shape (5,)
        See :func:`~bdnn.search.kernels.split.set_gain`.
    kind : WeightSet
        Of the unit's layer.
    free : bool
        Whether the unit has a threshold of its own; otherwise it is 0.
    rng : numpy.random.Generator
    low, high : arrays of shape (n_features,)
        Limits of the weights.
    room : int
        How many weights may differ from 0.
    """

    values: FloatArray
    moments: FloatArray
    price: FloatArray
    rules: FloatArray
    kind: WeightSet
    free: bool
    rng: np.random.Generator
    low: FloatArray
    high: FloatArray
    room: int

    def place(self, weights: FloatArray, sums: FloatArray | None = None) -> Unit:
        """Give weights their best threshold."""
        sums = weights @ self.values if sums is None else sums
        if not self.free:
            return Unit(weights, 0.0, sums, self.gain(sums >= 0.0))
        t, gain = self._split(sums, self._off, self.moments, self._base, -np.inf, np.inf)
        return Unit(weights, t, sums, gain)

    def take(self, weights: FloatArray, threshold: float) -> Unit:
        """Look at a unit as it is."""
        sums = weights @ self.values
        return Unit(weights, threshold, sums, self.gain(sums >= threshold))

    def gain(self, on: BoolArray) -> float:
        """Gain of a unit that is on for these inputs."""
        base = self.moments[on].sum(axis=0)
        return float(set_gain(base[1:], base[0], self._weight, self.price, self.rules))

    def polish(self, unit: Unit) -> Unit:
        """Go through the weights once and take every better value."""
        n_features = len(self.values)
        chosen = self.rng.permutation(n_features)[:_MOST_COORDINATES]
        for j in chosen:
            is_full = np.count_nonzero(unit.weights) >= self.room
            if self.low[j] == self.high[j] or (is_full and unit.weights[j] == 0.0):
                continue
            tries = self._integer_tries if self.kind.integer else self._line_tries
            for other in tries(unit, int(j)):
                if other.gain > unit.gain + _LEAST * abs(unit.gain):
                    unit = other
        return unit

    def propose(self) -> Unit | None:
        """Make a unit of a ridge regression of the residuals on some features and inputs."""
        n_features, n_inputs = self.values.shape
        rows = np.flatnonzero(self.rng.random(n_inputs) < 0.5)
        share = self.rng.choice(_SHARES)
        columns = np.flatnonzero(self.rng.random(n_features) < share)
        if len(columns) == 0:
            columns = self.rng.integers(n_features, size=1)
        columns = self.rng.permutation(columns)[:_MOST_COORDINATES]
        damping = 1e-3 + 10.0 ** self.rng.uniform(-3.0, 1.0)
        if len(rows) < 2:
            return None
        weight = self.moments[rows, :1]
        outputs = self.moments[rows, 1:]
        # A random mixture of the outputs; with one output that is the output itself.
        wanted = outputs @ self.rng.standard_normal(outputs.shape[1])
        design = self.values[columns][:, rows].T
        design = design - np.average(design, axis=0, weights=weight[:, 0])
        gram = (design * weight).T @ design
        scale = max(float(np.trace(gram)) / len(columns), 1e-300)
        gram[np.diag_indices_from(gram)] += damping * scale
        mean = wanted.sum() / weight.sum()
        slopes = np.linalg.solve(gram, design.T @ (wanted - weight[:, 0] * mean))
        largest = np.abs(slopes).max()
        if not largest > 0.0:
            return None
        slopes /= largest
        if self.kind.integer and self.kind.zero:
            slopes[np.abs(slopes) < self.rng.uniform(0.1, 0.8)] = 0.0
            # What is left keeps its sign when it is rounded.
            least = 0.6 / self.kind.limit
            slopes = np.where(slopes, np.sign(slopes) * np.maximum(np.abs(slopes), least), 0.0)
        direction = np.zeros(n_features)
        direction[columns] = slopes
        weights = self._allowed(direction)
        return self.place(weights) if weights.any() else None

    def single(self, j: int) -> Unit:
        """Make a unit of one feature."""
        weights = np.zeros(len(self.values))
        weights[j] = 1.0 if self.high[j] > 0.0 else -1.0
        return self.place(self._allowed(weights))

    def _allowed(self, direction: FloatArray) -> FloatArray:
        """Weights within all limits that are nearest to a direction of length 1."""
        weights = np.clip(self.kind.nearest(direction * self.kind.limit), self.low, self.high)
        if np.count_nonzero(weights) > self.room:
            must = (self.low > 0.0) | (self.high < 0.0)
            order = np.argsort(-np.abs(weights) - 1e6 * must, kind="stable")
            weights[order[self.room :]] = 0.0
        return np.asarray(weights)

    def _integer_tries(self, unit: Unit, j: int) -> list[Unit]:
        """Make the unit with other values of one weight, each with its best threshold."""
        now = unit.weights[j]
        values = self.kind.values
        if len(values) > 5:
            near = {now - 1.0, now + 1.0, 0.0, -now, float(self.rng.choice(values))}
            values = np.array([v for v in sorted(near) if abs(v) <= self.kind.limit])
        values = values[(values >= self.low[j]) & (values <= self.high[j])]
        return [self._moved(unit, j, float(value)) for value in values if value != now]

    def _moved(self, unit: Unit, j: int, value: float) -> Unit:
        weights = unit.weights.copy()
        sums = unit.sums + (value - weights[j]) * self.values[j]
        weights[j] = value
        return self.place(weights, sums)

    def _line_tries(self, unit: Unit, j: int) -> list[Unit]:
        """Make the unit with the best value of one weight at its threshold, then a threshold."""
        h = self.values[j]
        moving = h != 0.0
        if not moving.any():
            return []
        signs = np.sign(h[moving])
        breaks = (unit.threshold - unit.sums[moving]) / h[moving]
        left = np.where(moving, h < 0.0, unit.sums >= unit.threshold)
        base = self.moments[left].sum(axis=0)
        low, high = max(-1.0, self.low[j]), min(1.0, self.high[j])
        now = unit.weights[j]
        step, gain = self._split(breaks, signs, self.moments[moving], base, low - now, high - now)
        if not gain > unit.gain:
            return []
        return [self._moved(unit, j, float(np.clip(now + step, low, high)))]

    def _split(
        self,
        breaks: FloatArray,
        signs: FloatArray,
        moments: FloatArray,
        base: FloatArray,
        low: float,
        high: float,
    ) -> tuple[float, float]:
        return best_split(
            breaks, signs, moments, base, self._weight, self.price, self.rules, low, high
        )

    @cached_property
    def _base(self) -> FloatArray:
        return np.asarray(self.moments.sum(axis=0))

    @cached_property
    def _off(self) -> FloatArray:
        return np.full(len(self.moments), -1.0)

    @cached_property
    def _weight(self) -> float:
        return float(self._base[0])
