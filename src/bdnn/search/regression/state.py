"""A regression network under search: its activations, and the moves that change them."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.search.kernels.backend import line_search, threshold_search
from bdnn.search.regression.refit import fit_outputs, has_own_bias
from bdnn.search.regression.unit import Unit, UnitSearch

# Coordinates of a unit of a lower layer, or under the absolute loss, that one visit tries.
_MOST_COORDINATES = 16
# Inputs that the choice of a unit looks at; more hardly change it.
_MOST_INPUTS = 10_000


class RegressionState:
    """Weights, thresholds and activations of a network, one line per unit.

    Parameters
    ----------
    problem : Problem[DistanceLoss]
    network : Network
    rng : numpy.random.Generator
    """

    def __init__(
        self, problem: Problem[DistanceLoss], network: Network, rng: np.random.Generator
    ) -> None:
        self.problem, self.rng = problem, rng
        self.inputs = np.ascontiguousarray(problem.inputs.T)
        self.weights = [W.copy() for W in network.weights]
        self.thresholds = [t.copy() for t in network.step_thresholds]
        on = network.activations(problem.inputs)[:-1]
        self.on = [np.ascontiguousarray(layer.T, dtype=float) for layer in on]
        kind = problem.architecture.weights[-1]
        self.rules = np.array(
            [problem.loss.ridge, kind.limit, kind.integer, kind.zero, has_own_bias(problem)],
            dtype=float,
        )

    @property
    def free(self) -> bool:
        """Whether units have thresholds of their own."""
        return self.problem.architecture.thresholds == "neuron"

    @property
    def last(self) -> FloatArray:
        """What the outputs see."""
        return self.on[-1] if self.on else self.inputs

    def below(self, layer: int) -> FloatArray:
        """Inputs of a hidden layer."""
        return self.on[layer - 1] if layer else self.inputs

    def network(self) -> Network:
        """Make a network of the state."""
        shape = self.problem.architecture
        return Network(shape, tuple(self.weights), tuple(self.thresholds))

    def refit(self) -> None:
        """Fit the last layer anew."""
        W, bias = fit_outputs(self.problem, self.last.T, self.weights[-1])
        self.weights[-1], self.thresholds[-1] = W, -bias

    def residuals(self) -> FloatArray:
        """Targets minus values, of shape (n_samples, n_outputs)."""
        values = self.last.T @ self.weights[-1].T - self.thresholds[-1]
        return np.asarray(self.problem.loss.targets - values[self.problem.loss.group])

    def search(self, unit: int) -> UnitSearch:
        """Set up the choice of a unit of the last hidden layer, for squared losses.

        Of many inputs some stand for all, drawn anew for every unit.
        """
        problem, layer = self.problem, len(self.on) - 1
        values, moments = self.below(layer), self._moments(unit)
        if (count := len(moments)) > _MOST_INPUTS:
            rows = self.rng.choice(count, size=_MOST_INPUTS, replace=False)
            values, moments = values[:, rows], moments[rows] * (count / _MOST_INPUTS)
        return UnitSearch(
            values,
            moments,
            problem.loss.price,
            self.rules,
            problem.architecture.weights[layer],
            self.free,
            self.rng,
        )

    def _moments(self, unit: int) -> FloatArray:
        """Weights of the inputs, and weighted residuals without a unit."""
        left = self.residuals() + np.outer(self.on[-1][unit], self.weights[-1][:, unit])
        if self.rules[4]:
            left = left - np.average(left, axis=0, weights=self.problem.loss.weight)
        weight = self.problem.loss.weight[:, None]
        return np.hstack([weight, weight * left])

    def put(self, unit: int, found: Unit) -> None:
        """Put a unit into the last hidden layer, with the output weights that suit it."""
        every = self._moments(unit)
        self.set_unit(len(self.on) - 1, unit, found.weights, found.threshold)
        moments = every[self.on[-1][unit] > 0].sum(axis=0)
        total, weight = moments[0], float(every[:, 0].sum())
        damping = (total * (1 - total / weight) if self.rules[4] else total) + self.rules[0]
        kind = self.problem.architecture.weights[-1]
        a = moments[1:] / damping if damping > 1e-12 * weight else 0.0 * moments[1:]
        if kind.integer:
            a = np.rint(a)
            a = a if kind.zero else np.where(moments[1:] < 0, -1.0, 1.0)
        self.weights[-1][:, unit] = np.clip(a, -kind.limit, kind.limit)
        self._shift()

    def set_unit(self, layer: int, unit: int, weights: FloatArray, threshold: float) -> None:
        """Change a unit and everything above it but the outputs."""
        kind = self.problem.architecture.weights[layer]
        largest = float(np.abs(weights).max(initial=0.0))
        if not kind.integer and self.free and largest > 0.0:
            weights, threshold = weights / largest, threshold / largest
        self.weights[layer][unit] = weights
        self.thresholds[layer][unit] = threshold
        self.on[layer][unit] = weights @ self.below(layer) >= threshold
        for k in range(layer + 1, len(self.on)):
            sums = self.weights[k] @ self.on[k - 1]
            self.on[k] = (sums >= self.thresholds[k][:, None]).astype(float)

    def gains(self, layer: int, unit: int) -> FloatArray:
        """What every input gains from a unit of any layer being on, the outputs as they are."""
        now = self.on[layer][unit].copy()
        costs = []
        for value in (0.0, 1.0):
            self.on[layer][unit] = value
            values = self.on[layer]
            for k in range(layer + 1, len(self.on)):
                sums = self.weights[k] @ values
                values = (sums >= self.thresholds[k][:, None]).astype(float)
            errors = (
                self.problem.loss.targets
                - (values.T @ self.weights[-1].T - self.thresholds[-1])[self.problem.loss.group]
            )
            loss = self.problem.loss
            cost = loss.weight * (loss.size(errors) @ loss.price)
            costs.append(np.bincount(self.problem.loss.group, cost, minlength=len(now)))
        self.on[layer][unit] = now
        return np.asarray(costs[0] - costs[1])

    def improve(self, layer: int, unit: int) -> bool:
        """Move a unit along its threshold and some coordinates; tell whether that gained."""
        gains = self.gains(layer, unit)
        if not gains.any():
            return False
        kind = self.problem.architecture.weights[layer]
        below = self.below(layer)
        W, t = self.weights[layer][unit].copy(), float(self.thresholds[layer][unit])
        sums = W @ below
        merit = first = float(gains[sums >= t].sum())
        least = 1e-9 * float(np.abs(gains).sum())
        if self.free:
            place, value, _ = threshold_search(sums, gains, -np.inf, np.inf)
            if value > merit + least:
                t, merit = place, value
        for j in self.rng.permutation(len(W))[:_MOST_COORDINATES]:
            if kind.integer:
                steps = kind.values - W[j]
            else:
                step, value, _ = line_search(sums, below[j], gains, t, -1.0 - W[j], 1.0 - W[j])
                steps = np.array([step]) if value > merit + least else np.zeros(0)
            for step in steps[steps != 0.0][:5]:
                moved = sums + step * below[j]
                place, value = t, float(gains[moved >= t].sum())
                if self.free:
                    place, value, _ = threshold_search(moved, gains, -np.inf, np.inf)
                if value > merit + least:
                    W[j], t, sums, merit = W[j] + step, place, moved, value
                    break
        if not merit > first + least:
            return False
        self.set_unit(layer, unit, W, t)
        return True

    def _shift(self) -> None:
        """Let the biases follow."""
        if self.problem.architecture.thresholds != "zero":
            sums = self.last.T @ self.weights[-1].T
            shift = self.problem.loss.best_shift(self.problem.architecture, sums)
            self.thresholds[-1] = -shift
