"""Figures of a learnt network, told block by block, against those of the whole problem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bdnn.encoding import Column, Encoder, Inputs
from bdnn.estimators import learning
from bdnn.estimators.samples import LabelledSamples
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification


@pytest.fixture
def table():
    """Few distinct rows with gaps, labels that disagree, and weights of which some are 0."""
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=(90, 3)).astype(float)
    codes[rng.random(90) < 0.1, 1] = np.nan
    weight = rng.choice([0.0, 1.0, 0.25], size=90)
    samples = LabelledSamples.create(
        codes, rng.integers(3, size=90), np.arange(3), weight, fewest_classes=2
    )
    columns = tuple(Column(name) for name in "abc")
    encoder = Encoder.learn(codes, columns, Inputs("both"), weights=WeightSet.parse("ternary"))
    shape = Architecture.create(encoder.n_inputs, 3, hidden=(4,))
    weights = tuple(
        rng.integers(-1, 2, size=size).astype(float) for size in ((4, encoder.n_inputs), (3, 4))
    )
    thresholds = (rng.normal(size=4), rng.normal(size=3))
    return Network(shape, weights, thresholds), encoder, samples


@pytest.mark.parametrize("block", [1 << 22, 64])
@pytest.mark.parametrize("clashes", [False, True])
def test_figures_are_those_of_the_problem(table, monkeypatch, block, clashes) -> None:
    network, encoder, samples = table
    problem = classification(
        network.architecture, encoder.transform(samples.values), samples.labels, samples.weight
    )
    monkeypatch.setattr(learning, "_BLOCK", block)
    if clashes:
        monkeypatch.setattr(learning, "fingerprints", lambda X: np.zeros(len(X), np.uint64))
    seen = learning.RowScores.of(network, encoder, samples)
    loss, bound, error, unit = seen.figures(network)
    assert unit == Fraction(problem.samples.unit)
    assert loss == problem.value(network)
    assert error == pytest.approx(problem.error(network), abs=1e-12)
    # Rows that cannot be told apart safely are kept apart, which says less and nothing untrue.
    assert bound.value == (0 if clashes else problem.irreducible.value)
    assert problem.irreducible.value > 0
