"""A bound by a list of all units: a tree over what units do, each case closed by multipliers.

Two classes, one layer of units of integer weights, and an output that follows one of few rules
(:mod:`bdnn.checker.units`). Units of equal weight in the rule that are asked the same are a team. A
case asks teams to be on or off at some inputs. Let no network of the case cost more than a level,
and let an input that is right need ``r`` units of some teams S to have the value it asks for. With
multipliers y >= 0 of such rows, and ``e = 1`` where an input is given up at cost c,

    cost >= sum of r y (1 - e) + sum of c e - sum over teams of their size x the most that one
            unit can collect: the multipliers of its team at all inputs whose value it has.

That is taken over all units the case allows. A case is closed where this exceeds the level. A unit
that collects so little that the level would be exceeded with it is left out of the parts of a case.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bdnn.checker.bounds import Masses
from bdnn.checker.claims import Deadline, as_list, place, positive
from bdnn.checker.model import CheckedModel
from bdnn.checker.units import Rule, Units, all_sums, rules_of, weight_values, whole_inputs

_MOST_VECTORS, _MOST_INPUTS = 100_000, 2**16 - 1
# Weight vectors times inputs.
_MOST_PLACES = 10_000_000

#: An input, a set of teams (one bit each) and a multiplier.
Entry = tuple[int, int, int]


@dataclass(frozen=True)
class _Team:
    """Units that are asked the same, and the weight vectors that are left for them."""

    units: Units
    vectors: Sequence[int]
    on: tuple[int, ...] = ()
    off: tuple[int, ...] = ()


@dataclass
class _Task:
    """All that a tree is about: places of inputs in the order of every vector's sums."""

    places: list[array[int]]
    wanted: list[bool]
    costs: list[int]
    denominator: int
    level: int
    deadline: Deadline
    nodes: Iterator[Any] = field(default_factory=lambda: iter(()))


def units_bound(
    model: CheckedModel, masses: Masses, certificate: dict[str, Any], deadline: Deadline
) -> Fraction:
    """What a tree over units proves of the loss of all networks.

    Raises ValueError if it proves nothing.
    """
    if len(model.classes) != 2 or len(model.hidden) > 1 or len(model.layers[0].values) > 2:
        raise ValueError("the network has another shape")
    inputs, values = whole_inputs(model, masses), weight_values(model.layers[0].kind)
    n_vectors = (len(values) ** min(model.encoder.n_inputs, 64) + 1) // 2
    if n_vectors > _MOST_VECTORS or not 0 < len(inputs) <= _MOST_INPUTS:
        raise ValueError("there are too many units or inputs")
    if n_vectors * len(inputs) > _MOST_PLACES:
        raise ValueError("there are too many units")
    gains = masses.gains[1]
    order = sorted(range(len(inputs)), key=inputs.__getitem__)
    unit = masses.step * positive(certificate["rounding"])
    task = _Task(
        places=[_ranks(sums, deadline) for sums in all_sums([inputs[i] for i in order], values)],
        wanted=[gains[i] > 0 for i in order],
        costs=[abs(gains[i]) // unit for i in order],
        denominator=positive(certificate["denominator"]),
        level=positive(certificate["level"]) - 1,
        deadline=deadline,
    )
    rules = rules_of(model, sum(model.hidden) or 1)
    for proof in as_list(certificate["trees"]):
        weights, _ = proof["rule"]
        rule = Rule.read(proof["rule"])
        teams = tuple(
            _Team(tuple(j for j, w in enumerate(weights) if w == weight), range(len(task.places)))
            for weight in dict.fromkeys(weights)
        )
        task.nodes = iter(as_list(proof["tree"]))
        _close(task, rule, teams)
        if next(task.nodes, None) is not None:
            raise ValueError("a tree goes on after its end")
        rules.discard(rule)
    if rules:
        raise ValueError("a function of the units has no tree")
    # Both outputs are such functions, and want the opposite of each other.
    return (masses.irreducible + 2 * unit * (task.level + 1)) * masses.unit


def _ranks(sums: list[int], deadline: Deadline) -> array[int]:
    """Places of the inputs among the distinct sums."""
    deadline.check()
    rank = {value: place for place, value in enumerate(sorted(set(sums)))}
    return array("H", map(rank.__getitem__, sums))


def _close(task: _Task, rule: Rule, teams: tuple[_Team, ...]) -> None:
    """Go through a tree, and raise an error where a case is left open."""
    cases = [teams]
    while cases:
        teams = cases.pop()
        node = next(task.nodes, None)
        if isinstance(node, list):
            case = _Case(task, rule, teams, node)
            if not case.is_closed:
                raise ValueError("a case is left open")
            continue
        if not isinstance(node, dict):
            raise ValueError("a tree has no end")
        case = _Case(task, rule, teams, as_list(node["multipliers"]))
        number, where = place(node["team"]), place(node["input"])
        if number >= len(teams) or where >= len(task.costs):
            raise ValueError("there is no such team or input")
        left = case.left()
        others, divided = left[:number] + left[number + 1 :], left[number]
        parts = [
            (*others, *_divide(divided, where, n_on)) for n_on in range(len(divided.units) + 1)
        ]
        cases += parts[::-1]


def _divide(team: _Team, where: int, n_on: int) -> list[_Team]:
    """Let the first units of a team be on at an input and the others off."""
    on = replace(team, units=team.units[:n_on], on=(*team.on, where))
    off = replace(team, units=team.units[n_on:], off=(*team.off, where))
    return [part for part in (on, off) if part.units]


class _Case:
    """A case, and what multipliers prove of it."""

    def __init__(
        self, task: _Task, rule: Rule, teams: tuple[_Team, ...], entries: list[Any]
    ) -> None:
        self.task, self.teams = task, teams
        lost = [_lost(task, team) for team in teams]
        self.is_impossible = any(wrong is None for wrong in lost)
        if self.is_impossible:
            return
        ways = {True: rule.implicants, False: rule.implicates}
        served: list[list[frozenset[int]]] = []
        fixed = 0
        for i, wanted in enumerate(task.wanted):
            gone = {
                j
                for team, wrong in zip(teams, lost, strict=True)
                if wrong and i in wrong
                for j in team.units
            }
            served.append([frozenset(way) for way in ways[wanted] if gone.isdisjoint(way)])
            fixed += 0 if served[i] else task.costs[i]
        self.total, collected = self._rows(entries, served, fixed)
        self.values = [
            _values(task, team, gains) for team, gains in zip(teams, collected, strict=True)
        ]
        for team, values in zip(teams, self.values, strict=True):
            self.total -= len(team.units) * max(value for value in values if value is not None)

    def _rows(
        self, entries: list[Any], served: list[list[frozenset[int]]], fixed: int
    ) -> tuple[int, list[dict[int, int]]]:
        """What rows ask for, without what it costs to give up inputs, and what units collect."""
        task, teams = self.task, self.teams
        if len(entries) % 3:
            raise ValueError("multipliers are no list of triples")
        left = max(task.level - fixed, 0)
        spent: dict[int, int] = defaultdict(int)
        collected: list[dict[int, int]] = [defaultdict(int) for _ in teams]
        for i, mask, y in zip(*(map(place, entries[k::3]) for k in range(3)), strict=True):
            if i >= len(task.costs) or not 0 < mask < 1 << len(teams):
                raise ValueError("a multiplier is of no row")
            if not served[i]:
                continue
            members = [k for k in range(len(teams)) if mask >> k & 1]
            units = frozenset(j for k in members for j in teams[k].units)
            spent[i] += y * min(len(way & units) for way in served[i])
            for k in members:
                collected[k][i] += y
        total = fixed * task.denominator
        for i, value in spent.items():
            # An input that costs more than is left to spend cannot be given up.
            can_go = task.costs[i] <= left
            total += min(value, task.costs[i] * task.denominator) if can_go else value
        return total, collected

    @property
    def is_closed(self) -> bool:
        """Whether every network of the case costs more than the level."""
        return self.is_impossible or self.total > self.task.level * self.task.denominator

    def left(self) -> tuple[_Team, ...]:
        """Leave out the vectors of units that no network within the level has."""
        if self.is_impossible:
            return self.teams
        slack = self.task.level * self.task.denominator - self.total
        found = []
        for team, values in zip(self.teams, self.values, strict=True):
            least = max(value for value in values if value is not None) - slack
            kept = [
                vector
                for vector, value in zip(team.vectors, values, strict=True)
                if value is not None and value >= least
            ]
            found.append(replace(team, vectors=kept))
        return tuple(found)


def _range(ranks: array[int], team: _Team) -> Iterator[tuple[bool, int, int]]:
    """How units of a vector can be cut: which side is on, and where.

    Inputs up to ``low`` are on the lower side and those from ``high`` on on the upper one.
    """
    on, off = [ranks[i] for i in team.on], [ranks[i] for i in team.off]
    for is_upper, lower, upper in ((True, off, on), (False, on, off)):
        low, high = max(lower, default=-1), min(upper, default=len(ranks))
        if low < high:
            yield is_upper, low, high


def _lost(task: _Task, team: _Team) -> set[int] | None:
    """Inputs that no unit of a team serves any more, None if there is no unit at all."""
    pending = list(range(len(task.wanted)))
    is_empty = True
    for vector in team.vectors:
        task.deadline.check()
        ranks = task.places[vector]
        for is_upper, low, high in _range(ranks, team):
            is_empty = False
            # The side that an input has to be on: above the cut unless it is only below it.
            pending = [
                i
                for i in pending
                if (ranks[i] <= low if task.wanted[i] == is_upper else ranks[i] >= high)
            ]
        if not pending and not is_empty:
            break
    return None if is_empty else set(pending)


def _values(task: _Task, team: _Team, gains: dict[int, int]) -> list[int | None]:
    """The most that a unit of every vector collects, None where there is none."""
    signed = [(i, y if task.wanted[i] else -y) for i, y in gains.items()]
    base = sum(y for i, y in gains.items() if not task.wanted[i])
    found: list[int | None] = []
    for vector in team.vectors:
        task.deadline.check()
        ranks, best = task.places[vector], None
        for is_upper, low, high in _range(ranks, team):
            value = _best_cut(ranks, signed, low, high, is_upper=is_upper) + base
            best = value if best is None else max(best, value)
        found.append(best)
    return found


def _best_cut(
    ranks: array[int], gains: list[tuple[int, int]], low: int, high: int, *, is_upper: bool
) -> int:
    """The largest sum of gains on one side of a cut between two places."""
    certain = 0
    between: dict[int, int] = defaultdict(int)
    for i, gain in gains:
        rank = ranks[i]
        if low < rank < high:
            between[rank] += gain
        elif rank >= high if is_upper else rank <= low:
            certain += gain
    best = total = 0
    for rank in sorted(between, reverse=is_upper):
        total += between[rank]
        best = max(best, total)
    return certain + best
