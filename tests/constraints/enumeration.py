"""All ternary networks of a tiny architecture as arrays, to judge constraints by plain numpy.

Shares no code with models, rules or solvers. Thresholds lie half-way between integers, where the
model puts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True)
class Enumerated:
    """One line per network: weights, thresholds, outputs and scores of all inputs, loss."""

    W1: np.ndarray
    t1: np.ndarray
    W2: np.ndarray
    t2: np.ndarray
    hidden: np.ndarray
    outputs: np.ndarray
    scores: np.ndarray
    loss: np.ndarray


def all_networks(problem, *, every_threshold=False) -> Enumerated:
    """All networks with one hidden layer, up to thresholds that switch the same inputs.

    With ``every_threshold`` those count as different; then there are many more.
    """
    X, mass = problem.inputs, problem.loss.label_weight
    m, units = len(X), problem.architecture.hidden[0]
    first = _units(X, every_threshold)
    top_inputs = np.array(list(product([0.0, 1.0], repeat=units)))
    top = _units(top_inputs, every_threshold)
    hidden = list(product(range(len(first)), repeat=units))
    outputs = list(product(range(len(top)), repeat=2))
    W1 = np.array([[first[u][0] for u in us] for us in hidden])
    t1 = np.array([[first[u][1] for u in us] for us in hidden])
    W2 = np.array([[top[u][0] for u in us] for us in outputs])
    t2 = np.array([[top[u][1] for u in us] for us in outputs])
    on = np.einsum("nuf,mf->nmu", W1, X) >= t1[:, None, :]
    a, b = (grid.ravel() for grid in np.mgrid[: len(hidden), : len(outputs)])
    scores = np.empty((len(a), m, 2), dtype=np.float32)
    for line in range(m):
        sums = np.einsum("nu,pou->npo", on[:, line].astype(float), W2) - t2
        scores[:, line] = sums.reshape(-1, 2)
    z = scores >= 0
    cost = np.where(z, mass.sum(axis=1, keepdims=True) - mass, mass)
    return Enumerated(W1[a], t1[a], W2[b], t2[b], on[a], z, scores, cost.sum(axis=(1, 2)))


def _units(inputs, every_threshold):
    """Weights and thresholds of one unit."""
    found = {}
    reach = int(np.abs(inputs).sum(axis=1).max())
    for w in product([-1.0, 0.0, 1.0], repeat=inputs.shape[1]):
        sums = inputs @ np.array(w)
        for level in range(-reach, reach + 2):
            t = level - 0.5
            key = (w, t) if every_threshold else (w, tuple(sums >= t))
            found.setdefault(key, (w, t))
    return list(found.values())
