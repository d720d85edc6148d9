"""The state of a search: a network, its values on all inputs, and its cost.

With two classes and a threshold per unit one output decides both: for ``z_1 = [a >= t]`` the unit
with weights ``-w`` and threshold ``-pred(t)``, where ``pred`` is the next smaller floating-point
number, is on iff ``-a >= -pred(t)``, that is iff ``a <= pred(t) < t``. It is exactly ``1 - z_1``,
and the loss of both outputs is twice that of one. The search then moves one output instead of two.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.architecture import Architecture
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.kernels.arrays import (
    PER_LAYER,
    PER_UNIT,
    THRESHOLD_CODES,
    Arrays,
    Levels,
)

# Distance from the outermost sum to the threshold of a unit that is constant on the data.
_CLEARANCE = 0.5


class SearchState:
    """A network under change, together with its values on all inputs of a problem.

    Parameters
    ----------
    problem : TrainingProblem
    network : Network
        Where the search starts.
    goal : array, optional
        What the cost is made of, see :class:`bdnn.search.objective.Goal`; the loss by default.

    Attributes
    ----------
    arrays : Arrays
        What compiled moves work on.
    levels : Levels or None
        What hidden units of several values need besides.
    paired : bool
        Whether one output stands for two classes.
    """

    def __init__(
        self, problem: TrainingProblem, network: Network, goal: FloatArray | None = None
    ) -> None:
        shape = problem.architecture
        self.problem = problem
        self.paired = shape.n_outputs == 2 and shape.thresholds == "neuron"
        outputs = 1 if self.paired else shape.n_outputs
        widths = np.array([shape.n_features, *shape.hidden, outputs], dtype=np.int64)
        unit_at = np.concatenate(([0], np.cumsum(widths[1:])))
        weight_at = np.concatenate(([0], np.cumsum(widths[1:] * widths[:-1])))
        values = [kind.values if kind.integer else np.zeros(0) for kind in shape.weights]
        m = len(problem.inputs)
        scale = 2.0 if self.paired else 1.0
        self.arrays = Arrays(
            inputs=np.ascontiguousarray(problem.inputs.T, dtype=float),
            widths=widths,
            weights=np.zeros(weight_at[-1]),
            weight_at=weight_at,
            thresholds=np.zeros(unit_at[-1]),
            unit_at=unit_at,
            sums=np.zeros((unit_at[-1], m)),
            on=np.zeros((unit_at[-1], m), dtype=bool),
            cost=np.zeros(m),
            cost_on=scale * np.ascontiguousarray(problem.cost_on.T[-outputs:]),
            cost_off=scale * np.ascontiguousarray(problem.cost_off.T[-outputs:]),
            mass=np.ascontiguousarray(problem.mass.T),
            values=np.concatenate(values),
            value_at=np.concatenate(([0], np.cumsum([len(v) for v in values]))).astype(np.int64),
            frozen=np.zeros(weight_at[-1], dtype=bool),
            threshold_kind=np.array([THRESHOLD_CODES[shape.thresholds]], dtype=np.int64),
            goal=np.array([1.0, 0.0, 0.0, 0.0, float(shape.ties == "first")]),
        )
        if goal is not None:
            self.arrays.goal[:] = goal
        self.levels = _level_arrays(shape, m) if shape.activations else None
        self.load(network)

    @property
    def n_units(self) -> int:
        """Number of units that moves go over."""
        return len(self.arrays.thresholds)

    @property
    def cost(self) -> float:
        """Cost of the network under the state's goal."""
        return float(self.arrays.cost.sum())

    @property
    def loss(self) -> float:
        """Loss of the network, from the activations of the outputs."""
        on = self.arrays.on[self.arrays.unit_at[-2] :]
        return float(np.where(on, self.arrays.cost_on, self.arrays.cost_off).sum())

    def load(self, network: Network) -> None:
        """Replace the network; of paired outputs the better one is kept, so no loss is added."""
        weights, thresholds = list(network.weights), list(network.thresholds)
        if self.paired:
            on = network.outputs(self.problem.inputs)
            costs = np.where(on, self.problem.cost_on, self.problem.cost_off).sum(axis=0)
            if costs[0] < costs[1]:
                weights[-1] = -weights[-1][:1]
                thresholds[-1] = -np.nextafter(thresholds[-1][:1], -np.inf)
            else:
                weights[-1], thresholds[-1] = weights[-1][1:], thresholds[-1][1:]
        self.arrays.weights[:] = np.concatenate([W.ravel() for W in weights])
        if self.levels is None:
            self.arrays.thresholds[:] = np.concatenate(thresholds)
        else:
            self.arrays.thresholds[self.arrays.unit_at[-2] :] = thresholds[-1]
            for k, t in enumerate(thresholds[:-1]):
                self._layer_thresholds(k)[:] = t.reshape(len(t), -1)
        self.refresh()

    def _layer_thresholds(self, k: int) -> FloatArray:
        """Thresholds of a hidden layer of several values, as a view."""
        assert self.levels is not None
        first, last = self.arrays.unit_at[k], self.arrays.unit_at[k + 1]
        return self.levels.thresholds[first:last, : self.levels.counts[k]]

    def thresholds_of(self, k: int, unit: int) -> FloatArray:
        """Thresholds of a unit of layer ``k``, as a view."""
        if self.levels is None or k == len(self.levels.counts):
            return self.arrays.thresholds[unit : unit + 1]
        return self.levels.thresholds[unit, : self.levels.counts[k]]

    def is_scalable(self, k: int) -> bool:
        """Whether thresholds of layer ``k`` may be multiplied by a number."""
        return self.levels is None or k == len(self.levels.counts) or not self.levels.fixed[k]

    def refresh(self) -> None:
        """Compute all sums anew, in the order of additions that :class:`Network` uses."""
        from bdnn.search.kernels.backend import refresh, refresh_levels

        if self.levels is None:
            refresh(self.arrays, 0)
        else:
            refresh_levels(self.arrays, self.levels, 0)

    @property
    def top(self) -> Arrays:
        """The outputs of a network of several values as a network of its own, in shared memory."""
        assert self.levels is not None
        s = self.arrays
        last, weight_at = s.unit_at[-3:-1], s.weight_at[-2]
        return s._replace(
            inputs=self.levels.values[last[0] : last[1]],
            widths=s.widths[-2:],
            weights=s.weights[weight_at:],
            weight_at=s.weight_at[-2:] - weight_at,
            thresholds=s.thresholds[last[1] :],
            unit_at=s.unit_at[-2:] - last[1],
            sums=s.sums[last[1] :],
            on=s.on[last[1] :],
            value_at=s.value_at[-2:].copy(),
            frozen=s.frozen[weight_at:],
        )

    def snapshot(self) -> tuple[FloatArray, ...]:
        """Copy weights and thresholds."""
        levels = () if self.levels is None else (self.levels.thresholds.copy(),)
        return self.arrays.weights.copy(), self.arrays.thresholds.copy(), *levels

    def restore(self, snapshot: tuple[FloatArray, ...]) -> None:
        """Go back to copied weights and thresholds."""
        self.arrays.weights[:], self.arrays.thresholds[:] = snapshot[:2]
        if self.levels is not None:
            self.levels.thresholds[:] = snapshot[2]
        self.refresh()

    def centre_thresholds(self) -> None:
        """Put every threshold midway between the sums on its two sides; no activation changes."""
        s = self.arrays
        kind = s.threshold_kind[0]
        steps_from = 0 if self.levels is None else int(s.unit_at[-2])
        if self.levels is not None:
            self._centre_levels()
        if kind == PER_UNIT:
            for r in range(steps_from, self.n_units):
                s.thresholds[r] = _middle(s.sums[r], s.thresholds[r], -np.inf, np.inf)
        elif kind == PER_LAYER:
            for k, weights in enumerate(self.problem.architecture.weights):
                first, last = s.unit_at[k], s.unit_at[k + 1]
                if first < steps_from:
                    continue
                # Continuous weights scale with a shared threshold, which lies in [-1, 1].
                limit = np.inf if weights.integer else 1.0
                s.thresholds[first:last] = _middle(
                    s.sums[first:last], s.thresholds[first], -limit, limit
                )

    def _centre_levels(self) -> None:
        """The same for hidden units of several values; fixed distances are left alone."""
        s, levels = self.arrays, self.levels
        assert levels is not None
        for k in range(len(levels.counts)):
            if levels.fixed[k] or s.threshold_kind[0] not in (PER_UNIT, PER_LAYER):
                continue
            thresholds = self._layer_thresholds(k)
            sums = s.sums[s.unit_at[k] : s.unit_at[k + 1]]
            shared = s.threshold_kind[0] == PER_LAYER
            is_real = s.value_at[k] == s.value_at[k + 1]
            limit = 1.0 if shared and is_real else np.inf
            groups = [slice(None)] if shared else [slice(r, r + 1) for r in range(len(sums))]
            for rows in groups:
                for level in range(thresholds.shape[1]):
                    old = float(thresholds[rows, level][0])
                    thresholds[rows, level] = _middle(sums[rows], old, -limit, limit)
                # Where a threshold stays, one of its neighbours may have gone past it.
                thresholds[rows] = np.maximum.accumulate(thresholds[rows], axis=1)

    def to_network(self) -> Network:
        """Make a network; a paired output gets its exact complement beside it."""
        s = self.arrays
        weights = []
        for k in range(len(s.widths) - 1):
            flat = s.weights[s.weight_at[k] : s.weight_at[k + 1]]
            weights.append(flat.reshape(s.widths[k + 1], s.widths[k]))
        thresholds = [
            s.thresholds[first:last]
            for first, last in zip(s.unit_at[:-1], s.unit_at[1:], strict=True)
        ]
        if self.levels is not None:
            for k, count in enumerate(self.levels.counts):
                t = self._layer_thresholds(k)
                thresholds[k] = t[:, 0] if count == 1 else t
        if self.paired:
            weights[-1] = np.concatenate((-weights[-1], weights[-1]))
            before = -np.nextafter(thresholds[-1], -np.inf)
            thresholds[-1] = np.concatenate((before, thresholds[-1]))
        return Network(self.problem.architecture, tuple(weights), tuple(thresholds))


def _level_arrays(shape: Architecture, n_inputs: int) -> Levels:
    rules = [shape.activation_of(k) for k in range(len(shape.hidden))]
    most = max(rule.n_thresholds for rule in rules)
    units = sum(shape.hidden)
    sets, offsets = np.zeros((len(rules), most + 1)), np.zeros((len(rules), most))
    for k, rule in enumerate(rules):
        sets[k, : len(rule.values)] = rule.values
        offsets[k, : rule.n_thresholds] = rule.offsets
    return Levels(
        thresholds=np.full((units, most), np.inf),
        values=np.zeros((units, n_inputs)),
        sets=sets,
        counts=np.array([rule.n_thresholds for rule in rules], dtype=np.int64),
        offsets=offsets,
        fixed=np.array([rule.thresholds is not None for rule in rules]),
    )


def _middle(sums: FloatArray, threshold: float, low: float, high: float) -> float:
    """Middle of the gap around a threshold, within [low, high] where that leaves the gap open."""
    on = sums >= threshold
    below = sums[~on].max(initial=-np.inf)
    above = sums[on].min(initial=np.inf)
    if np.isinf(below) and np.isinf(above):
        return threshold
    if np.isinf(below):
        below = above - 2.0 * _CLEARANCE
    if np.isinf(above):
        above = below + 2.0 * _CLEARANCE
    below, above = max(below, low), min(above, high)
    middle = 0.5 * below + 0.5 * above
    return float(middle) if below < middle <= above else threshold
