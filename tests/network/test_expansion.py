"""Networks of several values, their twins and what they unroll to, all with the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.network.activation import Activation
from bdnn.network.architecture import Architecture
from bdnn.network.expansion import from_twin, has_twin, to_twin, unrolled
from bdnn.network.intervals import IntervalPass, sum_bounds
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification
from tests.grids import examples
from tests.sentences import assert_one_sentence
from tests.strategies import (
    any_activation,
    any_weights,
    architectures,
    arrays,
    networks,
    problems,
    small_integers,
)

integer_weights = any_weights.filter(lambda name: name != "continuous")
level_shapes = architectures(max_hidden=2, min_hidden=1, activation=any_activation)
integer_shapes = architectures(
    max_hidden=2, min_hidden=1, activation=any_activation, weights=integer_weights
)
two_values = st.sampled_from(["sign", Activation((-2, 3)), Activation((1, 2)), "step"])
twin_shapes = architectures(
    max_hidden=3, min_hidden=1, activation=two_values, thresholds=st.just("neuron")
)


def plain_outputs(network, row):
    """The forward pass of one input, from the definition."""
    values = row.tolist()
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        rule = network.architecture.activation_of(k)
        sums = [sum(w * x for w, x in zip(line, values, strict=True)) for line in W.tolist()]
        lines = t.tolist()
        values = [
            rule.values[sum(total >= limit for limit in line)]
            for total, line in zip(sums, lines, strict=True)
        ]
    return values


@given(st.data())
@examples(100)
def test_the_forward_pass_is_the_definition(data):
    network = data.draw(networks(level_shapes))
    X = data.draw(arrays((3, network.architecture.n_features), small_integers))
    assert network.outputs(X).tolist() == [plain_outputs(network, row) for row in X]
    assert network.outputs(X).dtype == bool
    assert (network.predict(X) == network.scores(X).argmax(axis=1)).all()
    assert network.size_bits > 0
    assert str(network.architecture) in network.describe()


@given(st.data())
@examples(100)
def test_twins_answer_alike(data):
    # Weights and thresholds lie on a grid, so that no sum rounds.
    network = data.draw(networks(twin_shapes))
    shape = network.architecture
    X = data.draw(arrays((4, shape.n_features), small_integers))
    assert has_twin(shape)
    twin = to_twin(network)
    assert not twin.architecture.has_levels
    back = from_twin(twin, shape)
    for given_, again in zip(network.thresholds, back.thresholds, strict=True):
        np.testing.assert_allclose(again, given_, atol=1e-9)
    there = from_twin(data.draw(networks(st.just(twin.architecture))), shape)
    assert np.array_equal(to_twin(there).outputs(X), there.outputs(X))


@given(st.data())
@examples(100)
def test_unrolled_networks_have_the_same_bits(data):
    network = data.draw(networks(integer_shapes))
    X = data.draw(arrays((4, network.architecture.n_features), small_integers))
    steps = unrolled(network, "a test")
    assert not steps.architecture.has_levels
    assert np.array_equal(steps.outputs(X), network.outputs(X))
    assert np.array_equal(steps.scores(X), network.scores(X))
    assert np.array_equal(steps.predict(X), network.predict(X))


@given(st.data())
@examples(100)
def test_boxes_are_as_certain_unrolled_or_not(data):
    network = data.draw(networks(integer_shapes))
    low = data.draw(arrays((4, network.architecture.n_features), small_integers))
    high = low + data.draw(arrays(low.shape, small_integers.map(abs)))
    classes = network.predict(low)

    def is_certain(one):
        def sums(W):
            return sum_bounds(W, low, high)

        return IntervalPass(one, 1.0).is_certain(low, high, classes, sums)

    assert np.array_equal(is_certain(network), is_certain(unrolled(network, "a test")))


def test_continuous_weights_above_several_values_are_not_unrolled():
    shape = Architecture.create(2, 2, hidden=(2,), weights="continuous", activation="ternary")
    problem = classification(shape, np.eye(2), np.array([0, 1]))
    with pytest.raises(UnsupportedFeatureError, match="export to C cannot") as caught:
        unrolled(problem.constant_network(), "export to C")
    assert_one_sentence(caught.value)


@given(problems(architectures(max_hidden=2, min_hidden=1, activation=any_activation)))
@examples(100)
def test_there_is_a_network_from_the_beginning(problem):
    network = problem.constant_network()
    outputs = network.outputs(problem.inputs)
    if problem.architecture.thresholds == "neuron":
        cheapest = np.minimum(
            problem.loss.cost_on.sum(axis=0), problem.loss.cost_off.sum(axis=0)
        ).sum()
        assert problem.value(network) == pytest.approx(cheapest)
        assert (outputs == outputs[0]).all()


def example(**options):
    shape = Architecture.create(2, 2, hidden=(2,), **options)
    return shape, (np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("options", "thresholds", "message"),
    [
        ({"activation": "ternary"}, [[1, 0], [0, 1]], "out of order"),
        ({"activation": "ternary"}, [[0, np.nan], [0, 1]], "not finite"),
        ({"activation": "ternary"}, [0, 1], "thresholds of shape"),
        ({"activation": "sign"}, [[0, 1], [0, 1]], "thresholds of shape"),
        ({"activation": "ternary", "thresholds": "layer"}, [[0, 1], [0, 2]], "do not fit"),
        ({"activation": "ternary", "thresholds": "zero"}, [[0, 1], [0, 1]], "do not fit"),
        ({"activation": "sign", "thresholds": "zero"}, [1, 1], "do not fit"),
        ({"activation": "values:0/1/2@0/1"}, [[0, 1], [0, 2]], "distances"),
    ],
)
def test_thresholds_that_a_network_refuses(options, thresholds, message):
    shape, weights = example(**options)
    with pytest.raises(ModelError, match=message) as caught:
        Network(shape, weights, (np.array(thresholds, dtype=float), np.zeros(2)))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": ["sign", "sign"]}, "one per hidden layer, got 2 for 1"),
        ({"activation": "tanh"}, "activation must be"),
        ({"activation": "sign", "hidden": ()}, "of which there are none"),
    ],
)
def test_activations_that_do_not_fit(options, message):
    with pytest.raises(ModelError, match=message) as caught:
        Architecture.create(2, 2, **{"hidden": (2,), **options})
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_size_counts_every_threshold_that_is_stored(thresholds):
    def bits(activation, limits):
        shape, weights = example(activation=activation, thresholds=thresholds)
        return Network(shape, weights, (np.array(limits), np.zeros(2))).size_bits

    free = bits("ternary", [[-0.5, 0.5], [-0.5, 0.5]])
    fixed = bits("values:-1/0/1@-0.5/0.5", [[-0.5, 0.5], [-0.5, 0.5]])
    weights = 8 * 2 + {"neuron": 2, "layer": 1, "zero": 0}[thresholds]
    stored = {"neuron": 2, "layer": 1, "zero": 0}[thresholds]
    # -1/2 acts like 0 on whole numbers, one bit with its sign; 1/2 acts like 1, two bits.
    assert free == weights + stored * (1 + 2)
    assert fixed == weights + stored * 1
