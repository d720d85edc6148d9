"""Exact moves of one unit of the last hidden layer, its output weights fitted along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.search.kernels.split import best_split, set_gain
from bdnn.search.refit import has_own_bias
from bdnn.search.state import SearchState

# Coordinates of a unit that one visit tries, and features that a proposal looks at.
_MOST_COORDINATES = 64
_SHARES = (0.3, 0.6, 1.0)
# A move must gain this share more than the unit as it is.
_LEAST = 1e-9
# Inputs that the choice of a unit looks at, drawn anew for every unit; more hardly change it.
_MOST_INPUTS = 10_000


@dataclass
class Unit:
    """A unit's weights and threshold with its sums and the gain it brings."""

    weights: FloatArray
    threshold: float
    sums: FloatArray
    gain: float


class UnitSearch:
    """The choice of one unit of the last hidden layer while all others stay.

    For the squared loss, and steps whose thresholds are their own or 0.
    """

    def __init__(
        self,
        state: SearchState,
        unit: int,  # counted within its layer
        rng: np.random.Generator,
        sharing: int = 1,  # how many units have to share the room for weights
    ) -> None:
        problem, s, shape = state.problem, state.arrays, state.problem.architecture
        self.state, self.unit, self.rng = state, unit, rng
        self.layer = len(shape.hidden) - 1
        self.kind, outer = shape.weights[self.layer], shape.weights[-1]
        self.is_free = shape.thresholds == "neuron"
        self.price = problem.loss.price
        flags = (outer.integer, outer.zero, has_own_bias(problem))
        self.rules = np.array([problem.loss.ridge, outer.limit, *flags], dtype=float)
        self.values, self.moments = state.inputs_of(self.layer), self._moments()
        if (count := len(self.moments)) > _MOST_INPUTS:
            rows = rng.choice(count, size=_MOST_INPUTS, replace=False)
            self.values = self.values[:, rows]
            self.moments = self.moments[rows] * (count / _MOST_INPUTS)
        self._total = np.asarray(self.moments.sum(axis=0))
        n = len(self.values)
        self._first = int(s.weight_at[self.layer]) + unit * n
        part = slice(self._first, self._first + n)
        self.low, self.high = state.limits.low[part], state.limits.high[part]
        self.room = state.room(self.layer, unit)
        if self.room < n:
            # A unit that nothing listens to yet needs weights of outputs too.
            unheard = int(np.count_nonzero(state.weights_of(self.layer + 1)[:, unit] == 0.0))
            self.room = max(1, self.room // sharing - unheard)

    def _moments(self) -> FloatArray:
        """Weights of the inputs, and weighted residuals without the unit.

        With a bias the residuals have mean 0.
        """
        state, loss, s = self.state, self.state.problem.loss, self.state.arrays
        top = self.layer + 1
        values = s.sums[s.unit_at[top] :] - s.thresholds[s.unit_at[top] :, :1]
        left = loss.targets - values.T[loss.group]
        on = s.level[s.unit_at[self.layer] + self.unit] > 0
        left[on] += state.weights_of(top)[:, self.unit]
        if self.rules[4]:
            left -= np.average(left, axis=0, weights=loss.weight)
        weight = loss.weight[:, None]
        return np.hstack([weight, weight * left])

    def put(self, found: Unit) -> None:
        """Put a unit into the state, with the output weights and biases that suit it."""
        state, s, every = self.state, self.state.arrays, self._moments()
        shape, top = state.problem.architecture, self.layer + 1
        place = int(s.unit_at[self.layer]) + self.unit
        # Where its scale is free, the largest weight is 1.
        largest = float(np.abs(found.weights).max(initial=0.0))
        scale = largest if np.isinf(self.high).any() and largest > 0.0 else 1.0
        state.weights_of(self.layer)[self.unit] = found.weights / scale
        s.thresholds[place, 0] = found.threshold / scale
        state.follow(self.layer, place)
        moments = every[s.level[place] > 0].sum(axis=0)
        total, weight = moments[0], float(every[:, 0].sum())
        damping = (total * (1 - total / weight) if self.rules[4] else total) + self.rules[0]
        a = moments[1:] / damping if damping > 1e-12 * weight else 0.0 * moments[1:]
        column = slice(int(s.weight_at[top]) + self.unit, None, int(s.widths[top]))
        low, high = state.limits.low[column], state.limits.high[column]
        W = state.weights_of(top)
        W[:, self.unit] = np.clip(shape.weights[-1].nearest(a), low, high)
        state.refresh(top)
        if shape.thresholds != "zero":
            outputs = slice(s.unit_at[top], None)
            s.thresholds[outputs, 0] = -state.problem.loss.best_shift(shape, s.sums[outputs].T)
            state.refresh(top)

    def place(self, weights: FloatArray, sums: FloatArray | None = None) -> Unit:
        """Give weights their best threshold."""
        sums = weights @ self.values if sums is None else sums
        if not self.is_free:
            return Unit(weights, 0.0, sums, self.gain(sums >= 0.0))
        falling = np.full(len(sums), -1.0)
        t, gain = self._split(sums, falling, self.moments, self._total, -np.inf, np.inf)
        return Unit(weights, t, sums, gain)

    def now(self) -> Unit:
        """Look at the unit as it is."""
        s = self.state.arrays
        weights = self.state.weights_of(self.layer)[self.unit].copy()
        threshold = float(s.thresholds[s.unit_at[self.layer] + self.unit, 0])
        sums = weights @ self.values
        return Unit(weights, threshold, sums, self.gain(sums >= threshold))

    def gain(self, on: BoolArray) -> float:
        """Gain of a unit that is on for these inputs."""
        base = self.moments[on].sum(axis=0)
        return float(set_gain(base[1:], base[0], float(self._total[0]), self.price, self.rules))

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
        weight = float(self._total[0])
        return best_split(breaks, signs, moments, base, weight, self.price, self.rules, low, high)
