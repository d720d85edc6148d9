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
from typing import NamedTuple

import numpy as np

from bdnn.architecture import Architecture
from bdnn.problem import TrainingProblem
from bdnn.search.served_units import KERNELS
from bdnn.search.unit_table import UnitTable, is_listable
from bdnn.training.pattern_master import output_rules
from bdnn.training.unit_elimination import is_error_certain
from bdnn.training.unit_search import UnitSearch

# Five units have dozens of rules, unless outputs of weights -1, 0 and 1 only count units.
_MOST_UNITS, _MOST_COUNTED = 4, 5
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
    rules = output_rules(problem.architecture)
    n_units = sum(problem.architecture.hidden)
    if n_units > _MOST_UNITS:
        # Beyond four units branching gets nowhere, and a first error is all that is proven.
        errs = KERNELS.wait(lambda: time.perf_counter() > deadline) and all(
            is_error_certain(table, gains[rows] > 0, n_units, rule.threshold, deadline)
            for rule in sorted(rules, key=lambda rule: -abs(2 * rule.threshold - n_units - 1))
        )
        return UnitBound(base + 2.0 * float(weight.min()) * errs, 0, False)
    search = UnitSearch(
        table,
        gains[rows] > 0,
        weight // unit,
        rules,
    )

    def raised(level: int) -> bool:
        bound = base + 2.0 * unit * level
        is_told = on_bound is not None and bool(on_bound(bound))
        return is_told or problem.is_met(upper, bound)

    search.run(deadline, raised)
    return UnitBound(base + 2.0 * unit * search.bound, search.n_nodes, search.is_attained)
