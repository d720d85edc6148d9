from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.problem.samples import equal_rows
from tests.problems import random_problem
from tests.strategies import THRESHOLDS, WEIGHT_SETS, architectures, networks, samples

SHAPE = Architecture.create(2, 2, hidden=(2,))


def merged(X, labels, weight=None, shape=SHAPE, **options):
    return classification(shape, np.array(X, dtype=float), np.array(labels), weight, **options)


@st.composite
def networks_with_samples(draw):
    network = draw(networks(architectures(max_hidden=2)))
    shape = network.architecture
    return network, *draw(samples(shape.n_features, shape.n_outputs))


def test_equal_rows_are_merged_with_their_labels():
    problem = merged([[1, 2], [0, 0], [1, 2], [1, 2]], [0, 1, 1, 0])
    rows = {
        tuple(row): mass.tolist()
        for row, mass in zip(problem.inputs, problem.loss.label_weight, strict=True)
    }
    assert rows == {(1.0, 2.0): [2.0, 1.0], (0.0, 0.0): [0.0, 1.0]}
    # The one sample in the minority is wrong in both of its outputs, whatever the network does.
    assert problem.floor == 2.0
    assert problem.loss.is_integral


def test_without_merging_every_sample_stays():
    problem = merged([[1, 2], [1, 2]], [0, 1], merge=False)
    assert len(problem.inputs) == 2
    assert problem.floor == 0.0


def test_three_labels_on_one_input():
    problem = merged([[1, 1]] * 6, [0, 0, 0, 1, 1, 2], shape=Architecture.create(2, 3))
    assert problem.loss.label_weight.tolist() == [[3, 2, 1]]
    assert problem.loss.cost_on.tolist() == [[3, 4, 5]]
    assert problem.floor == 3 + 2 + 1


def test_weightless_samples_are_dropped():
    problem = merged([[1, 1], [2, 2], [1, 1]], [0, 1, 1], np.array([1.5, 0.0, 0.0]))
    assert problem.inputs.tolist() == [[1, 1]]
    assert problem.loss.label_weight.tolist() == [[0.75, 0]]  # in units of 2
    assert problem.samples.unit == 2.0
    assert not problem.loss.is_integral


def test_both_zeros_are_one_input():
    assert len(merged([[0.0, 1.0], [-0.0, 1.0]], [0, 1]).inputs) == 1


def test_order_of_samples_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 2)).astype(float)
    labels, weight = rng.integers(0, 2, 40), rng.integers(1, 5, 40).astype(float)
    first = merged(X, labels, weight)
    for _ in range(5):
        order = rng.permutation(40)
        other = merged(X[order], labels[order], weight[order])
        assert np.array_equal(other.inputs, first.inputs)
        assert np.array_equal(other.loss.counts, first.loss.counts)


def test_rows_with_equal_fingerprints_are_kept_apart():
    X = _clashing_rows()
    first, group = equal_rows(np.vstack([X, X]))
    assert len(first) == 2
    assert group[0] == group[2] != group[1] == group[3]
    problem = merged(np.vstack([X, X]), [0, 1, 0, 1])
    assert problem.floor == 0.0
    assert sorted(map(tuple, problem.inputs)) == sorted(map(tuple, X))


def _clashing_rows():
    """Two rows whose fingerprints are equal, by solving for the second entry of the second."""

    def mixed(word):
        word = word * 0x9E3779B97F4A7C15 % 2**64
        return word ^ (word >> 29)

    def bits(value):
        return int(np.float64(value).view(np.uint64))

    for value in range(1, 1000):
        word = mixed(bits(1.0)) ^ mixed(bits(2.0)) ^ bits(float(value))
        other = float(np.uint64(word).view(np.float64))
        if np.isfinite(other):
            return np.array([[1.0, float(value)], [2.0, other]])
    raise AssertionError("no finite clash found")


@given(networks_with_samples())
def test_loss_is_that_of_the_paper_on_the_samples_as_given(case):
    network, X, labels, weight = case
    problem = classification(network.architecture, X, labels, weight)
    onehot = np.eye(network.architecture.n_outputs)[labels]
    expected = (weight[:, None] * np.abs(network.outputs(X) - onehot)).sum()
    # All terms are multiples of 1/4.
    assert problem.value(network) * Fraction(problem.samples.unit) == expected
    assert problem.irreducible.value <= problem.value(network)


@given(networks_with_samples())
def test_error_is_the_share_of_weight_in_a_wrong_class(case):
    network, X, labels, weight = case
    if not weight.any():
        return
    problem = classification(network.architecture, X, labels, weight)
    wrong = network.predict(X) != labels
    assert problem.error(network) == pytest.approx(weight[wrong].sum() / weight.sum(), abs=1e-15)


def test_a_network_without_mistakes_has_error_zero_exactly():
    weight = np.array([0.1, 0.2, 0.3, 0.7, 0.1])
    problem = merged([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2]], [0] * 5, weight)
    assert problem.error(problem.constant_network()) == 0.0


@given(st.lists(st.floats(min_value=1e-300, max_value=1e300), min_size=1, max_size=9))
def test_weights_are_added_without_rounding(weights):
    X = np.zeros((len(weights), 2))
    labels = np.arange(len(weights)) % 2
    problem = merged(X, labels, np.array(weights))
    totals = [sum((Fraction(w) for w in weights[k::2]), Fraction(0)) for k in (0, 1)]
    counts = problem.loss.counts[0]
    unit = problem.loss.grain * Fraction(problem.samples.unit)
    assert [int(c) * unit for c in counts] == totals
    assert problem.irreducible.value * Fraction(problem.samples.unit) == 2 * min(totals)


@pytest.mark.parametrize("weights", WEIGHT_SETS)
@pytest.mark.parametrize("thresholds", THRESHOLDS)
@pytest.mark.parametrize("hidden", [(), (2,), (2, 3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_constant_network(weights, thresholds, hidden, n_classes):
    problem = random_problem(
        3, n_classes=n_classes, weights=weights, thresholds=thresholds, hidden=hidden, weighted=True
    )
    network = problem.constant_network()
    assert network.architecture == problem.architecture
    if weights == "binary" and thresholds == "zero":
        return  # no unit of this kind is the same everywhere
    outputs = network.outputs(problem.inputs)
    assert (outputs == outputs[0]).all()
    on, off = problem.loss.cost_on.sum(axis=0), problem.loss.cost_off.sum(axis=0)
    if (
        thresholds == "neuron"
        or (hidden and weights != "binary")
        or (hidden and thresholds == "layer")
    ):
        assert problem.value(network) == np.minimum(on, off).sum()
    elif thresholds == "layer":
        assert problem.value(network) == min(on.sum(), off.sum())
    else:
        assert problem.value(network) == on.sum()
