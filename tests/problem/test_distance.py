"""Losses, bounds and constant networks of regression problems, and the scale of targets."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.errors import ModelError
from bdnn.model import TargetScaler
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.create import regression
from bdnn.problem.losses.absolute import _grouped_medians as grouped_medians
from bdnn.problem.losses.absolute import weighted_median
from tests.problems import regression_problem


def shape(**options):
    return Architecture.create(2, options.pop("n_outputs", 1), output="identity", **options)


def test_identity_outputs_give_numbers():
    architecture = shape(hidden=(2,), weights=["ternary", "continuous"])
    network = Network(
        architecture, (np.eye(2), np.array([[0.5, -0.25]])), (np.array([1.0, 1.0]), np.array([2.0]))
    )
    values = network.values([[0, 0], [1, 0], [0, 1], [1, 1]])
    assert values[:, 0].tolist() == [-2.0, -1.5, -2.25, -1.75]
    assert "identity outputs" in str(architecture)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("weighted", [False, True])
def test_merging_leaves_the_loss_as_it_is(kind, weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20, 2)).astype(float)
    y = rng.normal(size=(20, 2))
    weight = rng.integers(0, 3, 20).astype(float) if weighted else np.ones(20)
    unit = np.array([2.0, 0.5])
    architecture = shape(hidden=(2,), weights="ternary", n_outputs=2)
    ridge = 0.5 if kind == "squared" else 0.0
    problem = regression(
        architecture, X, y, weight if weighted else None, unit=unit, kind=kind, ridge=ridge
    )
    network = Network(
        architecture,
        (np.eye(2), np.array([[1.0, -1.0], [0.0, 1.0]])),
        (np.full(2, 0.5), np.array([0.3, -0.2])),
    )
    errors = np.abs(network.values(X) - y) * unit
    expected = weight @ (errors ** (2 if kind == "squared" else 1)).sum(axis=1)
    expected += ridge * (unit**2 @ (network.weights[-1] ** 2).sum(axis=1))
    assert float(problem.value(network)) == pytest.approx(expected)
    assert problem.error(network) * weight.sum() * 2 == pytest.approx((weight @ errors**2).sum())
    assert problem.floor <= problem.value(network)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
def test_the_conflict_bound_is_the_best_function_of_the_inputs(kind):
    problem = regression_problem(3, n_samples=25, kind=kind, weighted=True)
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(size=(len(problem.inputs), 1))
        assert problem.loss.of_values(values) >= problem.floor
    assert problem.floor > 0


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("weights", ["ternary", "binary", "continuous"])
@pytest.mark.parametrize(
    ("hidden", "activation"),
    [((), "step"), ((2,), "step"), ((2, 3), "step"), ((2, 3), ["levels:4", "values:-3/-1@-1"])],
)
def test_a_constant_network_always_exists(thresholds, weights, hidden, activation):
    problem = regression_problem(
        1, hidden=hidden, weights=weights, thresholds=thresholds, activation=activation
    )
    network = problem.constant_network()
    values = network.values(problem.inputs)
    if weights != "binary" or (hidden and thresholds != "zero"):  # binary weights have no 0
        assert np.ptp(values) == 0
    if thresholds != "zero" and weights != "binary":
        mean = np.average(problem.loss.targets[:, 0], weights=problem.loss.weight)
        assert values[0, 0] == pytest.approx(mean)


def test_medians_have_half_of_the_weight_on_either_side():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=30), rng.integers(1, 5, 30).astype(float)
    group = rng.integers(0, 6, 30)
    found = grouped_medians(values, weight, np.unique(group, return_inverse=True)[1])
    for g, median in zip(np.unique(group), found, strict=True):
        v, w = values[group == g], weight[group == g]
        assert median == weighted_median(v, w)
        assert w[v < median].sum() <= w.sum() / 2 <= w[v <= median].sum()


@pytest.mark.parametrize(("weights", "width", "reach"), [("continuous", 9, 1), ("int:2", 6, 6)])
def test_weights_reach_over_the_range_of_the_targets(weights, width, reach):
    y = np.array([[3.0], [5.0], [11.0], [4.0]])
    scaler = TargetScaler.fit(y, weights=WeightSet.parse(weights), width=width)
    assert np.ptp(scaler.transform(y)) == pytest.approx(reach)
    np.testing.assert_allclose(scaler.inverse(scaler.transform(y)), y)
    assert scaler.unit[0] * y.std() == pytest.approx(scaler.factor[0])


def test_a_constant_target_has_a_scale_too():
    y = np.full((4, 1), 7.0)
    scaler = TargetScaler.fit(y, weights=WeightSet.parse("continuous"), width=3)
    assert scaler.transform(y).tolist() == [[0.0]] * 4
    assert np.isfinite(scaler.factor).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "cubic"}, "loss must be 'squared' or 'absolute'"),
        ({"kind": "absolute", "ridge": 1.0}, "ridge is for the squared loss"),
    ],
)
def test_senseless_losses_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        regression_problem(0, **options)


def test_steps_are_no_outputs_of_a_regression():
    with pytest.raises(ModelError, match="identity outputs"):
        regression(Architecture.create(2, 1), np.eye(2), np.ones((2, 1)))
    with pytest.raises(ModelError, match="output must be 'step' or 'identity'"):
        Architecture.create(2, 1, output="linear")
