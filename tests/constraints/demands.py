"""Hypothesis strategies: constraints that a given network keeps, so that they are feasible."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from bdnn.constraints import (
    DemographicParity,
    FixedWeight,
    Forbid,
    LinearRows,
    Monotone,
    MustClassify,
    Regularizer,
    Sparsity,
)
from tests.constraints.asking import constrain


def _sparsity(network):
    used = [W != 0 for W in network.weights]
    return {
        "per_unit": [int(layer.sum(axis=1).max()) for layer in used],
        "per_layer": [int(layer.sum()) for layer in used],
        "total": sum(int(layer.sum()) for layer in used),
        "units": sum(int(layer.any(axis=0).sum()) for layer in used[1:]),
        "features": int(used[0].any(axis=0).sum()),
    }


def _constraints(problem, network):
    """All kinds of constraints; those that the network breaks are left out by the caller."""
    W, last = network.weights[0], network.architecture.n_layers - 1
    found = [Forbid(j) for j in range(W.shape[1]) if network.architecture.weights[0].zero]
    found += [FixedWeight(0, 0, 0, W[0, 0]), FixedWeight(last, 0, 0, network.weights[last][0, 0])]
    if problem.architecture.n_outputs > 1:
        labels = range(problem.architecture.n_outputs)
        found += [Monotone(0, sign, label) for sign in (1, -1) for label in labels]
        if len(problem.inputs) > 1:
            group = np.arange(len(problem.inputs)) % 2
            found += [DemographicParity(group, eps, label=0) for eps in (0.0, 1.0)]
    found += [MustClassify([i]) for i in range(len(problem.inputs))]
    total = sum(layer.sum() for layer in network.weights) + network.thresholds[0].sum()
    found.append(
        LinearRows(lambda v: sum(W.sum() for W in v.weights) + v.thresholds[0].sum() <= total)
    )
    return found


@st.composite
def constrained(draw, problems, *, penalties=True, own=True):
    """A constrained problem and a network that keeps everything."""
    problem, network = draw(problems)
    limits = _sparsity(network)
    chosen = draw(st.sets(st.sampled_from(sorted(limits)), max_size=3))
    price = draw(st.sampled_from([0.0, 0.25])) if penalties else 0.0
    sparsity = Sparsity(price=price, **{name: limits[name] for name in chosen})
    regularizer = None
    if penalties and draw(st.booleans()):
        l1 = draw(st.sampled_from([0.0, 0.5]))
        regularizer = Regularizer(
            l1=l1,
            biases=l1 > 0 and draw(st.booleans()),
            saturated_margin=draw(st.sampled_from([0.0, 0.25])),
            max_margin=draw(st.sampled_from([0.0, 2.0])),
        )
    kept = [
        constraint
        for constraint in _constraints(problem, network)
        if (own or not isinstance(constraint, LinearRows))
        and all(rule.is_feasible(network, problem) for rule in _rules(problem, constraint))
    ]
    constraints = draw(st.lists(st.sampled_from(kept), max_size=3, unique=True)) if kept else []
    options = {"sparsity": sparsity, "regularizer": regularizer, "constraints": constraints}
    return constrain(problem, **options), network


def _rules(problem, constraint):
    return constrain(problem, constraints=[constraint]).terms
