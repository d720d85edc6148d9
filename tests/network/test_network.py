from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.errors import DataError, ModelError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.sentences import assert_one_sentence
from tests.strategies import architectures, arrays, dyadic, networks


def make(layers, limits, /, **options):
    layers = [np.array(W, dtype=float) for W in layers]
    shape = Architecture.create(
        layers[0].shape[1],
        len(layers[-1]),
        hidden=tuple(len(W) for W in layers[:-1]),
        **options,
    )
    return Network(shape, tuple(layers), tuple(np.array(t, dtype=float) for t in limits))


XOR = make([[[1, 1], [1, 1]], [[1, -1], [-1, 1]]], [[0.5, 1.5], [1, 0]])


@st.composite
def networks_with_inputs(draw, **options):
    network = draw(networks(architectures(**options)))
    n_samples = draw(st.integers(1, 4))
    return network, draw(arrays((n_samples, network.architecture.n_features), dyadic))


def slow_forward(network, row):
    """Sums and activations of every layer in rational numbers, one unit at a time."""
    values, sums, activations = [Fraction(x) for x in row], [], []
    for W, t in zip(network.weights, network.step_thresholds, strict=True):
        layer = [
            sum((Fraction(w) * v for w, v in zip(unit, values, strict=True)), Fraction(0))
            for unit in W.tolist()
        ]
        on = [total >= Fraction(limit) for total, limit in zip(layer, t.tolist(), strict=True)]
        sums.append(layer)
        activations.append(on)
        values = [Fraction(int(value)) for value in on]
    return sums, activations


@given(networks_with_inputs())
def test_forward_pass_equals_rational_arithmetic(case):
    network, X = case
    sums, activations = network.preactivations(X), network.activations(X)
    for i, row in enumerate(X.tolist()):
        expected_sums, expected = slow_forward(network, row)
        assert [[Fraction(v) for v in layer[i].tolist()] for layer in sums] == expected_sums
        assert [layer[i].tolist() for layer in activations] == expected
        assert network.outputs(X)[i].tolist() == expected[-1]


@given(networks_with_inputs(n_outputs=st.integers(2, 3)))
def test_predicted_class_is_an_output_that_is_on_if_there_is_one(case):
    network, X = case
    for i, row in enumerate(X.tolist()):
        sums, activations = slow_forward(network, row)
        on = activations[-1]
        score = [s - Fraction(t) for s, t in zip(sums[-1], network.output_thresholds, strict=True)]
        if network.architecture.ties == "first":
            expected = on.index(True) if any(on) else 0
        else:
            expected = score.index(max(score))
        assert network.predict(X)[i] == expected
        assert on[expected] or not any(on)


def test_ties_by_score_and_by_first_differ():
    options = {"weights": "int:3"}
    X = np.array([[1.0], [-1.0]])
    by_score = make([[[1], [3]]], [[0, 0]], **options)
    by_first = make([[[1], [3]]], [[0, 0]], ties="first", **options)
    assert by_score.outputs(X).tolist() == [[True, True], [False, False]]
    assert by_score.predict(X).tolist() == [1, 0]
    assert by_first.predict(X).tolist() == [0, 0]
    assert by_score.scores(X).tolist() == [[1, 3], [-1, -3]]
    assert by_first.scores(X).tolist() == [[1, 1], [0, 0]]


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_score_is_not_negative_exactly_where_its_output_is_on(threshold):
    network = make([[[1.0]]], [[threshold]], weights="continuous")
    X = np.array([[np.nextafter(threshold, -np.inf)], [threshold]])
    assert np.array_equal(network.scores(X) >= 0, network.outputs(X))


def test_xor_by_hand():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert XOR.outputs(X)[:, 0].tolist() == [False, True, True, False]


def test_arrays_are_copied_and_frozen():
    W, t = np.ones((2, 2)), np.zeros(2)
    network = make([W], [t])
    frozen = [network]
    frozen.append(pickle.loads(pickle.dumps(network)))
    frozen.append(copy.deepcopy(network))
    for each in frozen:
        with pytest.raises(ValueError, match="read-only"):
            each.weights[0][0, 0] = 0.0
        with pytest.raises(ValueError, match="read-only"):
            each.thresholds[0][0] = 1.0
        with pytest.raises(AttributeError):
            each.weights = ()
    source = np.ones((2, 2))
    network = Network(network.architecture, (source,), (t,))
    source[0, 0] = 0.0
    assert network.weights[0][0, 0] == 1.0


@given(networks())
def test_copies_and_pickles_are_equal(network):
    for other in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert other == network


def test_equality():
    other = make([[[1, 1], [1, 1]], [[1, -1], [-1, 1]]], [[0.5, 1.5], [1, 0.5]])
    assert other != XOR
    assert XOR != "a network"
    first = make([[[1, 1], [1, 1]], [[1, -1], [-1, 1]]], [[0.5, 1.5], [1, 0]], ties="first")
    assert first != XOR
    assert make([[[-0.0]]], [[-0.0]]) == make([[[0.0]]], [[0.0]])
    with pytest.raises(TypeError):
        hash(XOR)


def test_negative_zero_is_not_kept():
    network = make([[[-0.0]]], [[-0.0]])
    assert not np.signbit(network.weights[0]).any()
    assert not np.signbit(network.thresholds[0]).any()


@pytest.mark.parametrize(
    ("weights", "thresholds", "options", "bits"),
    [
        # Two ternary weights; the threshold 1 needs a bit and a sign.
        ([[[1, 0]]], [[1]], {}, 2 * 2 + 2),
        # Half-way between 0 and 1 only the upper integer matters.
        ([[[1, 0]]], [[0.5]], {}, 2 * 2 + 2),
        ([[[1, 0]]], [[0]], {}, 2 * 2 + 1),
        ([[[1, 0]]], [[-3]], {}, 2 * 2 + 3),
        ([[[1, 0]]], [[0.3]], {}, 2 * 2 + 64),
        ([[[1, 0]]], [[2.0**40]], {}, 2 * 2 + 64),
        ([[[1, 0]]], [[1.7e308]], {}, 2 * 2 + 64),
        ([[[1, -1]]], [[0]], {"thresholds": "zero", "weights": "binary"}, 2),
        ([[[5, -1]]], [[0]], {"thresholds": "zero", "weights": "int:7"}, 2 * 4),
        # A shared threshold is stored once per layer.
        ([[[1, 0], [0, 1]]], [[2, 2]], {"thresholds": "layer"}, 4 * 2 + 3),
        ([[[0.25, 0]]], [[0]], {"weights": "continuous"}, 2 * 64 + 1),
        (
            [[[1, -1]], [[1], [0]]],
            [[0], [1, 1]],
            {"weights": ["binary", "ternary"]},
            (2 + 1) + (2 * 2 + 2 * 2),
        ),
    ],
)
def test_size_in_bits(weights, thresholds, options, bits):
    assert make(weights, thresholds, **options).size_bits == bits


def test_description():
    assert XOR.describe() == (
        "binarized network 2-2-2, ternary weights, thresholds per neuron\n"
        "8 weights, 8 of them not zero\n"
        "24 bits (3 bytes) of weights and thresholds"
    )


def test_a_step_has_one_level():
    flat = Network(SHAPE, GOOD_W, (np.arange(3.0), np.zeros(2)))
    deep = Network(SHAPE, GOOD_W, (np.arange(3.0)[:, None], np.zeros((2, 1))))
    assert flat == deep
    assert [t.shape for t in flat.thresholds] == [(3, 1), (2, 1)]
    assert [t.tolist() for t in flat.step_thresholds] == [[0.0, 1.0, 2.0], [0.0, 0.0]]
    assert flat.output_thresholds.tolist() == [0.0, 0.0]


SHAPE = Architecture.create(2, 2, hidden=(3,))
GOOD_W, GOOD_T = (np.zeros((3, 2)), np.zeros((2, 3))), (np.zeros(3), np.zeros(2))


@pytest.mark.parametrize(
    ("weights", "thresholds", "options", "complaint"),
    [
        (GOOD_W[:1], GOOD_T, {}, "2 layers needs as many"),
        (GOOD_W, GOOD_T[:1], {}, "2 layers needs as many"),
        ((np.zeros((2, 3)), GOOD_W[1]), GOOD_T, {}, "layer 1 needs weights of shape"),
        ((GOOD_W[0], np.zeros((3, 2))), GOOD_T, {}, "layer 2 needs weights of shape"),
        (GOOD_W, (np.zeros((3, 2)), np.zeros(2)), {}, "layer 1 needs weights of shape"),
        ((np.full((3, 2), np.nan), GOOD_W[1]), GOOD_T, {}, "layer 1 holds a number"),
        (GOOD_W, (np.zeros(3), np.array([0, np.inf])), {}, "layer 2 holds a number"),
        ((np.full((3, 2), 2.0), GOOD_W[1]), GOOD_T, {}, "outside the set 'ternary'"),
        ((np.full((3, 2), 0.5), GOOD_W[1]), GOOD_T, {}, "outside the set 'ternary'"),
        (GOOD_W, GOOD_T, {"weights": "binary"}, "outside the set 'binary'"),
        (GOOD_W, (np.zeros(3), np.array([0, 1])), {"thresholds": "layer"}, "thresholds='layer'"),
        (GOOD_W, (np.zeros(3), np.array([1, 1])), {"thresholds": "zero"}, "thresholds='zero'"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(weights, thresholds, options, complaint):
    shape = Architecture.create(2, 2, hidden=(3,), **options)
    with pytest.raises(ModelError, match=complaint) as caught:
        Network(shape, weights, thresholds)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("shape", [(2,), (1, 3), (1, 1), (1, 2, 1), (0,)])
def test_inputs_of_another_shape_are_refused(shape):
    with pytest.raises(DataError, match="rows of 2 features") as caught:
        XOR.predict(np.zeros(shape))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_many_rows_are_answered_as_one_by_one(weights):
    rng = np.random.default_rng(0)
    shape = Architecture.create(3, 2, hidden=(40, 30), weights=weights)
    layers = [rng.uniform(-1, 1, size=(b, a)) for a, b in pairwise(shape.widths)]
    if weights == "ternary":
        layers = [np.rint(W) for W in layers]
    network = Network(shape, tuple(layers), tuple(rng.normal(size=len(W)) for W in layers))
    X = rng.normal(size=(5000, 3))  # several blocks
    whole = network.outputs(X), network.scores(X), network.values(X)
    for row in rng.choice(5000, size=200, replace=False):
        line = X[row : row + 1]
        alone = network.outputs(line), network.scores(line), network.values(line)
        assert all(np.array_equal(a[row], b[0]) for a, b in zip(whole, alone, strict=True))
    assert np.array_equal(whole[2], network.preactivations(X)[-1] - network.output_thresholds)


def test_no_rows_give_no_answers():
    assert XOR.predict(np.zeros((0, 2))).shape == (0,)
    assert XOR.outputs(np.zeros((0, 2))).shape == (0, 2)
