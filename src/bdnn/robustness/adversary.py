"""A counter-example near one sample as a mixed-integer program: network fixed, input free.

    on       W h >= T - M (1 - u)
    off      W h <= T - 1 + M u        T the first sum that reaches the threshold of u

A unit of several values has one such u per threshold, and each adds its jump to the value. Only
thresholds that bounds leave open get a variable. Sums of integers are exact; other rows are opened
by more than a solver's tolerance and rounding, so that they admit too much rather than too little.

With integer weights on a grid and the norm linf, "is there one within the radius?" is a purely
integer program, which CP-SAT answers without rounding. Whatever a program finds is only believed
after a forward pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import STEP, Activation, BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.program import Program
from bdnn.robustness.columns import ColumnSet
from bdnn.robustness.free_columns import FreeColumns
from bdnn.robustness.free_input import FreeInput, Signals
from bdnn.robustness.perturbation import PerturbationSet

# Room for a solver's tolerance of 1e-7 in a row of big-M size.
_ROOM = 2.5e-7


@dataclass(frozen=True)
class Adversary:
    """The program of one sample, see :meth:`build`."""

    program: Program
    free_input: FreeInput
    is_integer: bool

    @classmethod
    def build(cls, around: PerturbationSet, radius: float, *, minimise: bool = False) -> Adversary:
        """Write down the search within a finite radius around a single sample.

        Either for the nearest counter-example, with real numbers for its length, or for any. The
        result ``is_integer`` if all its variables and coefficients are.
        """
        program = Program()
        kind = FreeColumns if isinstance(around, ColumnSet) else FreeInput
        free_input = kind(around, radius, program)
        signals, label = free_input.signals, int(around.classes[0])
        layers = _layers_to_scores(around.network)
        top, limits, _ = layers.pop()
        for k, (W, t, rule) in enumerate(layers, start=1):
            helps = np.ones((2, len(W)), dtype=bool)
            if k == len(layers):
                lead = np.delete(top, label, axis=0) - top[label]
                helps = np.stack([(lead > 0).any(axis=0), (lead < 0).any(axis=0)])
            signals = _add_layer(program, k, signals, W, t, rule, *helps)
        others = [q for q in range(len(top)) if q != label]
        y = program.add_variables("y", (len(others),), integer=True)
        program.add_rows("class", y[None], np.ones(len(others)), lower=1.0, upper=1.0)
        for q, variable in zip(others, y.tolist(), strict=True):
            _add_lead(program, signals, top, limits[:, 0], label, q, variable)
        if minimise or around.norm != "linf":
            free_input.add_length(minimise=minimise)
        integer = free_input.is_exact and around.norm == "linf" and not minimise
        integer = integer and all(kind.integer for kind in around.network.architecture.weights)
        return cls(program, free_input, integer)

    def interior(self, x: FloatArray, room: float) -> FloatArray | None:
        """A point near a solution that keeps its activations with the widest margin.

        A solution of real numbers lies on the edge of what units allow, where rounding decides.
        """
        from scipy.optimize import linprog  # slow to load, and seldom needed

        program, inputs = self.program, self.free_input.k[self.free_input.plain]
        if self.free_input.is_whole or not inputs.size:
            return None
        rows = np.concatenate(
            [
                np.arange(block.first, block.first + block.count)
                for block in program.row_blocks
                if block.name.startswith(("on1", "off1", "lead"))
            ]
        )
        matrix = program.matrix[rows]
        A = matrix[:, inputs].toarray()
        slack = matrix @ np.where(program.integer, np.rint(x), x)
        low, high = program.row_lower[rows] - slack, program.row_upper[rows] - slack
        size = np.linalg.norm(A, axis=1)
        below, above = np.isfinite(low) & (size > 0), np.isfinite(high) & (size > 0)
        A_ub = np.concatenate(
            [np.column_stack([-A, size])[below], np.column_stack([A, size])[above]]
        )
        b_ub = np.concatenate([-low[below], high[above]])
        lower, upper = program.lower[inputs] - x[inputs], program.upper[inputs] - x[inputs]
        bounds = [
            (max(-room, min(a, 0.0)), min(room, max(b, 0.0)))
            for a, b in zip(lower, upper, strict=True)
        ]
        cost = np.append(np.zeros(len(inputs)), -1.0)
        answer = linprog(cost, A_ub=A_ub, b_ub=b_ub, bounds=[*bounds, (0.0, room)])
        if answer.status != 0:
            return None
        moved = x.copy()
        moved[inputs] += answer.x[:-1]
        return self.free_input.coordinates(moved)


def _layers_to_scores(network: Network) -> list[tuple[FloatArray, FloatArray, Activation]]:
    """Layers whose last one has scores, the largest of which is the class.

    The first output that is on is the largest of ``n z_q - q`` for outputs z numbered by q.
    """
    rules = map(network.architecture.activation_of, range(len(network.weights)))
    layers = list(zip(network.weights, network.thresholds, rules, strict=True))
    if network.architecture.ties == "first":
        n = network.architecture.n_outputs
        layers.append((n * np.eye(n), np.arange(float(n))[:, None], STEP))
    return layers


def _sums(signals: Signals, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Coefficients of the variables, constants, and bounds of ``W h``."""
    W = signals.spread(W)
    lower, upper = signals.bounds(W)
    fixed = ~signals.free
    return W[:, signals.free], W[:, fixed] @ signals.low[fixed], lower, upper


def _add_layer(
    program: Program,
    number: int,
    signals: Signals,
    W: FloatArray,
    t: FloatArray,
    rule: Activation,
    needs_on: BoolArray,
    needs_off: BoolArray,
) -> Signals:
    """Add a layer of units; a unit without need of a row may take that value at any sum."""
    per_unit = rule.n_thresholds
    coefficients, constant, lower, upper = (
        np.repeat(part, per_unit, axis=0) for part in _sums(signals, W)
    )
    scaled = t.reshape(-1) / signals.unit
    if signals.whole and (np.rint(W) == W).all():
        first_on, last_off = np.ceil(scaled), np.ceil(scaled) - 1.0
    else:
        room = _ROOM * (1.0 + np.maximum(np.abs(lower), np.abs(upper)) + np.abs(scaled))
        first_on, last_off = scaled - room, scaled + room
    is_on, is_off = lower > last_off, upper < first_on
    free = ~is_on & ~is_off
    u = program.add_variables(f"u{number}", (int(free.sum()),), integer=True)
    columns = np.broadcast_to(signals.columns[signals.free], (len(u), coefficients.shape[1]))
    columns = np.concatenate([columns, u[:, None]], axis=1)

    def rows(needed: BoolArray, M: FloatArray) -> tuple[BoolArray, FloatArray]:
        values = np.concatenate([coefficients, -M[:, None]], axis=1)
        chosen = np.repeat(needed, per_unit)[free]
        return chosen, values[free][chosen]

    chosen, values = rows(needs_on, first_on - lower)
    limit = (lower - constant)[free][chosen]
    program.add_rows(f"on{number}", columns[chosen], values, lower=limit)
    chosen, values = rows(needs_off, upper - last_off)
    limit = (last_off - constant)[free][chosen]
    program.add_rows(f"off{number}", columns[chosen], values, upper=limit)
    # One signal more, always 1, holds what units are at least.
    places = np.full(len(free) + 1, -1, dtype=np.int64)
    places[:-1][free] = u
    low, high = np.append(is_on, True).astype(float), np.append(~is_off, True).astype(float)
    return Signals(places, np.append(free, False), low, high, 1.0, True, rule)


def _add_lead(
    program: Program,
    signals: Signals,
    W: FloatArray,
    t: FloatArray,
    label: int,
    q: int,
    y: int,
) -> None:
    """Where y is 1 the score of q is above that of the label, or level if q comes first."""
    difference = (W[q] - W[label])[None]
    coefficients, constant, lower, upper = _sums(signals, difference)
    wanted = float(t[q] - t[label]) / signals.unit
    if signals.whole and (difference == np.rint(difference)).all():
        # A hair below, since the scores that are compared may have been rounded.
        hair = 2.0**-40 * (1.0 + abs(wanted) + float(np.abs(t[[q, label]]).max()) / signals.unit)
        nearest = np.rint(wanted)
        level = nearest if abs(wanted - nearest) <= hair else np.ceil(wanted)
        is_tie = level == nearest and wanted == nearest and q > label
        level = level + 1.0 if is_tie else level
    else:
        level = wanted - _ROOM * (1.0 + abs(wanted) + float(np.maximum(-lower, upper)[0]))
    M = level - lower[0]
    if M <= 0:
        return
    columns = np.append(signals.columns[signals.free], y)[None]
    values = np.append(coefficients[0], -M)[None]
    program.add_rows(f"lead{q}", columns, values, lower=lower[0] - constant)
