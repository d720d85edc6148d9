"""A linear relaxation over whole units, and what it proves in integer arithmetic.

Units that are interchangeable form a team. Let ``m_G(i)`` be the share of the units of team G with
the value that input i needs, on where the output should be 1 and off where it should be 0. A set S
of teams of which a rule needs at least r units at input i gives the row

    sum_{G in S} |G| m_G(i) >= r (1 - e_i),     e_i = 1 where input i is given up at cost c_i,

and ``m_G`` is a mean of units that integer weights allow (columns of the linear program). For any
multipliers L >= 0 of the rows the cost of a network is at least

    sum_rows r L + sum_i min(0, c_i - sum_{rows of i} r L) - sum_G |G| max_u (gain of unit u),

where a unit gains the multipliers of its team's rows at inputs that it serves. The maximum is taken
over all units (:mod:`bdnn.bounds.listed.table`). With multipliers that are integers over a fixed
denominator nothing is rounded: the linear program proposes multipliers and proves nothing itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bdnn.bounds.listed.node import IMPOSSIBLE, Multipliers, Node, Outcome, Rows, Task, Team
from bdnn.bounds.listed.table import Indices
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.solvers.highs import GrowingProgram

#: Of multipliers.
DENOMINATOR = 2**20
_COLUMNS_PER_TEAM = 12
_ROWS_AT_A_TIME = 60
_MOST_ROUNDS = 60
_TOLERANCE = 1e-6
_CLOSE = 1e-3
# What a place to branch is worth beside the multipliers there.
_LEAST_PRICE = 0.05


class Proposal(NamedTuple):
    """Value of the program, multipliers, weights of the units of each team, inputs given up."""

    value: float
    multipliers: FloatArray
    weights: list[FloatArray]
    given_up: FloatArray


class UnitProgram:
    """The linear program of the units at hand in its dual form, to which units and rows are added.

    Variables are multipliers, rows are units, and its prices are means of units.

    ``size`` are the numbers of units of the teams.
    """

    def __init__(self, task: Task, rows: Rows, size: Indices) -> None:
        self._task, self._rows, self._size = task, rows, size
        self._used = np.zeros(0, dtype=np.int64)
        self._owners: list[int] = []
        self._units: list[BoolArray] = []
        self._program = GrowingProgram()
        counts = np.bincount(rows.input, minlength=len(task.costs))
        # All rows of an input together earn no more than it costs to give it up.
        self._shared = np.flatnonzero((counts > 1) & rows.can_go)
        n_teams = len(size)
        none = np.zeros((0, n_teams))
        self._program.add_variables(size.astype(float), np.full(n_teams, np.inf), none)
        limits = task.costs[self._shared].astype(float)
        self._program.add_rows(np.zeros((len(limits), n_teams)), limits)

    def propose(self, columns: list[list[BoolArray]], active: BoolArray) -> Proposal:
        """Solve the program with growing lists of units and a growing set of active rows."""
        self._grow(columns, active)
        vertex = self._program.solve()
        used, n_teams, n_shared = self._used, len(self._size), len(self._shared)
        multipliers = np.zeros(len(self._rows.need))
        multipliers[used] = vertex.variables[n_teams:]
        owners = np.array(self._owners, dtype=np.int64)
        weights = []
        for number in range(n_teams):
            part = vertex.row_prices[n_shared:][owners == number]
            weights.append(part / max(part.sum(), _TOLERANCE))
        given_up = np.zeros(len(self._task.costs))
        shares = vertex.bound_prices[n_teams:] / self._rows.need[used]
        np.maximum.at(given_up, self._rows.input[used], shares)
        given_up[self._shared] += vertex.row_prices[:n_shared]
        return Proposal(self._rows.fixed - vertex.value, multipliers, weights, given_up)

    def _grow(self, columns: list[list[BoolArray]], active: BoolArray) -> None:
        rows = self._rows
        known = np.zeros(len(active), dtype=bool)
        known[self._used] = True
        new = np.flatnonzero(active & ~known)
        if len(new):
            spent = (rows.input[new] == self._shared[:, None]) * rows.need[new]
            lines = np.vstack([spent, self._serves(self._units, self._owners, new)])
            self._program.add_variables(-rows.need[new].astype(float), rows.most[new], lines)
            self._used = np.concatenate([self._used, new])
        fresh = [
            (number, unit)
            for number, units in enumerate(columns)
            for unit in units[self._owners.count(number) :]
        ]
        if fresh:
            owners, units = [number for number, _ in fresh], [unit for _, unit in fresh]
            worth = -np.eye(len(self._size))[owners]
            lines = np.hstack([worth, self._serves(units, owners, self._used)])
            self._program.add_rows(lines, np.zeros(len(fresh)))
            self._owners += owners
            self._units += units

    def _serves(self, units: list[BoolArray], owners: list[int], which: Indices) -> FloatArray:
        """Whether units have the value that rows of their teams need."""
        values = np.array(units, dtype=bool).reshape(-1, len(self._task.wanted))
        right = (values == self._task.wanted)[:, self._rows.input[which]]
        return np.asarray(right * self._rows.member[which].T[owners], dtype=float)


class Relaxation:
    """One node: its domains, the rows they leave open, and the best proof so far.

    It is to cost more than the level; without one the best bound is looked for at once.
    """

    def __init__(self, task: Task, node: Node, level: int | None) -> None:
        self.task, self.node, self.level = task, node, level
        self.wanted, self.costs = task.wanted, task.costs
        keep = level is not None and level <= node.level
        self.vectors = [team.vectors if keep else None for team in node.teams]
        self.is_narrowed = any(vectors is not None for vectors in self.vectors)
        self.domains = [
            task.table.domain(list(team.on), list(team.off), vectors)
            for team, vectors in zip(node.teams, self.vectors, strict=True)
        ]
        self.size = np.array([len(team.units) for team in node.teams])
        self.state = np.zeros((len(self.wanted), len(node.teams)), dtype=np.int8)
        self.is_possible = True
        self.columns: list[list[BoolArray]] = []
        for number, (team, domain) in enumerate(zip(node.teams, self.domains, strict=True)):
            on, off = task.table.decided(domain)
            self.state[on, number], self.state[off, number] = 1, -1
            # Both at once is said of no unit at all.
            self.is_possible &= not (on & off).any()
            self.columns.append([u for u in team.columns if u[on].all() and not u[off].any()])
        self.rows = Rows.write(task, node, self.state, level)
        self.slack = 0
        self.values: list[Indices] = []
        # Of the best bound so far, and of the smallest slack.
        self._proof: tuple[int, Multipliers] = (-1, ())
        self._narrowing: Multipliers = ()

    def examine(self, slot: Slot) -> Outcome:
        """Look for a proof that the node costs more than the level until the slot is over."""
        outcome = self._examine(slot)
        if outcome.team < 0:
            outcome = replace(outcome, multipliers=self._proof[1])
        if self.level is not None and self.is_narrowed and outcome.bound > self.level:
            # What was left out beforehand costs more than this level, and maybe no more than that.
            return replace(outcome, bound=self.level + 1)
        return outcome

    def _examine(self, slot: Slot) -> Outcome:
        """Prove and propose in turn until the level is exceeded, or cannot be."""
        rows, level = self.rows, self.level
        if not self.is_possible:
            return Outcome(IMPOSSIBLE)
        if not len(rows.input) or (level is not None and rows.fixed > level):
            return Outcome(rows.fixed, is_attained=not len(rows.input))
        program = UnitProgram(self.task, rows, self.size)
        active = self.node.active[rows.input]
        multipliers, value, proven = 0.3 * rows.most, np.inf, rows.fixed
        is_complete = False
        # Columns of the node before need no multipliers to begin with.
        is_priced = all(self.columns)
        for _ in range(_MOST_ROUNDS):
            if not is_priced:
                proven = max(proven, self._prove(multipliers))
                if level is not None and proven > level:
                    return Outcome(proven)
                if level is None and is_complete and value - proven < _CLOSE:
                    break
                if slot.is_over():
                    return Outcome(proven)
            is_priced = False
            proposal = program.propose(self.columns, active)
            value, multipliers = proposal.value, proposal.multipliers
            broken = self._broken(proposal, active)
            active[broken] = True
            is_complete = not len(broken)
            if is_complete and value <= (level or 0) + _TOLERANCE:
                break
        return Outcome(proven) if level is None else self._branch(proposal, proven)

    def _prove(self, multipliers: FloatArray) -> int:
        """Prove a bound by given multipliers, and collect the units that keep it low."""
        rows = self.rows
        # Whatever the program proposes, these are integers in a range that leaves room for sums.
        safe = np.clip(np.nan_to_num(multipliers), 0.0, rows.most)
        exact = np.rint(safe * DENOMINATOR).astype(np.int64)
        spent = np.zeros(len(self.costs), dtype=np.int64)
        np.add.at(spent, rows.input, rows.need * exact)
        over = np.maximum(spent - self.costs * DENOMINATOR, 0)
        total = rows.fixed * DENOMINATOR + int(spent.sum()) - int(over[rows.can_go].sum())
        values, table = [], self.task.table
        for number, domain in enumerate(self.domains):
            gains = np.zeros(len(self.costs), dtype=np.int64)
            np.add.at(gains, rows.input, exact * rows.member[:, number])
            best, cuts = table.best(domain, np.where(self.wanted, gains, -gains))
            values.append(best)
            total -= int(self.size[number]) * int(best.max() + gains[~self.wanted].sum())
            few = min(_COLUMNS_PER_TEAM, len(best))
            for place in np.argpartition(-best, few - 1)[:few]:
                if not table.is_empty(best[place : place + 1]):
                    unit = table.pattern(domain.vectors[place], cuts[place])
                    self.columns[number].append(unit)
        # Costs are integers. Where giving up was ruled out, only the level is exceeded.
        bound = -(-total // DENOMINATOR)
        if self.level is not None:
            slack = self.level * DENOMINATOR - total
            if not self.values or slack < self.slack:
                self.slack, self.values, self._narrowing = slack, values, self._plain(exact)
            whole = -(-(total - int(over[~rows.can_go].sum())) // DENOMINATOR)
            bound = max(min(bound, self.level + 1), whole)
        if bound > self._proof[0]:
            self._proof = bound, self._plain(exact)
        return bound

    def _plain(self, multipliers: Indices) -> Multipliers:
        """Multipliers that are not 0, for the record."""
        used = np.flatnonzero(multipliers)
        masks = self.rows.member[used] @ (1 << np.arange(len(self.size)))
        table = np.column_stack([self.rows.input[used], masks, multipliers[used]])
        return tuple(table.ravel().tolist())

    def _means(self, proposal: Proposal) -> FloatArray:
        pairs = zip(proposal.weights, self.columns, strict=True)
        means = np.array([weights @ np.array(units) for weights, units in pairs])
        return np.where(self.state.T == 0, means, self.state.T > 0)

    def _broken(self, proposal: Proposal, active: BoolArray) -> Indices:
        """Rows outside the linear program that its solution breaks most."""
        rows, means = self.rows, self._means(proposal)
        served = np.where(self.wanted, means, 1.0 - means)
        reached = ((rows.member * self.size) * served[:, rows.input].T).sum(axis=1)
        lack = rows.need * (1.0 - proposal.given_up[rows.input]) - reached
        lack[active] = 0.0
        worst = np.argsort(-lack)[:_ROWS_AT_A_TIME]
        return np.asarray(worst[lack[worst] > _TOLERANCE])

    def _branch(self, proposal: Proposal, proven: int) -> Outcome:
        """Choose where to branch, and what the branches need not look at again."""
        wrong = self._wrong(proposal)
        if int(self.costs[wrong].sum()) <= (self.level or 0):
            return Outcome(proven, is_attained=True)
        rows, means = self.rows, self._means(proposal)
        price = np.zeros_like(means)
        for number in range(len(means)):
            earned = proposal.multipliers * rows.member[:, number]
            np.add.at(price[number], rows.input, earned)
        doubt = np.minimum(means, 1.0 - means) + _TOLERANCE * wrong
        # Some team is open wherever there is a row, so there is always a place.
        is_open = (self.state.T == 0) & np.isin(np.arange(len(wrong)), rows.input)
        score = np.where(is_open, doubt * (price + _LEAST_PRICE), -1.0)
        team, where = np.unravel_index(np.argmax(score), score.shape)
        active = np.zeros(len(wrong), dtype=bool)
        active[rows.input[proposal.multipliers > _TOLERANCE]] = True
        teams = tuple(self._successor(number, proposal) for number in range(len(means)))
        return Outcome(proven, int(team), int(where), teams, active, multipliers=self._narrowing)

    def _successor(self, number: int, proposal: Proposal) -> Team:
        """Keep weight vectors whose units can belong to a network within the level."""
        vectors = self.vectors[number]
        if self.values:
            values = self.values[number]
            vectors = self.domains[number].vectors[values >= values.max() - self.slack]
        used = np.flatnonzero(proposal.weights[number] > _TOLERANCE)
        columns = tuple(self.columns[number][k] for k in used)
        return replace(self.node.teams[number], vectors=vectors, columns=columns)

    def _wrong(self, proposal: Proposal) -> BoolArray:
        """Where the network of each team's heaviest unit is wrong."""
        pairs = zip(proposal.weights, self.columns, strict=True)
        units = np.array([units[int(np.argmax(weights))] for weights, units in pairs])
        rule = self.node.rule
        weight = np.array([rule.weights[team.units[0]] for team in self.node.teams])
        return np.asarray(((weight * self.size) @ units >= rule.threshold) != self.wanted)
