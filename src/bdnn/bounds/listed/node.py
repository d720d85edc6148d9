"""Nodes of the search over units, and what inputs ask of them.

Units that are interchangeable form a team. What is decided at an input leaves rows: so many units
of these teams must still have the value that the input needs, unless the input is given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.listed.table import Indices, UnitTable
from bdnn.bounds.rules import Rule, Units
from bdnn.network.activation import BoolArray, FloatArray

#: Inputs, sets of teams (one bit each) and multipliers in turn.
Multipliers = tuple[int, ...]

#: Cost of what no network can do.
IMPOSSIBLE = 2**40


@dataclass(frozen=True, eq=False)
class Task:
    """What one output should be, for which units."""

    table: UnitTable  # all units there are
    wanted: BoolArray  # whether the output should be 1
    costs: Indices  # what giving up an input costs


@dataclass(frozen=True)
class Team:
    """Interchangeable units: equal weights in the rule, equal values asked at some inputs."""

    units: Units
    on: tuple[int, ...] = ()  # inputs where all of them are on, and off
    off: tuple[int, ...] = ()
    vectors: Indices | None = None  # weight vectors that are left for them, None for all
    columns: tuple[BoolArray, ...] = ()  # units worth beginning with


@dataclass(frozen=True)
class Node:
    """Networks of one rule whose units have given values at some inputs.

    ``level`` is the cost up to which ``vectors`` of the teams leave nothing out, ``active`` tells
    which inputs mattered so far, and a search knows the node by its ``number``.
    """

    rule: Rule
    teams: tuple[Team, ...]
    active: BoolArray
    level: int = -1
    number: int = 0


@dataclass(frozen=True)
class Outcome:
    """What is known of a node: a bound, and where to branch if that is not above the level.

    Without a bound above the level and without a place to branch, the node has a network of a cost
    up to the level, or time ran out. The multipliers are those that prove the bound, or that tell
    which vectors the teams keep.
    """

    bound: int
    team: int = -1
    input: int = -1
    teams: tuple[Team, ...] = ()
    active: BoolArray | None = None
    is_attained: bool = False
    multipliers: Multipliers = ()


@dataclass(frozen=True)
class Rows:
    """What inputs still need."""

    input: Indices  # so many units must have the value that the input needs
    need: Indices
    member: Indices  # teams these units may belong to
    most: FloatArray  # largest multiplier that can pay
    can_go: BoolArray  # whether the input can be given up
    fixed: int  # cost of inputs that cannot be served any more

    @classmethod
    def write(cls, task: Task, node: Node, state: NDArray[np.int8], level: int | None) -> Rows:
        """Write the rows of a node for networks of a cost up to a level, None for any.

        The state is 1 and -1 where a team is on and off at an input, 0 where that is open.
        """
        costs, units = task.costs, tuple(team.units for team in node.teams)
        kinds, group = np.unique(np.column_stack([task.wanted, state]), axis=0, return_inverse=True)
        fixed = 0
        inputs, needs = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        members = [np.zeros((0, len(units)), dtype=np.int64)]
        for number, (value, *values) in enumerate(kinds.tolist()):
            which = np.flatnonzero(group.reshape(-1) == number)
            rows = required(node.rule, units, tuple(values), bool(value))
            if rows is None:
                fixed += int(costs[which].sum())
                continue
            for teams, need in rows:
                line = np.isin(np.arange(len(units)), teams).astype(np.int64)
                inputs.append(which)
                needs.append(np.full(len(which), need))
                members.append(np.tile(line, (len(which), 1)))
        where, needed = np.concatenate(inputs), np.concatenate(needs)
        # An input that costs more than is left to spend cannot be given up.
        left = IMPOSSIBLE if level is None else max(level - fixed, 0)
        can_go = costs <= left
        most = np.where(can_go[where], costs[where] / needed, 2.0 * (1 + left))
        return cls(where, needed, np.concatenate(members), most, can_go, fixed)


@cache
def required(
    rule: Rule, units: tuple[Units, ...], state: tuple[int, ...], wanted: bool
) -> tuple[tuple[Units, int], ...] | None:
    """How many units of which teams an input still needs; None if it cannot be served.

    The state is 1 and -1 for teams of ``units`` that are on and off at the input, 0 for others. No
    row (teams, number) follows from the others.
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
