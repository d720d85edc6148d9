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

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.node import IMPOSSIBLE, Node, Outcome, Rows, Team
from bdnn.bounds.listed.program import Proposal, UnitProgram
from bdnn.bounds.listed.table import Indices, UnitTable
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray, FloatArray

_DENOMINATOR = 2**20
_COLUMNS_PER_TEAM = 12
_ROWS_AT_A_TIME = 60
_MOST_ROUNDS = 60
_TOLERANCE = 1e-6
_CLOSE = 1e-3
# What a place to branch is worth beside the multipliers there.
_LEAST_PRICE = 0.05


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

    def examine(self, node: Node, level: int | None, slot: Slot) -> Outcome:
        """Look for a proof that a node costs more than a level; None: for the best bound at once.

        Parameters
        ----------
        node : Node
        level : int or None
        slot : Slot
            When it is over the node is given up.
        """
        examination = _Examination(self, node, level)
        outcome = examination.run(slot)
        if level is not None and examination.is_narrowed and outcome.bound > level:
            # What was left out beforehand costs more than this level, and maybe no more than that.
            return replace(outcome, bound=level + 1)
        return outcome


class _Examination:
    """One node: its domains, the rows they leave open, and the best proof so far."""

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
        self.size = np.array([len(team.units) for team in node.teams])
        self.state = np.zeros((len(self.wanted), len(node.teams)), dtype=np.int8)
        self.is_possible = True
        self.columns: list[list[BoolArray]] = []
        for number, (team, domain) in enumerate(zip(node.teams, self.domains, strict=True)):
            on, off = self.table.decided(domain)
            self.state[on, number], self.state[off, number] = 1, -1
            # Both at once is said of no unit at all.
            self.is_possible &= not (on & off).any()
            self.columns.append([u for u in team.columns if u[on].all() and not u[off].any()])
        self.rows = Rows.write(node, self.state, self.wanted, self.costs, level)
        self.slack = 0
        self.values: list[Indices] = []

    def run(self, slot: Slot) -> Outcome:
        """Prove and propose in turn until the level is exceeded, or cannot be."""
        rows, level = self.rows, self.level
        if not self.is_possible:
            return Outcome(IMPOSSIBLE)
        if not len(rows.input) or (level is not None and rows.fixed > level):
            return Outcome(rows.fixed, is_attained=not len(rows.input))
        program = UnitProgram(rows, self.size, self.wanted, self.costs)
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
        exact = np.rint(safe * _DENOMINATOR).astype(np.int64)
        spent = np.zeros(len(self.costs), dtype=np.int64)
        np.add.at(spent, rows.input, rows.need * exact)
        over = np.maximum(spent - self.costs * _DENOMINATOR, 0)
        total = rows.fixed * _DENOMINATOR + int(spent.sum()) - int(over[rows.can_go].sum())
        values = []
        for number, domain in enumerate(self.domains):
            gains = np.zeros(len(self.costs), dtype=np.int64)
            np.add.at(gains, rows.input, exact * rows.member[:, number])
            best, cuts = self.table.best(domain, np.where(self.wanted, gains, -gains))
            values.append(best)
            total -= int(self.size[number]) * int(best.max() + gains[~self.wanted].sum())
            few = min(_COLUMNS_PER_TEAM, len(best))
            for place in np.argpartition(-best, few - 1)[:few]:
                if not self.table.is_empty(best[place : place + 1]):
                    unit = self.table.pattern(domain.vectors[place], cuts[place])
                    self.columns[number].append(unit)
        # Costs are integers. Where giving up was ruled out, only the level is exceeded.
        bound = -(-total // _DENOMINATOR)
        if self.level is None:
            return bound
        slack = self.level * _DENOMINATOR - total
        if not self.values or slack < self.slack:
            self.slack, self.values = slack, values
        whole = -(-(total - int(over[~rows.can_go].sum())) // _DENOMINATOR)
        return max(min(bound, self.level + 1), whole)

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
        return Outcome(proven, int(team), int(where), teams, active)

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
