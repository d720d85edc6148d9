from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bdnn.errors import BDNNError, ModelError
from bdnn.network.architecture import Architecture, WeightSet
from tests.sentences import assert_one_sentence


@pytest.mark.parametrize(
    ("name", "values", "bits"),
    [
        ("ternary", [-1, 0, 1], 2),
        ("binary", [-1, 1], 1),
        ("int:1", [-1, 0, 1], 2),
        ("int:2", [-2, -1, 0, 1, 2], 3),
        ("int:3", [-3, -2, -1, 0, 1, 2, 3], 3),
        ("int:4", list(range(-4, 5)), 4),
    ],
)
def test_integer_weight_sets(name, values, bits):
    weights = WeightSet.parse(name)
    assert weights.values.tolist() == values
    assert weights.bits == bits
    assert weights.contains(np.array([values], dtype=float))
    assert not weights.contains(np.array([values[-1] + 1.0]))
    assert not weights.contains(np.array([0.5]))
    assert weights.contains(np.array([0.0])) == (0 in values)


def test_continuous_weights_fill_the_box():
    weights = WeightSet.parse("continuous")
    assert weights.contains(np.array([-1.0, 0.3, 1.0]))
    assert not weights.contains(np.array([1.0000001]))
    assert weights.bits == 64
    with pytest.raises(ModelError):
        _ = weights.values


def test_a_leading_zero_is_another_way_to_write_a_set():
    assert WeightSet.parse("int:03") == WeightSet.parse("int:3")


def test_a_weight_set_is_its_own_name():
    weights = WeightSet.parse("int:3")
    assert WeightSet.parse(weights) is weights
    assert WeightSet.parse("int:1024").limit == 1024


@pytest.mark.parametrize(
    "name",
    [
        *("", "Ternary", "float", "int", "int:", "int:0", "int:-1", "int:2.5"),
        *("int:1025", "int:999999999", "int: 3", "int:3 ", "int:٣"),
    ],
)
def test_unknown_names_of_weight_sets_are_refused(name):
    with pytest.raises(ModelError, match="weights must be") as caught:
        WeightSet.parse(name)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "name",
    [None, 3, True, b"ternary", ["ternary"]],
)
def test_what_is_no_name_of_a_weight_set_is_refused(name):
    with pytest.raises(ModelError, match="weights must be") as caught:
        WeightSet.parse(name)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    ("hidden", "widths"),
    [
        ((), ()),
        ([], ()),
        (3, (3,)),
        (np.int64(3), (3,)),
        ([2, 3], (2, 3)),
        (np.array([4, 5]), (4, 5)),
        (range(1, 3), (1, 2)),
        ((100_000,), (100_000,)),
    ],
)
def test_hidden_widths(hidden, widths):
    shape = Architecture.create(4, 2, hidden=hidden)
    assert shape.hidden == widths
    assert all(type(width) is int for width in shape.hidden)
    assert shape.widths == (4, *widths, 2)
    assert shape.n_layers == len(widths) + 1


@pytest.mark.parametrize(
    "hidden",
    [
        *(0, -1, 100_001, (3, 0), (3, -2), (10**30,)),
        *(2.5, (2.5,), (3.0,), np.array(3.5), np.ones((2, 2))),
        *("3", "abc", b"\x03", True, (True,), (False, 2)),
        *(None, (None,), [[3]], {3}, {"a": 3}),
    ],
    ids=repr,
)
def test_bad_hidden_widths_are_refused(hidden):
    with pytest.raises(ModelError, match="hidden must be the widths") as caught:
        Architecture.create(4, 2, hidden=hidden)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"weights": ["ternary"]},
        {"weights": ["ternary"] * 3},
        {"weights": []},
        {"weights": "quaternary"},
        {"weights": ["ternary", "int:0"]},
        {"weights": ["ternary", 5]},
        {"weights": 5},
        {"weights": None},
        {"thresholds": "unit"},
        {"thresholds": None},
        {"thresholds": ["neuron"]},
        {"ties": "last"},
        {"ties": None},
        {"ties": True},
    ],
    ids=repr,
)
def test_bad_options_are_refused(options):
    with pytest.raises(ModelError) as caught:
        Architecture.create(4, 2, hidden=(3,), **options)
    assert isinstance(caught.value, BDNNError)
    assert next(iter(options)) in str(caught.value)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(("n_features", "n_outputs"), [(0, 2), (3, 0), (-1, 2)])
def test_a_network_needs_inputs_and_outputs(n_features, n_outputs):
    with pytest.raises(ModelError, match="at least one input and one output") as caught:
        Architecture.create(n_features, n_outputs)
    assert_one_sentence(caught.value)


def test_weight_sets_per_layer_end_with_the_output_layer():
    shape = Architecture.create(4, 2, hidden=(3,), weights=["int:3", "binary"])
    assert [weights.name for weights in shape.weights] == ["int:3", "binary"]
    assert shape.n_weights == 4 * 3 + 3 * 2


def test_the_same_options_give_equal_architectures():
    assert Architecture.create(4, 2, hidden=3) == Architecture.create(4, 2, hidden=[3])
    assert Architecture.create(4, 2, ties="first") != Architecture.create(4, 2)
    assert hash(Architecture.create(4, 2)) == hash(Architecture.create(4, 2))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "4-25-2, ternary weights, thresholds per neuron"),
        ({"thresholds": "layer"}, "4-25-2, ternary weights, thresholds per layer"),
        ({"thresholds": "zero", "hidden": ()}, "4-2, ternary weights, thresholds zero"),
        (
            {"weights": ["int:3", "binary"]},
            "4-25-2, int:3/binary weights, thresholds per neuron",
        ),
    ],
)
def test_an_architecture_says_what_it_is(options, text):
    assert str(Architecture.create(4, 2, **options)) == text


def test_activations_are_always_explicit():
    shape = Architecture.create(2, 2, hidden=(3, 1))
    assert [rule.name for rule in shape.activations] == ["step", "step"]
    assert not shape.has_levels
    mixed = Architecture.create(2, 2, hidden=(3, 1), activation=("ternary", "step"))
    assert [mixed.activation_of(k).n_thresholds for k in range(3)] == [2, 1, 1]
    assert mixed.has_levels
    assert str(mixed).endswith("ternary, step activation")
    # One column per threshold: 2 inputs below 3 x 2, these below 1, and this below 2 outputs.
    assert (mixed.n_weights, mixed.n_products) == (6 + 3 + 2, 12 + 6 + 2)
    assert Architecture.create(2, 2, hidden=()).activations == ()
    with pytest.raises(ModelError, match="2 hidden layers needs as many activations") as caught:
        replace(shape, activations=shape.activations[:1])
    assert_one_sentence(caught.value)
