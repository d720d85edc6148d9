"""Lower bounds for narrow networks with integer weights, from a list of all units.

As in :mod:`bdnn.training.patterns` both outputs of two classes cost the same and one may be the
opposite of the other, so the smallest loss is the conflict bound and twice the least cost of one
output. Units may be turned round, because weight sets hold the negatives of their weights, so the
output is one of few monotone rules; a unit of weight 0 is a constant one. Shared and zero
thresholds only leave out networks, and the bound holds for them as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Event
from typing import NamedTuple

import numpy as np

from bdnn.activation import BoolArray
from bdnn.architecture import Architecture
from bdnn.parallel import run_tasks
from bdnn.problem import TrainingProblem
from bdnn.search.served_units import KERNELS
from bdnn.search.unit_table import UnitTable, is_listable
from bdnn.training.pattern_master import Rule, output_rules
from bdnn.training.unit_elimination import is_error_certain
from bdnn.training.unit_search import UnitSearch

# Five units have dozens of rules, unless outputs of weights -1, 0 and 1 only count units.
_MOST_UNITS, _MOST_COUNTED = 4, 5
# Beyond four units that have many samples branching gets nowhere, and this comes first.
_ELIMINATION_SHARE = 0.9
# Sums of costs beyond which products with multipliers might not fit into 64 bits.
_LARGEST_COST = 2**31


class UnitBound(NamedTuple):
    """A lower bound, nodes it took, and whether it is attained with a threshold per unit."""

    bound: float
    n_nodes: int
    is_attained: bool


def most_listed(architecture: Architecture) -> int:
    """Give the largest number of units whose bound is worth a try."""
    outputs = architecture.weights[-1]
    return _MOST_COUNTED if outputs.integer and outputs.limit == 1 else _MOST_UNITS


def lists_units(problem: TrainingProblem) -> bool:
    """Tell whether all units of the first layer can be listed, and costs are integers."""
    kind, (n_inputs, n_features) = problem.architecture.weights[0], problem.inputs.shape
    is_integral = problem.is_integral and problem.mass.sum() < _LARGEST_COST
    return bool(is_integral and is_listable(kind, n_inputs, n_features))


def unit_bound(
    problem: TrainingProblem,
    *,
    deadline: float,
    upper: float = math.inf,
    on_bound: Callable[[float], bool | None] | None = None,
    threads: int = 1,
) -> UnitBound:
    """Bound the loss from below; parameters as in :func:`bdnn.training.patterns.pattern_bound`.

    Parameters
    ----------
    problem : TrainingProblem
        For which :func:`lists_units` holds.
    deadline : float
        Moment of ``time.perf_counter``.
    upper : float
    on_bound : callable, optional
    threads : int
        Rules that are refuted at a time.
    """
    gains = problem.cost_off[:, 1] - problem.cost_on[:, 1]
    rows = np.flatnonzero(gains)
    base = problem.conflict_bound
    if not len(rows):
        return UnitBound(base, 0, True)
    weight = np.abs(gains[rows]).astype(np.int64)
    unit = int(np.gcd.reduce(weight))
    kind = problem.architecture.weights[0]
    table = UnitTable(problem.inputs[rows], kind, deadline=deadline)
    if not table.is_complete:
        return UnitBound(base, 0, False)
    wanted, costs, rules = gains[rows] > 0, weight // unit, output_rules(problem.architecture)

    def raised(level: int) -> bool:
        bound = base + 2.0 * unit * level
        is_told = on_bound is not None and bool(on_bound(bound))
        return is_told or problem.is_met(upper, bound)

    first = 0
    n_units = sum(problem.architecture.hidden)
    if n_units > _MOST_UNITS and _is_error_certain(
        table, wanted, n_units, rules, deadline, threads
    ):
        first = int(costs.min())
        if raised(first):
            return UnitBound(base + 2.0 * unit * first, 0, False)
    search = UnitSearch(table, wanted, costs, rules)
    search.run(deadline, raised)
    level = max(first, search.bound)
    return UnitBound(base + 2.0 * unit * level, search.n_nodes, search.is_attained)


def _is_error_certain(
    table: UnitTable,
    wanted: BoolArray,
    n_units: int,
    rules: list[Rule],
    deadline: float,
    threads: int,
) -> bool:
    """Tell whether a first error is proven, for more units than branching copes with."""
    began = time.perf_counter()
    ends = began + _ELIMINATION_SHARE * (deadline - began)
    has_ended = Event()

    def is_over() -> bool:
        return has_ended.is_set() or time.perf_counter() > ends

    def is_refuted(rule: Rule) -> bool:
        certain = not is_over() and is_error_certain(
            table, wanted, n_units, rule.threshold, is_over
        )
        if not certain:
            has_ended.set()
        return certain

    # The rules of half of the units are the hardest.
    extreme_first = sorted(rules, key=lambda rule: -abs(2 * rule.threshold - n_units - 1))
    try:
        return KERNELS.wait(is_over) and all(run_tasks(is_refuted, extreme_first, n_jobs=threads))
    finally:
        has_ended.set()  # for other threads, after Ctrl-C
