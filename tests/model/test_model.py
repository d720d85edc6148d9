"""The model: what its outputs mean, and what it refuses."""

import numpy as np
import pytest

from bdnn.errors import DataError, ModelError, UnsupportedFeatureError
from bdnn.model import Model, TargetScaler
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.export.models import make_model
from tests.sentences import assert_one_sentence


def regressor():
    shape = Architecture.create(2, 1, hidden=(1,), weights="ternary", output="identity")
    network = Network(
        shape, (np.array([[1.0, 0.0]]), np.array([[1.0]])), (np.zeros(1), np.zeros(1))
    )
    encoder = make_model(np.random.default_rng(0), n_features=2, scale=None).encoder
    targets = TargetScaler(np.array([10.0]), np.array([2.0]), np.array([1.0]))
    return Model(encoder, network, targets=targets)


def test_predictions_are_labels_or_numbers():
    model = make_model(np.random.default_rng(0), classes=("a", "b", "c"))
    X = np.random.default_rng(1).normal(3, 2, (50_000, 4))
    wanted = model.network.predict(model.inputs(X))
    assert (model.outcomes(X) == wanted).all()
    assert (model.predict(X) == np.array(["a", "b", "c"])[wanted]).all()
    assert regressor().predict(np.array([[1.0, 0.0], [-1.0, 0.0]])).tolist() == [[12.0], [10.0]]


def test_kinds_and_names():
    assert make_model(np.random.default_rng(0), n_features=2).feature_names == ("x1", "x2")
    assert make_model(np.random.default_rng(0), n_features=1, names=("age",)).feature_names == (
        "age",
    )
    assert (make_model(np.random.default_rng(0)).kind, regressor().kind) == (
        "classifier",
        "regressor",
    )


def test_labels_as_numbers_of_outputs():
    model = make_model(np.random.default_rng(0), classes=("a", "b", "c"))
    assert model.codes(["c", "z", "a"], 3).tolist() == [2, -1, 0]
    with pytest.raises(DataError, match="one label per sample") as caught:
        model.codes(["a"], 2)
    assert_one_sentence(caught.value)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ModelError, match="one class per output") as caught:
        make_model(np.random.default_rng(0), classes=("a",))
    assert_one_sentence(caught.value)
    with pytest.raises(UnsupportedFeatureError, match="for classifiers") as caught:
        regressor().require_classifier("C export")
    assert_one_sentence(caught.value)
