"""The classifier with units of several values, from fit to certificate and model file."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import bdnn
from bdnn import Activation, BDNNClassifier, Limits, Robust
from bdnn.errors import ModelError
from bdnn.robustness import Domain
from tests.sentences import assert_one_sentence

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, (40, 2)).astype(float)
Y = np.where(np.abs(X[:, 0] - X[:, 1]) <= 1, "near", "far")
OPTIONS = {"hidden": (2,), "objective": "loss", "limits": Limits(seconds=30), "random_state": 0}


def fit(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return BDNNClassifier(**{**OPTIONS, **options}).fit(X, Y)


@pytest.mark.parametrize("activation", ["ternary", "levels:3", Activation((-1, 0, 1), (-0.5, 0.5))])
def test_fit_save_and_load(activation, tmp_path):
    model = fit(activation=activation)
    result, network = model.result_, model.network_
    assert network.architecture.activations == (Activation.parse(activation),)
    assert (result.status, result.loss) == ("optimal", 0.0)
    assert model.score(X, Y) == 1.0
    model.save(tmp_path / "model.json")
    again = bdnn.load(tmp_path / "model.json")
    assert again.network_ == network
    assert Activation.parse(again.activation) == Activation.parse(activation)
    assert (again.predict(X) == model.predict(X)).all()


def test_more_values_never_cost_more():
    losses = [
        fit(hidden=(1,), method="exact", activation=name).result_.loss
        for name in ("step", "levels:3", "levels:4")
    ]
    assert losses[0] >= losses[1] >= losses[2] > 0


def test_radii_hold_for_all_inputs_of_a_small_domain():
    model = fit(activation="ternary")
    domain = Domain.create(2, lower=[0, 0], upper=[4, 4], integer=[True, True])
    grid = np.array(list(product(range(5), repeat=2)), dtype=float)
    radius = 1.0
    found = model.verify(grid, radius=radius, units="raw", domain=domain)
    classes = model.predict(grid)
    for i, point in enumerate(grid):
        inside = np.abs(grid - point).max(axis=1) <= radius
        holds = (classes[inside] == classes[i]).all()
        answer = found.answers[i]
        assert (answer.counter_example is None) == holds
    bound = model.certify(grid, radius=radius, units="raw", domain=domain)
    for i in np.flatnonzero(bound.radii >= radius):
        assert found.answers[i].counter_example is None


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_robust_training_of_two_values(weights):
    model = fit(activation="sign", weights=weights, robust=Robust(0.01))
    assert model.result_.loss == model.result_.bound == 0.0
    assert (model.certify(X, radius=0.01).radii >= 0.01).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "tanh"}, "activation must be"),
        ({"activation": ("sign", "step")}, "got 2 for 1"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_work(options, message):
    moments = []
    with pytest.raises(ModelError, match=message) as caught:
        fit(callback=moments.append, **options)
    assert_one_sentence(caught.value)
    assert not moments


def test_the_parameter_is_kept_as_it_is_given():
    rule = Activation((-1, 0, 1))
    model = BDNNClassifier(activation=rule)
    assert clone(model).activation == rule
    assert model.get_params()["activation"] is rule
