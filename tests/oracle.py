"""The smallest loss of tiny networks by enumeration, sharing no code with models or solvers.

A unit is nothing but the set of inputs it switches on. For integer weights all weights and
thresholds are tried; for continuous ones all subsets of the inputs, by a linear program each.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
from scipy.optimize import linprog

Pattern = tuple[bool, ...]


def smallest_loss(problem, clusters=None) -> float:
    """Smallest loss of any network of the problem's architecture.

    With ``clusters``, of any whose first layer is the same on all inputs of a cluster.
    """
    shape = problem.architecture
    return _search(problem, tuple(map(tuple, problem.inputs)), 0, shape, clusters)


def _search(problem, inputs, layer, shape, clusters=None):
    groups = _patterns(
        inputs, shape.weights[layer].name, shape.thresholds, shape.activation_of(layer)
    )
    if clusters is not None:
        groups = [[on for on in patterns if _is_uncut(on, clusters)] for patterns in groups]
    if layer == shape.n_layers - 1:
        return min(_best_outputs(problem, patterns) for patterns in groups if patterns)
    best = np.inf
    for patterns in groups:
        for units in combinations_with_replacement(sorted(patterns), shape.hidden[layer]):
            values = tuple(map(tuple, np.array(units, dtype=float).T))
            best = min(best, _search(problem, values, layer + 1, shape))
            if best == problem.floor:
                return best
    return best


def _is_uncut(on, clusters):
    return len(set(zip(clusters, on, strict=True))) == len(set(clusters))


def _best_outputs(problem, patterns):
    on = np.array(sorted(patterns))
    return sum(
        np.where(on, problem.loss.cost_on[:, label], problem.loss.cost_off[:, label])
        .sum(axis=1)
        .min()
        for label in range(problem.loss.label_weight.shape[1])
    )


def _patterns(inputs, weights, thresholds, rule):
    """The values of a unit on inputs among which many may be equal."""
    distinct = tuple(sorted(set(inputs)))
    place = [distinct.index(row) for row in inputs]
    if rule.is_step:
        found = dichotomies(distinct, weights, thresholds)
    else:
        found = gradings(distinct, weights, thresholds, rule)
    return tuple(frozenset(tuple(p[i] for i in place) for p in group) for group in found)


@cache
def gradings(inputs, weights: str, thresholds: str, rule) -> tuple[frozenset[tuple[int, ...]], ...]:
    """Values that one unit of several levels can take; one group per thresholds units must share.

    Integer weights: all weights, and thresholds at all sums and beyond. Continuous ones, with own
    thresholds only: all assignments of values, by a linear program each.
    """
    X = np.array(inputs, dtype=float)
    n, values = len(rule.values) - 1, np.array(rule.values)
    if weights == "continuous":
        assert thresholds == "neuron"
        assert rule.thresholds is None
        levels = product(range(n + 1), repeat=len(X))
        return (frozenset(tuple(values[list(on)]) for on in levels if _is_graded(X, on, n)),)
    sums = _all_sums(X, weights)
    if thresholds == "zero":
        limits = [rule.offsets]
    elif rule.thresholds is not None:
        places = np.unique(sums)[:, None] - rule.offsets
        places = np.append(places, sums.max() + 1 - rule.offsets[0])
        # A shift between two places acts like the larger of them.
        limits = [shift + rule.offsets for shift in np.unique(places)]
    else:
        levels = np.append(np.unique(sums), sums.max() + 1)
        limits = [np.array(t) for t in combinations_with_replacement(levels, n)]
    groups = [
        frozenset(map(tuple, values[(sums[..., None] >= limit).sum(axis=-1)])) for limit in limits
    ]
    return tuple(groups) if thresholds == "layer" else (frozenset().union(*groups),)


def _is_graded(X, levels, n):
    """Whether w.x is below t_l at all inputs of lower levels and at least t_l at the others."""
    rows, right = [], []
    for limit in range(n):
        unit = np.eye(n)[limit]
        for x, level in zip(X, levels, strict=True):
            side = -1.0 if level > limit else 1.0
            rows.append(np.concatenate([side * x, -side * unit]))
            right.append(0.0 if level > limit else -1.0)
    for one, two in pairwise(np.eye(n)):
        rows.append(np.concatenate([np.zeros(X.shape[1]), one - two]))
        right.append(0.0)
    bound = [(None, None)] * (X.shape[1] + n)
    answer = linprog(np.zeros(len(bound)), A_ub=np.array(rows), b_ub=right, bounds=bound)
    return answer.status == 0


def _all_sums(X, weights):
    limit = {"ternary": 1, "binary": 1}.get(weights) or int(weights[4:])
    values = [w for w in range(-limit, limit + 1) if w or weights != "binary"]
    return np.array([X @ np.array(w) for w in product(values, repeat=X.shape[1])])


@cache
def dichotomies(inputs, weights: str, thresholds: str) -> tuple[frozenset[Pattern], ...]:
    """Sets of inputs one unit can switch on; one group per value that units must share."""
    X = np.array(inputs, dtype=float)
    if weights == "continuous":
        return _separable(X, thresholds)
    sums = _all_sums(X, weights)
    if thresholds == "zero":
        return (frozenset(map(tuple, sums >= 0)),)
    levels = np.unique(sums)
    levels = np.concatenate([levels, levels[-1:] + 1])
    groups = [frozenset(map(tuple, sums >= level)) for level in levels]
    return tuple(groups) if thresholds == "layer" else (frozenset().union(*groups),)


def _separable(X, thresholds):
    levels = {"zero": (0.0,), "layer": (-1.0, 0.0, 1.0), "neuron": (None,)}[thresholds]
    subsets = [np.array(on) for on in product([False, True], repeat=len(X))]
    return tuple(
        frozenset(tuple(on.tolist()) for on in subsets if _is_separable(X, on, level))
        for level in levels
    )


def _is_separable(X, on, level):
    """Whether w.x >= t exactly where on; a shared threshold matters only through its sign."""
    side = np.where(on, -1.0, 1.0)
    rows = np.column_stack([side[:, None] * X, -side])
    right = np.where(on, 0.0, -1.0)
    bound = [(None, None)] * X.shape[1]
    if level is None:
        bound.append((None, None))
    else:
        bound.append({-1.0: (None, -1e-3), 0.0: (0, 0), 1.0: (1e-3, None)}[level])
    answer = linprog(np.zeros(len(bound)), A_ub=rows, b_ub=right, bounds=bound)
    return answer.status == 0


def smallest_regression_loss(problem) -> float:
    """Smallest loss of any network of one hidden layer with integer weights everywhere."""
    shape = problem.architecture
    inputs = tuple(map(tuple, problem.inputs))
    limit = shape.weights[-1].limit
    values = [w for w in range(-limit, limit + 1) if w or shape.weights[-1].zero]
    best = np.inf
    rule = shape.activation_of(0)
    for patterns in _patterns(inputs, shape.weights[0].name, shape.thresholds, rule):
        for units in combinations_with_replacement(sorted(patterns), shape.hidden[0]):
            on = np.array(units, dtype=float)
            losses = (
                _output_losses(problem, np.array(weights) @ on, np.array(weights))
                for weights in product(values, repeat=len(on))
            )
            # Outputs are independent of each other but for their biases' kind.
            best = min(best, problem.loss.offset + np.min(list(losses), axis=0).sum())
    return float(best)


def _output_losses(problem, sums, weights):
    """Loss of every output with the best bias for given sums."""
    losses = []
    for y, price in zip(problem.loss.targets.T, problem.loss.price, strict=True):
        left = y - sums[problem.loss.group]
        ridge = problem.loss.ridge * price * float(weights @ weights)
        candidates = [0.0] if problem.architecture.thresholds == "zero" else [*left]
        if problem.loss.kind == "absolute":
            cost = min(problem.loss.weight @ np.abs(left - c) for c in candidates)
        else:
            free = problem.architecture.thresholds != "zero"
            centre = np.average(left, weights=problem.loss.weight) if free else 0.0
            cost = problem.loss.weight @ (left - centre) ** 2
        losses.append(price * cost + ridge)
    return losses
