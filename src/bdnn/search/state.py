"""The state of a search: a network, its values on all inputs, and its cost.

With two classes and a threshold per unit one output decides both: for ``z_1 = [a >= t]`` the unit
with weights ``-w`` and threshold ``-pred(t)``, where ``pred`` is the next smaller floating-point
number, is on iff ``-a >= -pred(t)``, that is iff ``a <= pred(t) < t``. It is exactly ``1 - z_1``,
and the loss of both outputs is twice that of one. The search then moves one output instead of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.packed import PackedRows
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import UNLIMITED
from bdnn.search.kernels.arrays import (
    NO_THRESHOLD,
    PER_LAYER,
    THRESHOLD_CODES,
    Arrays,
    ByteArray,
    IntArray,
    Levels,
    MoveLimits,
    Targets,
)
from bdnn.search.limits import drawn_limits, into_limits, must_differ

# Distance from the outermost sum to the threshold of a unit that is constant on the data.
_CLEARANCE = 0.5


class SearchState:
    """A network under change, together with its values on all inputs of a problem."""

    def __init__(
        self,
        # Of classes or of numbers; those of numbers have no moves of outputs.
        problem: Problem[Any],
        network: Network,  # where the search starts
        # What the cost is made of, see :meth:`bdnn.search.Objective.goal`; the loss by default.
        goal: FloatArray | None = None,
        # What they may do to weights.
        limits: MoveLimits | None = None,  # by default whatever the weight sets allow
    ) -> None:
        shape = problem.architecture
        self.problem = problem
        is_number = shape.output == "identity"
        # Whether one output stands for two classes.
        self.paired = shape.n_outputs == 2 and shape.thresholds == "neuron" and not is_number
        outputs = 1 if self.paired else shape.n_outputs
        widths = np.array([shape.n_features, *shape.hidden, outputs], dtype=np.int64)
        unit_at = np.concatenate(([0], np.cumsum(widths[1:])))
        weight_at = np.concatenate(([0], np.cumsum(widths[1:] * widths[:-1])))
        values = [kind.values if kind.integer else np.zeros(0) for kind in shape.weights]
        rules = [shape.activation_of(k) for k in range(shape.n_layers)]
        m = problem.samples.n_lines
        inputs, bits = _stored(problem.lines)
        on = off = label_weight = np.zeros((outputs, m))
        if not is_number:
            scale, loss = 2.0 if self.paired else 1.0, problem.loss
            on = scale * np.ascontiguousarray(loss.cost_on.T[-outputs:])
            off = scale * np.ascontiguousarray(loss.cost_off.T[-outputs:])
            label_weight = np.ascontiguousarray(loss.label_weight.T)
        # What compiled moves work on.
        self.arrays = Arrays(
            inputs=inputs,
            bits=bits,
            widths=widths,
            weights=np.zeros(weight_at[-1]),
            weight_at=weight_at,
            thresholds=np.full((unit_at[-1], max(rule.n_thresholds for rule in rules)), np.inf),
            unit_at=unit_at,
            sums=np.zeros((unit_at[-1], m)),
            level=np.zeros((unit_at[-1], m), dtype=np.uint8),
            pair=np.array([rule.values[:2] for rule in rules], dtype=float),
            cost=np.zeros(m),
            cost_on=on,
            cost_off=off,
            label_weight=label_weight,
            values=np.concatenate([*values, [-1.0, 0.0, 1.0]]),
            value_at=np.concatenate(([0], np.cumsum([len(v) for v in values]))).astype(np.int64),
            threshold_kind=THRESHOLD_CODES[shape.thresholds],
            goal=np.array([1.0, 0.0, 0.0, 0.0, float(shape.ties == "first")]),
            targets=_targets(problem),
        )
        if goal is not None:
            self.arrays.goal[:] = goal
        # What they need besides where some units have more than two values.
        self.levels = _levels(shape) if self.arrays.thresholds.shape[1] > 1 else None
        free = free_limits(shape, widths, paired=self.paired)
        self.limits = self._allowed = free if limits is None else limits
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
        """Loss of the network, from the levels of the outputs."""
        on = self.arrays.level[self.arrays.unit_at[-2] :] > 0
        return float(np.where(on, self.arrays.cost_on, self.arrays.cost_off).sum())

    def load(self, network: Network) -> None:
        """Replace the network; of paired outputs the better one is kept, so no loss is added."""
        weights, thresholds = list(network.weights), list(network.thresholds)
        if self.paired:
            on = network.outputs(self.problem.lines)
            costs = np.where(on, self.problem.loss.cost_on, self.problem.loss.cost_off).sum(axis=0)
            if costs[0] < costs[1]:
                weights[-1] = -weights[-1][:1]
                thresholds[-1] = -np.nextafter(thresholds[-1][:1], -np.inf)
            else:
                weights[-1], thresholds[-1] = weights[-1][1:], thresholds[-1][1:]
        self.arrays.weights[:] = np.concatenate([W.ravel() for W in weights])
        for k, t in enumerate(thresholds):
            self.layer_thresholds(k)[:] = t
        self.refresh()

    def layer_thresholds(self, k: int) -> FloatArray:
        """Thresholds of layer ``k``, of shape (units, levels), as a view."""
        first, last = self.arrays.unit_at[k], self.arrays.unit_at[k + 1]
        count = self.problem.architecture.activation_of(k).n_thresholds
        return self.arrays.thresholds[first:last, :count]

    def inputs_of(self, k: int) -> FloatArray:
        """Inputs of layer ``k``, one line each."""
        s = self.arrays
        if k == 0:
            return self.problem.inputs.T
        values = np.array(self.problem.architecture.activation_of(k - 1).values, dtype=float)
        return np.asarray(values[s.level[s.unit_at[k - 1] : s.unit_at[k]]])

    def weights_of(self, k: int) -> FloatArray:
        """Weights of layer ``k``, of shape (units, inputs), as a view."""
        s = self.arrays
        flat = s.weights[s.weight_at[k] : s.weight_at[k + 1]]
        return flat.reshape(s.widths[k + 1], s.widths[k])

    def refresh(self, first: int = 0) -> None:
        """Compute sums from a layer on, in the order of additions that :class:`Network` uses."""
        from bdnn.search.kernels.forward import refresh

        refresh(self.arrays, self.levels, first)

    def follow(self, k: int, unit: int) -> None:
        """Compute what a changed unit of layer ``k`` changes."""
        from bdnn.search.kernels.forward import follow

        follow(self.arrays, self.levels, k, unit)

    def improve(self, units: IntArray, rng: np.random.Generator, passes: int, extra: int) -> None:
        """Improve units one after the other, never raising the cost."""
        from bdnn.search.moves.sweep import improve_units

        improve_units(self.arrays, self.levels, self.limits, units, rng, passes, extra)

    def redraw(self, k: int, unit: int, rng: np.random.Generator) -> None:
        """Draw a unit of layer ``k`` anew at whatever cost."""
        from bdnn.search.moves.sweep import redraw

        redraw(self.arrays, self.levels, self.limits, k, unit, rng)

    def move_layer_threshold(self, k: int, rng: np.random.Generator, trials: int) -> None:
        """Try other thresholds for layer ``k`` as a whole, never raising the cost."""
        from bdnn.search.moves.sweep import move_layer_threshold

        move_layer_threshold(self.arrays, self.levels, k, rng, trials)

    def anneal(self, units: IntArray, temperature: float, rng: np.random.Generator) -> None:
        """Propose a change of every weight and threshold of units; one output stands for all."""
        from bdnn.search.moves.anneal import anneal

        anneal(self.arrays, self.levels, self.limits, units, temperature, rng)

    def try_zero(self, positions: IntArray, tolerance: float) -> None:
        """Set weights to zero where that raises the cost by no more than a tolerance."""
        from bdnn.search.moves.anneal import try_zero

        try_zero(self.arrays, self.levels, self.limits, positions, tolerance)

    def keep_terms(self, rng: np.random.Generator) -> bool:
        """Draw limits that keep all terms about weights and move the weights into them.

        False where there are none.
        """
        if not self.problem.terms:
            return True
        limits = drawn_limits(self.problem, self.to_network(), rng, paired=self.paired)
        if limits is None:
            return False
        s = self.arrays
        self.limits = self._allowed = limits
        shape = self.problem.architecture
        s.weights[:] = into_limits(s.weights, limits, shape, s.widths, rng)
        self.refresh()
        return True

    def room(self, k: int, unit: int) -> int:
        """How many weights of a unit, counted within layer ``k``, may differ from 0."""
        from bdnn.search.moves.unit import room_in

        s, n = self.arrays, int(self.arrays.widths[k])
        at = int(s.weight_at[k]) + unit * n
        return int(room_in(s.weights, s.weight_at, self.limits, k, at, n))

    def removable(self) -> IntArray:
        """Places of the weights that could be set to 0."""
        s = self.arrays
        must = must_differ(self._allowed, self.problem.architecture, s.weight_at)
        return np.flatnonzero((s.weights != 0.0) & ~must)

    def freeze_zeros(self) -> None:
        """Let weights that are 0 stay so, and no others."""
        is_zero, free = self.arrays.weights == 0.0, self._allowed
        self.limits = free._replace(
            low=np.where(is_zero, 0.0, free.low), high=np.where(is_zero, 0.0, free.high)
        )

    def snapshot(self) -> tuple[FloatArray, FloatArray]:
        """Copy weights and thresholds."""
        return self.arrays.weights.copy(), self.arrays.thresholds.copy()

    def restore(self, snapshot: tuple[FloatArray, FloatArray]) -> None:
        """Go back to copied weights and thresholds."""
        self.arrays.weights[:], self.arrays.thresholds[:] = snapshot
        self.refresh()

    def centre_thresholds(self) -> None:
        """Put every threshold midway between the sums on its two sides; no level changes.

        Thresholds at fixed distances are left alone.
        """
        s, shape = self.arrays, self.problem.architecture
        kind = s.threshold_kind
        for k, weights in enumerate(shape.weights):
            rule = shape.activation_of(k)
            is_rigid = rule.thresholds is not None and rule.n_thresholds > 1
            if kind == NO_THRESHOLD or is_rigid:
                continue
            thresholds = self.layer_thresholds(k)
            sums = s.sums[s.unit_at[k] : s.unit_at[k + 1]]
            # Continuous weights scale with a shared threshold, which lies in [-1, 1].
            limit = 1.0 if kind == PER_LAYER and not weights.integer else np.inf
            groups = [slice(r, r + 1) for r in range(len(sums))]
            for rows in [slice(None)] if kind == PER_LAYER else groups:
                for level in range(thresholds.shape[1]):
                    old = float(thresholds[rows, level][0])
                    thresholds[rows, level] = _middle(sums[rows], old, -limit, limit)
                # Where a threshold stays, one of its neighbours may have gone past it.
                thresholds[rows] = np.maximum.accumulate(thresholds[rows], axis=1)

    def to_network(self) -> Network:
        """Make a network; a paired output gets its exact complement beside it."""
        s = self.arrays
        weights, thresholds = [], []
        for k in range(len(s.widths) - 1):
            weights.append(self.weights_of(k))
            thresholds.append(self.layer_thresholds(k))
        if self.paired:
            weights[-1] = np.concatenate((-weights[-1], weights[-1]))
            before = -np.nextafter(thresholds[-1], -np.inf)
            thresholds[-1] = np.concatenate((before, thresholds[-1]))
        return Network(self.problem.architecture, tuple(weights), tuple(thresholds))


def _stored(lines: FloatArray | PackedRows) -> tuple[FloatArray, ByteArray]:
    """Inputs as numbers, one line each, or as packed bits, one line per sample."""
    if isinstance(lines, PackedRows):
        return np.zeros((lines.n_columns, 0)), lines.packed
    return np.ascontiguousarray(lines.T, dtype=float), np.zeros((len(lines), 0), dtype=np.uint8)


def _targets(problem: Problem[Any]) -> Targets:
    """Targets in the order of the lines, none for classes."""
    if problem.architecture.output == "step":
        none = np.zeros(0)
        return Targets(np.zeros(0, dtype=np.int64), np.zeros((1, 0)), none, none, False)
    loss: DistanceLoss = problem.loss
    order = np.argsort(loss.group, kind="stable")
    return Targets(
        first=np.searchsorted(loss.group[order], np.arange(problem.samples.n_lines + 1)),
        values=np.ascontiguousarray(loss.targets[order].T),
        weight=loss.weight[order].astype(float),
        price=np.array(loss.price, dtype=float),
        is_squared=loss.is_squared,
    )


def _levels(shape: Architecture) -> Levels:
    rules = [shape.activation_of(k) for k in range(shape.n_layers)]
    most = max(rule.n_thresholds for rule in rules)
    sets, offsets = np.zeros((len(rules), most + 1)), np.zeros((len(rules), most))
    for k, rule in enumerate(rules):
        sets[k, : len(rule.values)] = rule.values
        offsets[k, : rule.n_thresholds] = rule.offsets
    return Levels(
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


def free_limits(shape: Architecture, widths: IntArray, *, paired: bool) -> MoveLimits:
    """What weight sets allow, on the outputs that a search has."""
    largest = [
        np.inf if shape.has_free_scale(k) else float(kind.limit)
        for k, kind in enumerate(shape.weights)
    ]
    high = np.repeat(largest, widths[1:] * widths[:-1])
    most = np.full((2, shape.n_layers), UNLIMITED, dtype=np.int64)
    return MoveLimits(-high, high, most, UNLIMITED, 2 if paired else 1)
