"""A bound by conflicts: sets of inputs that no half-space tells apart, and a tree that counts them.

A conflict is two sets of inputs whose convex hulls share a point, so that no unit is on at one of
them and off at the other. That point is found again, in integers. An output is a threshold function
of the units of one hidden layer, or one unit itself. Units may be turned round, and be constant, so
that the function can be taken as a monotone one of all units. An input where it is right needs

    one unit of every implicate on     where the output should be on,
    one unit of every implicant off    where it should be off.

With ``e = 1`` where an input is given up, and ``r = 1`` where it needs a unit to be what the output
should be, these are rows of a choice of 0 and 1:

    e + sum of r over the units of a set >= 1,     sum of 1 - r over a conflict >= 1 for every unit.

An input whose set is one unit has ``r = 1 - e`` there.

What a choice of 0 and 1 costs at least: a tree of cases, each closed by multipliers of rows.

There are variables x in {0, 1} of costs c >= 0, and rows that ask for at least one literal, which
is x or 1 - x. For any multipliers y >= 0 of the rows the cost is at least

    sum_k y_k (1 - sum of the literals of row k) + c.x,

and the least value of that over all x in [0, 1] is a sum over the variables. A tree divides the
cases by the values of variables, and what it proves is the least that any of its leaves proves.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from bdnn.checker.bounds import Masses
from bdnn.checker.claims import Deadline, as_list, place, positive
from bdnn.checker.model import CheckedModel
from bdnn.checker.units import Rule, rules_of

#: Places of variables, ``~place`` for one minus the variable.
Row = Sequence[int]


def tree_bound(
    # Nodes, every one before those below it: the variable that a node divides, which is 0 in the
    # first part and 1 in the second, or a list of rows and their multipliers in turn.
    tree: list[Any],
    denominator: int,  # of all multipliers
    # Cost of a variable and literals of a row; they raise an error for those that there are not.
    cost: Callable[[int], int],
    row: Callable[[int], Row],
    deadline: Deadline,
) -> int:
    """What a tree proves of integer costs.

    Raises ValueError if it is no tree.
    """
    proven: int | None = None
    values: dict[int, int] = {}
    # What comes after the node at hand: variables still to be 1, and those to be forgotten.
    waiting: list[tuple[int, bool]] = []
    is_open = True
    for node in tree:
        if not is_open:
            raise ValueError("a tree goes on after its end")
        if type(node) is int:
            cost(node)
            if node in values:
                raise ValueError("a variable is divided twice")
            values[node] = 0
            waiting.append((node, False))
            continue
        found = _leaf(node, denominator, values, cost, row, deadline)
        proven = found if proven is None else min(proven, found)
        while waiting and waiting[-1][1]:
            del values[waiting.pop()[0]]
        if waiting:
            variable, _ = waiting.pop()
            values[variable] = 1
            waiting.append((variable, True))
        else:
            is_open = False
    if proven is None or is_open:
        raise ValueError("a tree has no end")
    return max(0, proven)


def _leaf(
    entries: Any,
    denominator: int,
    values: dict[int, int],
    cost: Callable[[int], int],
    row: Callable[[int], Row],
    deadline: Deadline,
) -> int:
    if not isinstance(entries, list) or len(entries) % 2:
        raise ValueError("a leaf is no list of rows and multipliers")
    total = denominator * sum(cost(variable) for variable, value in values.items() if value)
    slope: dict[int, int] = defaultdict(int)
    for number, multiplier in zip(entries[::2], entries[1::2], strict=True):
        if type(number) is not int or type(multiplier) is not int or multiplier < 0:
            raise ValueError("a multiplier is no number from 0")
        deadline.check()
        total += multiplier
        for literal in row(number):
            variable = literal if literal >= 0 else ~literal
            sign = 1 if literal >= 0 else -1
            total -= multiplier if literal < 0 else 0
            if variable in values:
                total -= multiplier * sign * values[variable]
            else:
                slope[variable] -= multiplier * sign
    total += sum(min(0, cost(v) * denominator + change) for v, change in slope.items())
    return -(-total // denominator)


_MOST_UNITS = 3
# Points in more dimensions take too long.
_MOST_FEATURES = 200

Input = tuple[float, ...]
Conflict = tuple[list[int], list[int]]


def conflict_bound(
    model: CheckedModel, masses: Masses, certificate: dict[str, Any], deadline: Deadline
) -> Fraction:
    """What conflicts and trees prove of the loss of all networks.

    Raises ValueError if they are none.
    """
    n_units, layout = _n_units(model), struct.Struct(f"<{model.encoder.n_inputs}d")
    points = sorted((layout.unpack(point), i) for i, point in enumerate(masses.points))
    conflicts = [_conflict(pair, points) for pair in as_list(certificate["conflicts"])]
    for sides in conflicts:
        one, other = ([points[i][0] for i in side] for side in sides)
        if not hulls_meet(one, other, deadline):
            raise ValueError("two hulls do not meet")
    columns = [[column[i] for _, i in points] for column in masses.gains]
    unit = masses.step * positive(certificate["rounding"])
    denominator, rules = positive(certificate["denominator"]), rules_of(model, n_units)
    levels = [dict.fromkeys(rules, 0) for _ in columns]
    for proof in as_list(certificate["trees"]):
        label, rule = place(proof["output"]), Rule.read(proof["rule"])
        if label >= len(columns) or rule not in rules:
            raise ValueError("a tree is about no output or function")
        program = _Program(rule, n_units, columns[label], unit, conflicts)
        levels[label][rule] = tree_bound(
            as_list(proof["tree"]), denominator, program.cost, program.row, deadline
        )
    proven: dict[tuple[int, ...], int] = {}
    for column, level in zip(columns, levels, strict=True):
        # The opposite of a threshold function is one, and costs the same.
        for twin in (tuple(column), tuple(-gain for gain in column)):
            proven[twin] = max(proven.get(twin, 0), min(level.values()))
    mistakes = sum(proven[tuple(column)] for column in columns)
    return (masses.irreducible + unit * mistakes) * masses.unit


class _Program:
    """Costs and rows of one output that is one function of units."""

    def __init__(
        self, rule: Rule, n_units: int, gains: list[int], unit: int, conflicts: list[Conflict]
    ) -> None:
        self._n_units, self._gains, self._unit, self._conflicts = n_units, gains, unit, conflicts
        self._sets = {True: rule.implicates, False: rule.implicants}
        self._n_sets = max(map(len, self._sets.values()))

    def cost(self, variable: int) -> int:
        """Cost of giving up an input; needs of units come after these and cost nothing."""
        n_inputs = len(self._gains)
        if not 0 <= variable < n_inputs * (1 + self._n_units):
            raise ValueError("there is no such variable")
        return abs(self._gains[variable]) // self._unit if variable < n_inputs else 0

    def row(self, number: int) -> Row:
        """Conflicts of every unit, and then sets of every input."""
        first = len(self._conflicts) * self._n_units
        if 0 <= number < first:
            sides, unit = self._conflicts[number // self._n_units], number % self._n_units
            wanted = [{self._gains[i] > 0 for i in side} for side in sides]
            if wanted not in ([{True}, {False}], [{False}, {True}]):
                raise ValueError("a conflict asks for something else")
            return [~self._need(i, unit) for side in sides for i in side]
        i, which = divmod(number - first, self._n_sets)
        if not 0 <= i < len(self._gains) or which >= len(self._sets[self._gains[i] > 0]):
            raise ValueError("there is no such row")
        return [i, *(self._need(i, unit) for unit in self._sets[self._gains[i] > 0][which])]

    def _need(self, i: int, unit: int) -> int:
        """The literal that is 1 where an input needs a unit."""
        if (unit,) in self._sets[self._gains[i] > 0]:
            return ~i
        return len(self._gains) * (1 + unit) + i


def hulls_meet(one: Sequence[Input], other: Sequence[Input], deadline: Deadline) -> bool:
    """Tell whether some weights, all of them above 0, make the same point of both sets.

    Sets of which a part would do are not told.
    """
    columns = [[Fraction(1), *map(Fraction, x)] for x in one]
    columns += [[Fraction(-1), *(-Fraction(v) for v in x)] for x in other]
    rows = [_whole(row) for row in zip(*columns, strict=True)]
    weights = _null_vector(rows, deadline)
    return (
        weights is not None
        and (min(weights) > 0 or max(weights) < 0)
        and all(sum(map(mul, weights, row)) == 0 for row in rows)
    )


def _whole(row: Sequence[Fraction]) -> list[int]:
    """The row times a power of two; doubles have no other denominators."""
    below = max(value.denominator for value in row)
    return [int(value * below) for value in row]


def _null_vector(rows: list[list[int]], deadline: Deadline) -> list[int] | None:
    """Integers that are orthogonal to all rows, None unless they are unique up to a factor.

    Elimination without fractions: every division has no remainder.
    """
    rows, n_columns = [list(row) for row in rows], len(rows[0])
    pivots: list[int] = []
    free: list[int] = []
    before = 1
    for column in range(n_columns):
        rank = len(pivots)
        where = next((k for k in range(rank, len(rows)) if rows[k][column]), None)
        if where is None:
            free.append(column)
            continue
        rows[rank], rows[where] = rows[where], rows[rank]
        top = rows[rank]
        pivot = top[column]
        for k in range(rank + 1, len(rows)):
            deadline.check()
            factor = rows[k][column]
            rows[k] = [
                (pivot * a - factor * b) // before for a, b in zip(rows[k], top, strict=True)
            ]
        before = pivot
        pivots.append(column)
    if len(free) != 1:
        return None
    found = [0] * n_columns
    found[free[0]] = before
    for row, column in zip(rows[len(pivots) - 1 :: -1], reversed(pivots), strict=True):
        found[column] = -sum(map(mul, row[column + 1 :], found[column + 1 :])) // row[column]
    return found


def _conflict(pair: Any, points: Sequence[Any]) -> Conflict:
    one, other = ([place(i) for i in as_list(side)] for side in as_list(pair))
    members = [*one, *other]
    n_members = len(set(members))
    if not (one and other and n_members == len(members) and max(members) < len(points)):
        raise ValueError("a conflict is no two sets of inputs")
    return one, other


def _n_units(model: CheckedModel) -> int:
    """Units that every output is a threshold function of."""
    if model.encoder.n_inputs > _MOST_FEATURES:
        raise ValueError(f"more than {_MOST_FEATURES} features")
    if not model.hidden:
        return 1
    is_plain = len(model.layers[0].values) == 2
    if is_plain and (
        model.hidden[0] == 1 or (len(model.hidden) == 1 and model.hidden[0] <= _MOST_UNITS)
    ):
        return model.hidden[0]
    raise ValueError("outputs are other functions than those of a few units")
