"""Small problems for bounds, and what an argument proves of them in the end."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification

CROSS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])


def make(X, labels, hidden, weights="continuous", sample_weight=None, thresholds="neuron"):
    X, labels = np.asarray(X, dtype=float), np.asarray(labels)
    shape = Architecture.create(
        X.shape[1],
        max(2, int(labels.max()) + 1),
        hidden=hidden,
        weights=weights,
        thresholds=thresholds,
    )
    return classification(shape, X, labels, sample_weight)


def best(argument, problem, seconds=30.0, upper=math.inf):
    """The last bound, which must be the best; what is irreducible if there is none."""
    assert argument.applies(problem)
    found = [problem.irreducible, *argument.bounds(problem, Slot.of(seconds), upper)]
    values = [bound.value for bound in found]
    assert values == sorted(values)
    assert all(not bound.condition for bound in found)
    return found[-1]


@st.composite
def tiny(draw, most=7):
    rows = draw(st.integers(2, most))
    coordinate = st.integers(-2, 2)
    X = draw(st.lists(st.tuples(coordinate, coordinate), min_size=rows, max_size=rows))
    labels = draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    # A stretch that no binary fraction represents, so that inputs are rounded like scaled ones.
    stretch = draw(st.sampled_from([1.0, 0.1, 1 / 3]))
    return np.array(X, dtype=float) * stretch, labels
