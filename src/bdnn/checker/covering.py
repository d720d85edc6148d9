"""What a choice of 0 and 1 costs at least: a tree of cases, each closed by multipliers of rows.

There are variables x in {0, 1} of costs c >= 0, and rows that ask for at least one literal, which
is x or 1 - x. For any multipliers y >= 0 of the rows the cost is at least

    sum_k y_k (1 - sum of the literals of row k) + c.x,

and the least value of that over all x in [0, 1] is a sum over the variables. A tree divides the
cases by the values of variables, and what it proves is the least that any of its leaves proves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from bdnn.checker.claims import Deadline

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
