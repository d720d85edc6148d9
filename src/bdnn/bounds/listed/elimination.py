"""Proofs that every network of few units errs, by striking units off a list of all of them.

A rule that counts units needs so many of them to serve an input: ``k`` of ``n`` on where the output
should be 1, ``n - k + 1`` off where it should be 0. For duals ``p >= 0`` of the inputs ``v(u)``
is the sum of the duals of what unit u serves. Of ``r`` units that together meet the needs

    sum_i need_i p_i  <=  v(u_1) + ... + v(u_r)  <=  v(u) + (r - 1) max v

holds for each unit u among them. So duals strike off all units of a smaller ``v(u)``, and where
even ``r max v`` is too small there is no network. What is left is tried: the unit of the largest v
is taken, and the same is asked of the other units and the needs that it leaves. Duals that refute
this mostly strike off many more units. Subgradients or a linear program propose duals; what these
prove is computed in integers over all units that are left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.columns import Columns, Duals, climb, collect_units, column_values
from bdnn.bounds.listed.table import UnitTable
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.solvers.highs import GrowingProgram

Needs = NDArray[np.int64]

#: Duals add up to about this; sums of products with needs have room in 32 bits.
DENOMINATOR = 2**20
# More units than matter make the linear program of duals slow.
_MOST_ROWS = 300
_TOLERANCE = 1e-9
_MOST_ROUNDS = 40
_FIRST_UNITS, _UNITS_PER_ROUND = 60, 12
# Duals are sought for some of the units, and then for those too that they forgot.
_SHORT_LIST, _FORGOTTEN = 1500, 60
_CLIMBS, _STEPS = 20, 800
# Units times inputs times steps, some tenths of a second.
_MOST_WORK = 10**9
# Share of the units that is left when they are copied and better duals are sought for them.
_LEFT = 0.7
# What a linear program may still gain is not worth another round.
_CLOSE = 1e-4 * DENOMINATOR


class OutOfTimeError(Exception):
    """Nothing is proven so far."""


def to_duals(shares: NDArray[np.floating]) -> Duals:
    """Round duals to integers."""
    safe = np.clip(np.nan_to_num(shares), 0.0, None).astype(float)
    rounded: Duals = np.rint(safe / max(safe.sum(), _TOLERANCE) * DENOMINATOR).astype(np.int32)
    return rounded


class DualProgram:
    """Proposes duals by which needs exceed what units at hand serve by most; it proves nothing.

    Its variables are the duals, which add up to 1, and the largest value of a unit; a unit is a
    row. Needs are costs, so that other needs are answered from the last vertex.
    """

    def __init__(self, n_inputs: int) -> None:
        self._costs: FloatArray = np.zeros(n_inputs + 1)
        self._begin()

    def _begin(self) -> None:
        n_variables = len(self._costs)
        self._units: Columns = np.zeros((n_variables - 1, 0), dtype=np.uint8)
        self._matters = np.zeros(0, dtype=bool)
        self._program = GrowingProgram()
        self._program.add_variables(
            self._costs, np.full(n_variables, np.inf), np.zeros((0, n_variables))
        )
        total = np.append(np.ones(n_variables - 1), 0.0)
        self._program.add_rows(np.array([total, -total]), np.array([1.0, -1.0]))

    def add(self, columns: Columns) -> None:
        """Add units, one per column; once they are many, those that did not matter are dropped."""
        if self._units.shape[1] > _MOST_ROWS:
            columns = np.hstack([self._units[:, np.flatnonzero(self._matters)], columns])
            self._begin()
        self._units = np.hstack([self._units, columns])
        lines = np.column_stack([columns.T.astype(float), np.full(columns.shape[1], -1.0)])
        self._program.add_rows(lines, np.zeros(len(lines)))

    def ask(self, needs: Needs, n_units: int) -> None:
        """Say what is needed, and how many units there are to serve it."""
        self._costs = np.append(-needs.astype(float), float(n_units))
        self._program.change_costs(self._costs)

    def propose(self) -> tuple[float, Duals]:
        """Return the largest excess there can be for these units, times DENOMINATOR, and duals."""
        if not self._units.shape[1]:
            return np.inf, to_duals(np.ones(len(self._costs) - 1))
        vertex = self._program.solve()
        self._matters = vertex.row_prices[2:] > _TOLERANCE
        return -vertex.value * DENOMINATOR, to_duals(vertex.variables[:-1])

    def generate(
        self,
        needs: Needs,
        n_units: int,
        price: Callable[[Duals], tuple[int, Columns]],
        is_over: Callable[[], bool],
        close: float = _CLOSE,
    ) -> tuple[Duals, int]:
        """Add units until duals prove that needs are not met, or no more than ``close`` is left.

        ``price`` gives the largest value of all units there are by some duals, and units of large
        values. Returned are the best duals, and the largest value of a unit by them.
        """
        self.ask(needs, n_units)
        best, kept = -np.inf, (np.zeros(len(needs), dtype=np.int32), 0)
        for _ in range(_MOST_ROUNDS):
            if is_over():
                raise OutOfTimeError
            value, duals = self.propose()
            most, units = price(duals)
            excess = _total(needs, duals) - n_units * most
            if excess > best:
                best, kept = excess, (duals, most)
            if excess > 0 or value - excess < close:
                break
            self.add(units)
        return kept


class Elimination:
    """A list of units, from which those are struck off that no network without an error has."""

    def __init__(
        self,
        columns: Columns,
        needs: Needs,  # how many units must serve an input, at least 1
        n_units: int,  # units of the network
        is_over: Callable[[], bool],  # whether to give up
    ) -> None:
        self.columns, self.needs, self.n_units, self.is_over = columns, needs, n_units, is_over
        self.program = DualProgram(len(needs))
        self.duals = np.ones(len(needs), dtype=np.float32)
        self.listed = np.zeros(0, dtype=np.intp)

    def is_refuted(self) -> bool:
        """Tell whether no network is without an error; raise an error where time runs out."""
        if (self.needs > self.n_units).any():
            return True
        self._keep(self.columns[self.needs == self.n_units].all(axis=0))
        if not self.columns.shape[1]:
            return True
        if self.n_units == 1:
            return False
        step = max(1, self.columns.shape[1] // _FIRST_UNITS)
        self.program.add(self.columns[:, ::step])
        while self.columns.shape[1]:
            alive = np.ones(self.columns.shape[1], dtype=bool)
            duals = self._program_duals(self.needs, self.n_units, alive)
            self.duals = duals.astype(np.float32)
            values = column_values(self.columns, duals)
            asked = _total(self.needs, duals)
            least = asked - (self.n_units - 1) * int(values.max())
            self._keep(values >= least)
            values = values[values >= least]
            self.listed = np.argsort(-values, kind="stable")[:_SHORT_LIST]
            if not self._strike_off(values, asked):
                return False
        return True

    def _strike_off(self, values: Duals, asked: int) -> bool:
        """Strike units off until none can be the best of a network, or many are gone.

        False: there is a network without an error.
        """
        alive = np.ones(len(values), dtype=bool)
        while np.count_nonzero(alive) >= max(1.0, _LEFT * len(values)):
            first = int(np.argmax(np.where(alive, values, -1)))
            if self.n_units * int(values[first]) < asked:
                alive[:] = False
                break
            needs = self.needs - self.columns[:, first]
            duals = self._duals(needs, self.n_units - 1, alive)
            others = column_values(self.columns, duals)
            most = int(others[alive].max())
            excess = _total(needs, duals) - (self.n_units - 1) * most
            if excess > 0:
                alive &= others >= _total(self.needs, duals) - (self.n_units - 1) * most
            elif not self._beside(needs, alive & (others >= most + excess)).is_refuted():
                return False
            alive[first] = False
        self._keep(alive)
        return True

    def _beside(self, needs: Needs, units: BoolArray) -> Elimination:
        """What is asked of the other units once one has been taken."""
        is_open = needs > 0
        columns = np.ascontiguousarray(self.columns[is_open][:, units])
        return Elimination(columns, needs[is_open], self.n_units - 1, self.is_over)

    def _duals(self, needs: Needs, n_units: int, alive: BoolArray) -> Duals:
        """Duals by which needs exceed what units serve, or the best there are."""
        start = self.duals.copy()
        for _ in range(_CLIMBS):
            if self.is_over():
                raise OutOfTimeError
            self.listed = self.listed[alive[self.listed]]
            units = np.ascontiguousarray(self.columns[:, self.listed])
            n_steps = min(_STEPS, 1 + _MOST_WORK // max(1, units.size))
            if not len(self.listed) or not climb(
                units, needs.astype(np.float32), n_units, start, n_steps
            ):
                break
            duals = to_duals(start)
            values = np.where(alive, column_values(self.columns, duals), -1)
            if _total(needs, duals) > n_units * int(values.max()):
                self.duals = start
                return duals
            few = min(_FORGOTTEN, len(values))
            forgotten = np.argpartition(-values, few - 1)[:few]
            self.listed = np.union1d(self.listed, forgotten[values[forgotten] >= 0])
        return self._program_duals(needs, n_units, alive)

    def _program_duals(self, needs: Needs, n_units: int, alive: BoolArray) -> Duals:
        def price(duals: Duals) -> tuple[int, Columns]:
            values = np.where(alive, column_values(self.columns, duals), -1)
            few = min(_UNITS_PER_ROUND, len(values))
            return int(values.max()), self.columns[:, np.argpartition(-values, few - 1)[:few]]

        return self.program.generate(needs, n_units, price, self.is_over)[0]

    def _keep(self, units: BoolArray) -> None:
        if not units.all():
            self.columns = np.ascontiguousarray(self.columns[:, units])


def is_error_certain(
    table: UnitTable,
    wanted: BoolArray,
    n_units: int,
    threshold: int,
    is_over: Callable[[], bool],
) -> bool:
    """Tell whether every network errs whose output is 1 iff ``threshold`` of its units are on.

    What is not proven when ``is_over`` says so is not told.
    """
    needs = np.where(wanted, threshold, n_units - threshold + 1).astype(np.int64)
    domain = table.domain([], [])

    def price(duals: Duals) -> tuple[int, Columns]:
        signed = np.where(wanted, duals, -duals).astype(np.int64)
        gains, cuts = table.best(domain, signed)
        few = min(3 * _UNITS_PER_ROUND, len(gains))
        units = [
            table.pattern(int(domain.vectors[place]), int(cuts[place]))
            for place in np.argpartition(-gains, few - 1)[:few]
        ]
        columns = (np.array(units) == wanted).T.astype(np.uint8)
        return int(gains.max()) - int(signed[~wanted].sum()), columns

    program = DualProgram(len(wanted))
    try:
        duals, most = program.generate(needs, n_units, price, is_over, close=10 * _CLOSE)
        least = _total(needs, duals) - (n_units - 1) * most
        if least > most:
            return True
        columns = collect_units(table, wanted, duals, least)
        return columns is not None and Elimination(columns, needs, n_units, is_over).is_refuted()
    except OutOfTimeError:
        return False


def _total(needs: Needs, duals: Duals) -> int:
    return int(needs @ duals.astype(np.int64))
