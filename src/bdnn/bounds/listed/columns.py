"""Units as columns of inputs that they serve, and duals of inputs.

A unit serves an input where it is on and should be, or is off and should be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.table import Indices, UnitTable
from bdnn.clock import BackgroundLoad
from bdnn.compiled import compiled
from bdnn.network.activation import BoolArray
from bdnn.network.architecture import WeightSet

Columns = NDArray[np.uint8]
Duals = NDArray[np.int32]
FloatDuals = NDArray[np.float32]

# Units times inputs.
_LARGEST_LIST = 2**27
# How much of every direction is new, the excess that steps aim at, and the least dual.
_NEW, _AIM, _LEAST = 0.2, 0.005, 2e-5


def collect_units(table: UnitTable, wanted: BoolArray, duals: Duals, least: int) -> Columns | None:
    """List all units that serve inputs whose duals add up to ``least`` or more, one per column.

    ``wanted`` tells at which inputs units should be on. Cuts that serve less than the next one of
    their weight vector are left out. None if there are too many.
    """
    gains = np.where(wanted, duals, -duals).astype(np.int64)
    most = _LARGEST_LIST // table.n_inputs
    found = np.empty((most, 2), dtype=np.int64)
    needed = least - int(duals[~wanted].sum(dtype=np.int64))
    count = _find_cuts(table.order, table.is_cut, wanted, gains, needed, found)
    if count > most:
        return None
    columns = np.empty((table.n_inputs, count), dtype=np.uint8)
    _write_columns(table.order, wanted, found[:count], columns)
    return columns


@compiled
def _find_cuts(
    order: NDArray[np.uint16],
    is_cut: BoolArray,
    wanted: BoolArray,
    gains: Indices,
    least: int,
    found: Indices,
) -> int:
    """List vectors and cuts as :meth:`UnitTable.best` writes them; return how many there are."""
    n_vectors, n_inputs = order.shape
    total = gains.sum()
    count = 0
    for k in range(n_vectors):
        below, last = 0, 0
        for q in range(n_inputs + 1):
            if is_cut[k, q]:
                # Which kinds of inputs lie between this cut and its neighbours.
                on_before, off_before = q == 0, q == 0
                for p in range(last, q):
                    on_before |= wanted[order[k, p]]
                    off_before |= not wanted[order[k, p]]
                on_after, off_after = q == n_inputs, q == n_inputs
                p = q
                while p < n_inputs and (p == q or not is_cut[k, p]):
                    on_after |= wanted[order[k, p]]
                    off_after |= not wanted[order[k, p]]
                    p += 1
                last = q
                for is_below in range(2):
                    if is_below:
                        value, cut, is_best = below, -1 - q, on_before and off_after
                    else:
                        value, cut, is_best = total - below, q, off_before and on_after
                    if is_best and value >= least:
                        if count < len(found):
                            found[count, 0], found[count, 1] = k, cut
                        count += 1
            if q < n_inputs:
                below += gains[order[k, q]]
    return count


@compiled
def _write_columns(
    order: NDArray[np.uint16], wanted: BoolArray, found: Indices, columns: Columns
) -> None:
    for column in range(len(found)):
        line, cut = order[found[column, 0]], found[column, 1]
        for q in range(len(line)):
            is_on = q >= cut if cut >= 0 else q < -1 - cut
            columns[line[q], column] = is_on == wanted[line[q]]


@compiled
def column_values(columns: Columns, duals: Duals) -> Duals:
    """Sum of the duals of what each unit serves."""
    totals = np.zeros(columns.shape[1], dtype=np.int32)
    for i in range(len(duals)):
        if duals[i]:
            dual, line = duals[i], columns[i]
            for column in range(len(line)):
                totals[column] += dual * np.int32(line[column])
    return totals


@compiled
def climb(
    columns: Columns, needs: FloatDuals, n_units: int, duals: FloatDuals, n_steps: int
) -> bool:
    """Look for duals by which needs exceed what so many units serve, by steps of subgradients.

    It begins with ``duals`` and overwrites them, and tells whether there is an excess, up to
    rounding.
    """
    n_inputs, n_columns = columns.shape
    direction = np.zeros(n_inputs, dtype=np.float32)
    values = np.empty(n_columns, dtype=np.float32)
    for step in range(n_steps):
        duals /= duals.sum()
        values[:] = 0
        for i in range(n_inputs):
            if duals[i] > 0:
                dual, line = duals[i], columns[i]
                for column in range(n_columns):
                    values[column] += dual * np.float32(line[column])
        best = np.argmax(values)
        excess = np.float32(0)
        for i in range(n_inputs):
            excess += duals[i] * needs[i]
        excess -= np.float32(n_units) * values[best]
        if excess > np.float32(_AIM / 20):
            return True
        length = np.float32(0)
        share = np.float32(1.0 if step == 0 else _NEW)
        for i in range(n_inputs):
            slope = needs[i] - np.float32(n_units) * np.float32(columns[i, best])
            direction[i] += share * (slope - direction[i])
            length += direction[i] * direction[i]
        size = (np.float32(_AIM) - excess) / max(length, np.float32(1e-9))
        total = np.float32(0)
        for i in range(n_inputs):
            duals[i] += size * direction[i]
            if duals[i] < np.float32(_LEAST):
                duals[i] = 0
            total += duals[i]
        if total <= 0:
            duals[:] = 1
    return False


def _load() -> None:
    """Compile or load all this, for two inputs."""
    table = UnitTable(np.array([[0.0], [1.0]]), WeightSet.parse("ternary"))
    wanted = np.array([True, False])
    columns = collect_units(table, wanted, np.ones(2, dtype=np.int32), 0)
    if columns is not None:
        column_values(columns, np.ones(2, dtype=np.int32))
        climb(columns, np.ones(2, dtype=np.float32), 1, np.ones(2, dtype=np.float32), 1)


KERNELS = BackgroundLoad(_load, name="bdnn-compile-columns")
