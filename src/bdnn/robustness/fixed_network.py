"""The layers of a fixed network as rows of a program whose inputs are variables.

    on       W h >= T - M (1 - u)
    off      W h <= T - 1 + M u        T the first sum that switches the unit on

Only units that bounds leave free get a variable. Sums of integers are exact; other rows are opened
by more than a solver's tolerance, so that they admit too much rather than too little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.intervals import sum_bounds
from bdnn.network.network import Network
from bdnn.program import IndexArray, Program

# Room for a solver's tolerance of 1e-7 in a row of big-M size.
_ROOM = 2.5e-7


@dataclass(frozen=True)
class Signals:
    """What enters a layer: variables where ``free``, else the constant ``low``.

    ``whole`` tells whether all of them are integers, in units of ``unit``.
    """

    columns: IndexArray
    free: BoolArray
    low: FloatArray
    high: FloatArray
    unit: float
    whole: bool

    def sums(self, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Coefficients of the variables, constants, and bounds of ``W h``."""
        lower, upper = (side[0] for side in sum_bounds(W, self.low[None], self.high[None]))
        return W[:, self.free], W[:, ~self.free] @ self.low[~self.free], lower, upper


def add_layer(
    program: Program,
    number: int,
    signals: Signals,
    W: FloatArray,
    t: FloatArray,
    *,
    needs_on: BoolArray,
    needs_off: BoolArray,
) -> Signals:
    """Add a layer of units; a unit without need of a row may take that value at any sum."""
    coefficients, constant, lower, upper = signals.sums(W)
    first_on, last_off = _thresholds(signals, W, t, np.maximum(np.abs(lower), np.abs(upper)))
    is_on, is_off = lower > last_off, upper < first_on
    free = ~is_on & ~is_off
    u = program.add_variables(f"u{number}", (int(free.sum()),), integer=True)
    columns = np.broadcast_to(signals.columns[signals.free], (len(u), coefficients.shape[1]))
    columns = np.concatenate([columns, u[:, None]], axis=1)
    W_free, base = coefficients[free], constant[free]
    M = first_on[free] - lower[free]
    rows = needs_on[free]
    program.add_rows(
        f"on{number}",
        columns[rows],
        np.concatenate([W_free, -M[:, None]], axis=1)[rows],
        lower=(lower[free] - base)[rows],
    )
    M = upper[free] - last_off[free]
    rows = needs_off[free]
    program.add_rows(
        f"off{number}",
        columns[rows],
        np.concatenate([W_free, -M[:, None]], axis=1)[rows],
        upper=(last_off[free] - base)[rows],
    )
    all_columns = np.full(len(W), -1, dtype=np.int64)
    all_columns[free] = u
    low, high = is_on.astype(float), (~is_off).astype(float)
    return Signals(all_columns, free, low, high, 1.0, True)


def add_other_class(program: Program, network: Network, signals: Signals, label: int) -> None:
    """Ask for another class than ``label``: exactly one other one is predicted."""
    others = [q for q in range(network.architecture.n_outputs) if q != label]
    y = program.add_variables("y", (len(others),), integer=True)
    program.add_rows("class", y[None], np.ones(len(others)), lower=1.0, upper=1.0)
    W, t = network.weights[-1], network.output_thresholds
    if network.architecture.ties == "first":
        every = np.ones(len(W), dtype=bool)
        outputs = add_layer(
            program, len(network.weights), signals, W, t, needs_on=every, needs_off=every
        )
        for place, q in enumerate(others):
            _add_first(program, outputs, q, int(y[place]))
        return
    for place, q in enumerate(others):
        _add_lead(program, signals, W, t, label, q, int(y[place]))


def helps(network: Network, label: int) -> tuple[BoolArray, BoolArray]:
    """Which units of the last hidden layer can help another class by being on, and by being off."""
    W = network.weights[-1]
    if network.architecture.ties == "first":
        every = np.ones(W.shape[1], dtype=bool)
        return every, every
    difference = np.delete(W, label, axis=0) - W[label]
    return (difference > 0).any(axis=0), (difference < 0).any(axis=0)


def _thresholds(
    signals: Signals, W: FloatArray, t: FloatArray, size: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The smallest sum at which a unit may be on, and the largest at which it may be off."""
    scaled = t / signals.unit
    if signals.whole and (np.rint(W) == W).all():
        return np.ceil(scaled), np.ceil(scaled) - 1.0
    room = _ROOM * (1.0 + size + np.abs(scaled))
    return scaled - room, scaled + room


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
    coefficients, constant, lower, upper = signals.sums(difference)
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


def _add_first(program: Program, outputs: Signals, q: int, y: int) -> None:
    """Where y is 1, output q is the first that is on, or the first of all and none is."""
    before = range(q) if q else range(1, len(outputs.free))
    for k in before:
        # u_k + y <= 1, and for the first of all u_k + y <= 1 + u_0.
        _add_sum(program, outputs, [(k, 1.0)] if q else [(k, 1.0), (0, -1.0)], y)
    if q:
        _add_sum(program, outputs, [(q, -1.0)], y, upper=0.0)


def _add_sum(
    program: Program,
    outputs: Signals,
    terms: list[tuple[int, float]],
    y: int,
    upper: float = 1.0,
) -> None:
    columns, values = [y], [1.0]
    for k, sign in terms:
        if outputs.free[k]:
            columns.append(int(outputs.columns[k]))
            values.append(sign)
        else:
            upper -= sign * outputs.low[k]
    program.add_rows("first", np.array([columns]), np.array([values]), upper=upper)
