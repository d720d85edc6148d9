"""A linear relaxation over whole units, and what it proves in integer arithmetic.

Units that are interchangeable form a team. Let ``m_G(i)`` be the share of the units of team G with
the value that input i needs, on where the output should be 1 and off where it should be 0. A set S
of teams of which a rule needs at least r units at input i gives the row

    sum_{G in S} |G| m_G(i) >= r (1 - e_i),     e_i = 1 where input i is given up at cost c_i,

and ``m_G`` is a mean of units that integer weights allow (columns of the linear program). For any
multipliers L >= 0 of the rows the cost of a network is at least

    sum_rows r L + sum_i min(0, c_i - sum_{rows of i} r L) - sum_G |G| max_u (gain of unit u),

where a unit gains the multipliers of its team's rows at inputs that it serves. The maximum is taken
over all units (:mod:`bdnn.training.unit_table`). With multipliers that are integers over a fixed
denominator nothing is rounded: the linear program proposes multipliers and proves nothing itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import BoolArray, FloatArray
from bdnn.solvers.growing import GrowingProgram
from bdnn.training.pattern_master import Rule, Units
from bdnn.training.unit_table import Indices, UnitTable

_DENOMINATOR = 2**20
_COLUMNS_PER_TEAM = 12
_ROWS_AT_A_TIME = 60
_MOST_ROUNDS = 60
_TOLERANCE = 1e-6
_CLOSE = 1e-3
#: Cost of what no network can do.
IMPOSSIBLE = 2**40


@dataclass(frozen=True)
class Team:
    """Interchangeable units: equal weights in the rule, equal values asked at some inputs.

    Parameters
    ----------
    units : tuple of int
    on, off : tuples of int
        Inputs where all of them are on, and off.
    vectors : array or None
        Weight vectors that are left for them, None for all.
    columns : tuple of patterns
        Units worth beginning with.
    """

    units: Units
    on: tuple[int, ...] = ()
    off: tuple[int, ...] = ()
    vectors: Indices | None = None
    columns: tuple[BoolArray, ...] = ()


@dataclass(frozen=True)
class Node:
    """Networks of one rule whose units have given values at some inputs.

    ``level`` is the cost up to which ``vectors`` of the teams leave nothing out, and ``active``
    tells which inputs mattered so far.
    """

    rule: Rule
    teams: tuple[Team, ...]
    active: BoolArray
    level: int = -1


@dataclass(frozen=True)
class Outcome:
    """What is known of a node: a bound, and where to branch if that is not above the level.

    Without a bound above the level and without a place to branch, the node has a network of a cost
    up to the level, or time ran out.
    """

    bound: int
    team: int = -1
    input: int = -1
    teams: tuple[Team, ...] = ()
    active: BoolArray | None = None
    is_attained: bool = False


class Relaxation:
    """Bounds for nodes.

    Parameters
    ----------
    table : UnitTable
    wanted : array of bool, one per input
        Whether the output should be 1.
    costs : array of int, one per input
        What giving up an input costs.
    """

    def __init__(self, table: UnitTable, wanted: BoolArray, costs: NDArray[np.int64]) -> None:
        self.table = table
        self.wanted = wanted
        self.costs = costs

    def examine(self, node: Node, level: int | None, deadline: float) -> Outcome:
        """Look for a proof that a node costs more than a level; None: for the best bound at once.

        Parameters
        ----------
        node : Node
        level : int or None
        deadline : float
            Moment of ``time.perf_counter`` at which the node is given up.
        """
        examination = _Examination(self, node, level)
        outcome = examination.run(deadline)
        if level is not None and examination.is_narrowed and outcome.bound > level:
            # What was left out beforehand costs more than this level, and maybe no more than that.
            return replace(outcome, bound=level + 1)
        return outcome


class _Examination:
    def __init__(self, given: Relaxation, node: Node, level: int | None) -> None:
        self.table, self.wanted, self.costs = given.table, given.wanted, given.costs
        self.node, self.level = node, level
        keep = level is not None and level <= node.level
        self.vectors = [team.vectors if keep else None for team in node.teams]
        self.is_narrowed = any(vectors is not None for vectors in self.vectors)
        self.domains = [
            self.table.domain(list(team.on), list(team.off), vectors)
            for team, vectors in zip(node.teams, self.vectors, strict=True)
        ]
        self.state = np.zeros((len(self.wanted), len(node.teams)), dtype=np.int8)
        self.is_possible = True
        self.columns: list[list[BoolArray]] = []
        for number, (team, domain) in enumerate(zip(node.teams, self.domains, strict=True)):
            on, off = self.table.decided(domain)
            self.state[on, number], self.state[off, number] = 1, -1
            # Both at once is said of no unit at all.
            self.is_possible &= not (on & off).any()
            self.columns.append([u for u in team.columns if u[on].all() and not u[off].any()])
        self.size = np.array([len(team.units) for team in node.teams])
        self.program = GrowingProgram()
        self.in_program = np.zeros(0, dtype=np.int64)
        self.owners: list[int] = []
        self.units: list[BoolArray] = []
        self.proven = -1
        self.slack: int | None = None
        self.values: list[Indices] = []

    def run(self, deadline: float) -> Outcome:
        if not self.is_possible:
            return Outcome(IMPOSSIBLE)
        self._write_rows()
        if not len(self.row_input) or (self.level is not None and self.fixed > self.level):
            return Outcome(self.fixed, is_attained=not len(self.row_input))
        multipliers = 0.3 * self.most
        active = self.node.active[self.row_input]
        value = np.inf
        broken = np.zeros(0, dtype=np.int64)
        started = not all(self.columns)
        for _ in range(_MOST_ROUNDS):
            if started:
                bound = self._prove(multipliers)
                self.proven = max(self.proven, bound)
                if self.level is not None and bound > self.level:
                    return Outcome(bound)
                if self.level is None and value - bound < _CLOSE and not len(broken):
                    break
                if time.perf_counter() > deadline:
                    return Outcome(self.proven)
            started = True
            value, multipliers, weights, given_up = self._propose(active)
            means = np.array([w @ np.array(c) for w, c in zip(weights, self.columns, strict=True)])
            means = np.where(self.state.T == 0, means, self.state.T > 0)
            broken = self._broken(means, given_up, active)
            if len(broken):
                active[broken] = True
            elif value <= (0 if self.level is None else self.level) + _TOLERANCE:
                break
        if self.level is None:
            return Outcome(max(self.proven, self.fixed))
        return self._place(means, multipliers, weights, active)

    def _write_rows(self) -> None:
        """Rows that are not settled by what is decided, and the cost of what is lost by it."""
        units = tuple(team.units for team in self.node.teams)
        kinds, group = np.unique(
            np.column_stack([self.wanted, self.state]), axis=0, return_inverse=True
        )
        group = group.reshape(-1)
        self.fixed = 0
        inputs, needs, members = [], [], []
        for number, (wanted, *state) in enumerate(kinds.tolist()):
            rows = required(self.node.rule, units, tuple(state), bool(wanted))
            which = np.flatnonzero(group == number)
            if rows is None:
                self.fixed += int(self.costs[which].sum())
                continue
            for teams, need in rows:
                inputs.append(which)
                needs.append(np.full(len(which), need))
                line = np.zeros(len(units), dtype=np.int64)
                line[list(teams)] = 1
                members.append(np.tile(line, (len(which), 1)))
        self.row_input = np.concatenate([*inputs, np.zeros(0, dtype=np.int64)])
        self.need = np.concatenate([*needs, np.zeros(0, dtype=np.int64)])
        self.member = np.concatenate([*members, np.zeros((0, len(units)), dtype=np.int64)])
        # An input that costs more than is left to spend cannot be given up.
        left = IMPOSSIBLE if self.level is None else self.level - self.fixed
        self.can_go = self.costs <= left
        steep = 2.0 * (1 + max(left, 0)) if self.level is not None else 0.0
        self.most = np.where(
            self.can_go[self.row_input], self.costs[self.row_input] / self.need, steep
        )

    def _prove(self, multipliers: FloatArray) -> int:
        """Prove a bound by given multipliers, and collect the units that keep it low."""
        exact = np.rint(np.maximum(multipliers, 0.0) * _DENOMINATOR).astype(np.int64)
        spent = np.zeros(len(self.costs), dtype=np.int64)
        np.add.at(spent, self.row_input, self.need * exact)
        over = np.maximum(spent - self.costs * _DENOMINATOR, 0)
        total = self.fixed * _DENOMINATOR + int(spent.sum()) - int(over[self.can_go].sum())
        values = []
        for number, domain in enumerate(self.domains):
            gains = np.zeros(len(self.costs), dtype=np.int64)
            np.add.at(gains, self.row_input, exact * self.member[:, number])
            best, cuts = self.table.best(domain, np.where(self.wanted, gains, -gains))
            if self.table.is_empty(best):
                return IMPOSSIBLE
            values.append(best)
            total -= int(self.size[number]) * int(best.max() + gains[~self.wanted].sum())
            few = min(_COLUMNS_PER_TEAM, len(best))
            for place in np.argpartition(-best, few - 1)[:few]:
                self.columns[number].append(self.table.pattern(domain.vectors[place], cuts[place]))
        if self.level is not None:
            slack = self.level * _DENOMINATOR - total
            if self.slack is None or slack < self.slack:
                self.slack, self.values = slack, values
        # Costs are integers. Where giving up was ruled out, only the level is exceeded.
        bound = -(-total // _DENOMINATOR)
        if self.level is None or bound <= self.level:
            return bound
        whole = -(-(total - int(over[~self.can_go].sum())) // _DENOMINATOR)
        return max(self.level + 1, whole)

    def _propose(self, active: BoolArray) -> tuple[float, FloatArray, list[FloatArray], FloatArray]:
        """Solve the linear program of the columns at hand, in its dual form."""
        self._grow(active)
        n_teams = len(self.size)
        vertex = self.program.solve()
        rows, inputs = self.in_program, self.row_input[self.in_program]
        multipliers = np.zeros(len(self.need))
        multipliers[rows] = vertex.variables[n_teams:]
        n_shared = len(self.shared)
        owners = np.array(self.owners, dtype=np.int64)
        weights = []
        for number in range(n_teams):
            part = vertex.row_prices[n_shared:][owners == number]
            weights.append(part / max(part.sum(), _TOLERANCE))
        given_up = np.zeros(len(self.costs))
        np.maximum.at(given_up, inputs, vertex.bound_prices[n_teams:] / self.need[rows])
        given_up[self.shared] += vertex.row_prices[:n_shared]
        return self.fixed - vertex.value, multipliers, weights, given_up

    def _grow(self, active: BoolArray) -> None:
        """Take what is new over into the linear program: variables are multipliers, rows units."""
        n_teams = len(self.size)
        if not self.owners and not len(self.in_program):
            counts = np.bincount(self.row_input, minlength=len(self.costs))
            self.shared = np.flatnonzero((counts > 1) & self.can_go)
            limits = self.costs[self.shared].astype(float)
            self.program.add_variables(self.size, np.full(n_teams, np.inf), np.zeros((0, n_teams)))
            self.program.add_rows(np.zeros((len(self.shared), n_teams)), limits)
        known = np.zeros(len(self.need), dtype=bool)
        known[self.in_program] = True
        new = np.flatnonzero(active & ~known)
        if len(new):
            spending = (self.row_input[new] == self.shared[:, None]) * self.need[new]
            lines = [spending, *self._serves(self.units, self.owners, new)]
            self.program.add_variables(-self.need[new], self.most[new], np.vstack(lines))
            self.in_program = np.concatenate([self.in_program, new])
        fresh = [
            (number, unit)
            for number, units in enumerate(self.columns)
            for unit in units[self.owners.count(number) :]
        ]
        if fresh:
            owners, units = [number for number, _ in fresh], [unit for _, unit in fresh]
            serves = self._serves(units, owners, self.in_program)
            worth = -np.eye(n_teams)[owners]
            self.program.add_rows(np.hstack([worth, serves]), np.zeros(len(fresh)))
            self.owners += owners
            self.units += units

    def _serves(self, units: list[BoolArray], owners: list[int], rows: Indices) -> FloatArray:
        """Whether units have the value that rows of their teams need."""
        values = np.array(units, dtype=bool).reshape(-1, len(self.wanted))
        right = (values == self.wanted)[:, self.row_input[rows]]
        return np.asarray(right * self.member[rows].T[owners], dtype=float)

    def _broken(self, means: FloatArray, given_up: FloatArray, active: BoolArray) -> Indices:
        """Rows outside the linear program that its solution breaks most."""
        served = np.where(self.wanted, means, 1.0 - means)
        reached = ((self.member * self.size) * served[:, self.row_input].T).sum(axis=1)
        lack = self.need * (1.0 - given_up[self.row_input]) - reached
        lack[active] = 0.0
        worst = np.argsort(-lack)[:_ROWS_AT_A_TIME]
        return np.asarray(worst[lack[worst] > _TOLERANCE])

    def _place(
        self,
        means: FloatArray,
        multipliers: FloatArray,
        weights: Sequence[FloatArray],
        active: BoolArray,
    ) -> Outcome:
        """Choose where to branch, and what the branches need not look at again."""
        price = np.zeros_like(means)
        for number in range(len(means)):
            np.add.at(price[number], self.row_input, multipliers * self.member[:, number])
        open_ = np.minimum(means, 1.0 - means)
        open_[self.state.T != 0] = 0.0
        team, where = np.unravel_index(np.argmax(open_ * (price + 0.05)), open_.shape)
        if open_.max() < _TOLERANCE:
            wrong = self._wrong(means > 0.5)
            if int(self.costs[wrong].sum()) <= (self.level or 0):
                return Outcome(self.proven, is_attained=True)
            free = wrong[:, None] & (self.state == 0)
            where, team = np.argwhere(free)[0]
        teams = []
        for number, old in enumerate(self.node.teams):
            vectors = self.vectors[number]
            if self.values:
                values, slack = self.values[number], self.slack or 0
                vectors = self.domains[number].vectors[values >= values.max() - slack]
            used = np.flatnonzero(weights[number] > _TOLERANCE)
            columns = tuple(self.columns[number][k] for k in used)
            teams.append(Team(old.units, old.on, old.off, vectors, columns))
        inputs = np.zeros(len(self.wanted), dtype=bool)
        inputs[self.row_input[active & (multipliers > _TOLERANCE)]] = True
        return Outcome(self.proven, int(team), int(where), tuple(teams), inputs)

    def _wrong(self, patterns: BoolArray) -> BoolArray:
        weight = np.array([self.node.rule.weights[team.units[0]] for team in self.node.teams])
        sums = (weight * self.size) @ patterns
        return np.asarray((sums >= self.node.rule.threshold) != self.wanted)


@cache
def required(
    rule: Rule, units: tuple[Units, ...], state: tuple[int, ...], wanted: bool
) -> tuple[tuple[Units, int], ...] | None:
    """How many units of which teams an input still needs; None if it cannot be served.

    Parameters
    ----------
    rule : Rule
    units : tuple of tuples
        The teams.
    state : tuple of int
        1 and -1 for teams that are on and off at the input, 0 for others.
    wanted : bool
        Whether the output should be 1.

    Returns
    -------
    tuple of (teams, number) or None
        None of these rows follows from the others.
    """
    side = -1 if wanted else 1
    lost = {j for team, s in zip(units, state, strict=True) if s == side for j in team}
    ways = [set(way) for way in (rule.implicants if wanted else rule.implicates)]
    ways = [way for way in ways if not way & lost]
    if not ways:
        return None
    free = [number for number, s in enumerate(state) if s == 0]
    need: dict[Units, int] = {}
    for count in range(1, len(free) + 1):
        for teams in combinations(free, count):
            members = {j for number in teams for j in units[number]}
            need[teams] = min(len(way & members) for way in ways)
    return tuple((teams, n) for teams, n in need.items() if n and not _follows(teams, need))


def _follows(teams: Units, need: dict[Units, int]) -> bool:
    for count in range(1, len(teams)):
        for part in combinations(teams, count):
            rest = tuple(number for number in teams if number not in part)
            if need[part] + need[rest] >= need[teams]:
                return True
    return False
