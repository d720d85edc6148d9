from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.errors import ModelError
from bdnn.network.activation import Activation, step, weighted_sums
from tests.sentences import assert_one_sentence
from tests.strategies import arrays, dyadic

any_float = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def layers(draw, elements, weights):
    n_samples, n_inputs, n_units = (draw(st.integers(1, 5)) for _ in range(3))
    return draw(arrays((n_samples, n_inputs), elements)), draw(arrays((n_units, n_inputs), weights))


@pytest.mark.parametrize("threshold", [0.0, 1.5, -2.0, 1e-300, 1e300])
def test_a_unit_is_on_at_and_above_its_threshold_only(threshold):
    below, above = np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)
    sums = np.array([below, threshold, above])
    assert step(sums, np.full(3, threshold)).tolist() == [False, True, True]


def test_both_zeros_are_one_threshold():
    assert step(np.array([-0.0, 0.0]), np.array([0.0, -0.0])).tolist() == [True, True]


@given(layers(any_float, any_float))
def test_a_row_does_not_depend_on_the_rows_beside_it(layer):
    inputs, weights = layer
    together = weighted_sums(inputs, weights)
    for row, sums in zip(inputs, together, strict=True):
        assert np.array_equal(weighted_sums(row[None, :], weights)[0], sums)


@given(layers(any_float, any_float), st.randoms(use_true_random=False))
def test_sums_are_added_in_the_order_of_the_features(layer, random):
    inputs, weights = layer
    expected = [[_plain_sum(row, unit) for unit in weights] for row in inputs]
    order = list(range(len(weights)))
    random.shuffle(order)
    assert np.array_equal(weighted_sums(inputs, weights), expected)
    assert np.array_equal(
        weighted_sums(inputs, weights[order]), np.array(expected)[:, order], equal_nan=True
    )


@given(layers(dyadic, dyadic))
def test_sums_of_numbers_on_a_grid_are_exact(layer):
    inputs, weights = layer
    sums = weighted_sums(inputs, weights)
    for i, row in enumerate(inputs):
        for j, unit in enumerate(weights):
            exact = sum((Fraction(w) * Fraction(x) for w, x in zip(unit, row, strict=True)), 0)
            assert Fraction(float(sums[i, j])) == exact


def test_long_batches_are_cut_without_a_seam():
    rng = np.random.default_rng(0)
    inputs, weights = rng.normal(size=(70_000, 3)), rng.normal(size=(2, 3))
    sums = weighted_sums(inputs, weights)
    for row in (0, 32_767, 32_768, 65_535, 65_536, 69_999):
        assert np.array_equal(weighted_sums(inputs[row : row + 1], weights)[0], sums[row])


def test_integers_beyond_double_precision_are_not_called_exact():
    inputs = np.array([[2.0**53, 1.0, 1.0]])
    weights = np.array([[1.0, 1.0, 1.0]])
    # In feature order each 1 is rounded away; any other order may give 2**53 + 2.
    assert weighted_sums(inputs, weights)[0, 0] == 2.0**53


def _plain_sum(row, unit):
    total = 0.0
    for x, w in zip(row.tolist(), unit.tolist(), strict=True):
        total += x * w
    return total


RULES = ("step", "sign", "ternary", "levels:4", "values:-2/3", "values:-1/0/4@-0.5/2.0")


@pytest.mark.parametrize("name", RULES)
def test_names_are_read_back(name):
    rule = Activation.parse(name)
    assert rule.name == name
    assert Activation.parse(rule) is rule
    assert rule.n_thresholds == len(rule.values) - 1 == len(rule.offsets) == len(rule.jumps)
    assert rule.is_step == (name == "step")


@pytest.mark.parametrize(
    ("name", "values", "offsets"),
    [
        ("step", (0, 1), [0.0]),
        ("sign", (-1, 1), [0.0]),
        ("ternary", (-1, 0, 1), [-0.5, 0.5]),
        ("levels:4", (0, 1, 2, 3), [0.5, 1.5, 2.5]),
        ("values:-1/0/4@-0.5/2", (-1, 0, 4), [-0.5, 2.0]),
    ],
)
def test_values_and_fixed_thresholds(name, values, offsets):
    rule = Activation.parse(name)
    assert rule.values == values
    assert rule.offsets.tolist() == offsets


@pytest.mark.parametrize(
    "values",
    [
        (1, 0),
        (0, 0),
        (0,),
        (),
        (0.5, 1),
        (0, 1.0),
        (False, True),
        tuple(range(17)),
        (0, 2000),
        "01",
    ],
)
def test_values_that_are_refused(values):
    with pytest.raises(ModelError, match="different integers in ascending order") as caught:
        Activation(values)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "thresholds", [(1.0, 0.0), (1.0, 1.0), (0.0,), (0.0, 1.0, 2.0), (0.0, np.nan), (0.0, np.inf), 3]
)
def test_thresholds_that_are_refused(thresholds):
    with pytest.raises(ModelError, match="2 finite thresholds in ascending order") as caught:
        Activation((-1, 0, 1), thresholds)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "name", ["relu", "levels:1", "levels:17", "levels:x", "values:", "values:1/0", "values:a/b", 3]
)
def test_names_that_are_refused(name):
    with pytest.raises(ModelError, match=r"activation|different integers") as caught:
        Activation.parse(name)
    assert_one_sentence(caught.value)


@given(
    arrays((4, 2), st.integers(-6, 6).map(lambda k: k / 2)),
    arrays((2, 3), st.integers(-6, 6).map(lambda k: k / 2)),
)
def test_a_value_belongs_to_the_interval_of_the_sum(sums, limits):
    rule, limits = Activation((-2, 0, 1, 5)), np.sort(limits, axis=1)
    found = rule(sums, limits)
    for i, unit in np.ndindex(*sums.shape):
        ends = pairwise([-np.inf, *limits[unit], np.inf])
        inside = [a <= sums[i, unit] < b for a, b in ends]
        assert inside.count(True) == 1
        assert found[i, unit] == rule.values[inside.index(True)]
