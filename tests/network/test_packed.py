"""Prediction on packed bits gives what the forward pass gives."""

import numpy as np
import pytest
from hypothesis import given

from tests.export.models import make_model
from tests.grids import examples
from tests.strategies import networks


def predicted_by_forward_pass(network, X):
    return np.argmax(network.scores(X), axis=1)


@given(networks())
@examples(150)
def test_small_networks(network):
    rng = np.random.default_rng(0)
    n_features = network.architecture.n_features
    on_grid = rng.integers(-3, 4, (40, n_features)) / 2
    X = np.concatenate([on_grid, rng.normal(size=(9, n_features))])
    assert (network.predict(X) == predicted_by_forward_pass(network, X)).all()


@pytest.mark.parametrize("hidden", [(9,), (10, 70), (11,), (65, 64), (130,), (200, 3)])
@pytest.mark.parametrize("weights", ["ternary", "binary", "int:3", "continuous"])
def test_wide_networks(hidden, weights):
    rng = np.random.default_rng(len(hidden) + hidden[0])
    model = make_model(rng, n_features=6, n_outputs=4, hidden=hidden, weights=weights)
    network = model.network
    X = rng.integers(-200, 200, (700, 6)) / 64
    expected = predicted_by_forward_pass(network, X)
    assert len(set(expected.tolist())) > 1
    assert (network.predict(X) == expected).all()
    assert (
        np.concatenate([network.predict(X[i : i + 1]) for i in range(20)]) == expected[:20]
    ).all()
