from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.encoding import Encoder
from bdnn.encoding.scaling import grid_step
from bdnn.errors import DataError, ModelError
from bdnn.network.architecture import WeightSet
from tests.sentences import assert_one_sentence
from tests.strategies import arrays, dyadic

TERNARY, CONTINUOUS = WeightSet.parse("ternary"), WeightSet.parse("continuous")
KINDS = ("standard", "common", "minmax")


def fit(X, kind="standard", weights=CONTINUOUS, sample_weight=None):
    return Encoder.fit(
        np.asarray(X, dtype=float), kind, weights=weights, sample_weight=sample_weight
    )


def test_standard_gives_mean_zero_and_variance_one():
    X = np.random.default_rng(0).normal(5.0, [1.0, 100.0], size=(50, 2))
    scaled = fit(X).transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=2e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, atol=2e-6)


def test_minmax_gives_the_unit_interval():
    X = np.random.default_rng(0).normal(5.0, [1.0, 100.0], size=(50, 2))
    scaled = fit(X, "minmax").transform(X)
    assert scaled.min(axis=0).tolist() == [0.0, 0.0]
    assert scaled.max(axis=0).tolist() == [1.0, 1.0]


def test_common_keeps_proportions():
    X = np.random.default_rng(0).normal(5.0, [1.0, 3.0, 0.0], size=(500, 3))
    scaler = fit(X, "common")
    assert scaler.factor[0] == scaler.factor[1]
    spread = scaler.transform(X)[:, :2].std(axis=0)
    np.testing.assert_allclose(spread, X[:, :2].std(axis=0) * scaler.factor[0], atol=2e-6)
    assert 0.5 <= np.mean(spread**2) <= 2.0


def test_common_keeps_whole_numbers_evenly_spaced():
    X = np.arange(30.0).reshape(10, 3)
    for weights in (TERNARY, CONTINUOUS):
        assert len(np.unique(np.diff(fit(X, "common", weights).transform(X), axis=0))) == 1


def two_features(spread_of_noise):
    """A feature that tells the class, and one that does not, as wide as is asked for."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    noise = spread_of_noise * rng.normal(size=200)
    return np.column_stack([2.0 * y + rng.normal(size=200), noise]), y


@pytest.mark.parametrize(("spread", "kind"), [(0.1, "common"), (100.0, "standard")])
def test_auto_takes_the_scale_that_puts_a_class_together(spread, kind):
    X, y = two_features(spread)
    chosen = Encoder.fit(X, "auto", weights=TERNARY, labels=y)
    expected = fit(X, kind, TERNARY)
    assert chosen.scale == kind
    assert np.array_equal(chosen.factor, expected.factor)


def test_auto_does_not_depend_on_the_order_of_many_rows():
    rng = np.random.default_rng(0)
    labels = np.arange(1999) % 2
    X = rng.normal(size=(1999, 5)) * [1.0, 0.1, 0.1, 0.1, 0.1]
    X[:, 0] += 2.0 * labels
    for rows in (np.arange(1999), np.argsort(labels), rng.permutation(1999)):
        chosen = Encoder.fit(X[rows], "auto", weights=TERNARY, labels=labels[rows])
        assert chosen.scale == "common"


def test_a_constant_feature_does_not_decide_about_the_common_factor():
    X = np.array([[1e100, 1e-79], [np.nextafter(1e100, 0), -1e-79]])
    factor = fit(X, "common").factor
    assert np.isfinite(factor).all()
    assert 0.5 <= factor[1] * 1e-79 <= 2


def test_auto_is_standard_without_labels():
    assert fit([[1.0], [2.0]], "auto").scale == "standard"


@pytest.mark.parametrize("n_samples", [1, 2, 6, 3000])
@pytest.mark.parametrize("n_classes", [1, 2])
def test_auto_takes_any_number_of_samples(n_samples, n_classes):
    X = np.random.default_rng(0).normal(size=(n_samples, 2))
    labels = np.arange(n_samples) % n_classes
    assert Encoder.fit(X, "auto", weights=TERNARY, labels=labels).scale in ("standard", "common")


def test_auto_does_not_look_at_samples_without_weight():
    X, y = two_features(0.1)
    far, labels = np.vstack([X, 1e6 * np.eye(2)]), np.append(y, [0, 1])
    weight = np.append(np.ones(len(X)), [0.0, 0.0])
    chosen = Encoder.fit(far, "auto", weights=TERNARY, labels=labels, sample_weight=weight)
    assert np.array_equal(chosen.factor, fit(X, "common", TERNARY).factor)


def test_none_leaves_inputs_as_they_are():
    X = np.array([[0.1, 1e50], [-3.7, 2.0]])
    scaler = fit(X, None)
    assert np.array_equal(scaler.transform(X), X)
    assert scaler.step == 0.0


@pytest.mark.parametrize("kind", ["Standard", "", "robust", 1, True])
def test_unknown_kinds_are_refused(kind):
    with pytest.raises(ModelError, match="scale must be") as caught:
        fit([[1.0], [2.0]], kind)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e-300, 1e90])
def test_a_constant_feature_becomes_zero(kind, value):
    X = np.full((7, 1), value)
    assert not fit(X, kind).transform(X).any()


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_noise_is_not_blown_up(kind):
    X = np.full((10, 1), 0.1)
    X[::2] = np.nextafter(0.1, 1.0)
    assert not fit(X, kind).transform(X).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e-30, 1e30, 1e99])
def test_numbers_of_any_size_scale_to_finite_ones(kind, size):
    X = np.array([[0.0], [size], [size]])
    scaled = fit(X, kind).transform(X)
    assert np.isfinite(scaled).all()
    assert (np.abs(scaled) <= 2).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("weights", "step"), [(TERNARY, 2.0**-6), (CONTINUOUS, 2.0**-20)])
def test_scaled_inputs_lie_on_the_grid(kind, weights, step):
    X = np.random.default_rng(1).normal(size=(30, 3))
    scaler = fit(X, kind, weights)
    scaled = scaler.transform(X)
    assert scaler.step == step
    assert np.array_equal(scaled / step, np.rint(scaled / step))
    np.testing.assert_allclose(scaled, (X - scaler.shift) * scaler.factor, atol=step / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_counts_like_repetition_and_zero_like_absence(kind):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 3))
    X[0] = 100.0  # an outlier without weight must not stretch the range
    weight = rng.integers(1, 4, 12)
    weight[0] = 0
    weighted = fit(X, kind, sample_weight=weight.astype(float))
    repeated = fit(np.repeat(X, weight, axis=0), kind)
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-12)
    np.testing.assert_allclose(weighted.factor, repeated.factor, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_far_away_values_are_cut_not_lost(kind):
    scaler = fit([[0.0], [1e-3]], kind)
    far = scaler.transform([[1e300], [-1e300], [1.7e308]])
    assert far.ravel().tolist() == [2.0**30, -(2.0**30), 2.0**30]


@given(arrays((5, 2), st.floats(-1e3, 1e3)), st.sampled_from(KINDS))
def test_order_of_samples_does_not_matter(X, kind):
    one, other = fit(X, kind, TERNARY), fit(X[::-1], kind, TERNARY)
    # Sums may differ in the last bits, so that a value half-way between two grid points may
    # fall on either.
    difference = np.abs(one.transform(X) - other.transform(X))
    assert (difference <= one.step).all()


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.0], 64.0),
        ([1.0, 2.0], 1.0),
        ([128.0, -64.0], 64.0),
        ([0.5, 3.0], 0.5),
        ([2.0**-20], 2.0**-20),
        ([2.0**-21], None),
        ([0.1], None),
        ([2.0**30, 1.0], 1.0),
        ([2.0**31, 1.0], None),
        ([1e300], None),
        ([5e-324], None),
    ],
)
def test_grid_step(values, step):
    assert grid_step(np.array([values])) == step


@given(arrays((4, 2), dyadic))
def test_all_inputs_are_multiples_of_the_grid_step(X):
    step = grid_step(X)
    assert step is not None
    assert np.array_equal(X / step, np.rint(X / step))
    finer = X / (2 * step)
    assert step == 64.0 or not np.array_equal(finer, np.rint(finer))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_grid_step_of_what_is_not_finite_is_refused(value):
    with pytest.raises(DataError, match="inputs must be finite"):
        grid_step(np.array([[value]]))
