"""ONNX models answer like Python under onnxruntime."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.export.onnx import differences, to_onnx
from bdnn.model import TargetScaler
from tests.export.c.test_columns import make as make_columns
from tests.export.models import any_model, make_model, number_model
from tests.sentences import assert_one_sentence


@pytest.fixture(autouse=True)
def packages():
    pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")


def test_labels_and_scores_equal_python():
    rng = np.random.default_rng(5)
    for _ in range(25):
        model = any_model(rng)
        assert differences(model, to_onnx(model), 300) == 0, model.network.architecture


@pytest.mark.parametrize("activation", ["sign", "ternary", "levels:4"])
def test_continuous_weights_above_units_of_other_values(activation):
    rng = np.random.default_rng(6)
    for hidden in ((4,), (5, 3)):
        model = make_model(rng, weights="continuous", activation=activation, hidden=hidden)
        assert differences(model, to_onnx(model), 300) == 0


def test_numbers_of_a_regressor_equal_python():
    rng = np.random.default_rng(7)
    for _ in range(12):
        model = number_model(rng)
        assert differences(model, to_onnx(model), 200) == 0, model.network.architecture


@pytest.mark.parametrize("hidden", [(), (1,), (2,)])
def test_single_numbers_that_are_neutral_as_floats_count(hidden):
    rng, almost = np.random.default_rng(8), 1.0 - 2.0**-40
    model = make_model(
        rng, n_features=1, n_outputs=1, hidden=hidden, weights="continuous", classes=()
    )
    network = model.network
    shape = replace(network.architecture, output="identity")
    network = replace(
        network,
        architecture=shape,
        weights=tuple(np.full_like(W, almost) for W in network.weights),
        thresholds=(*network.thresholds[:-1], np.array([[2.0**-200]])),
    )
    for shift, factor in ((2.0**-200, 1.0), (0.0, almost)):
        targets = TargetScaler(np.array([shift]), np.array([factor]), np.ones(1))
        made = replace(model, network=network, targets=targets)
        assert differences(made, to_onnx(made), 100) == 0


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (("no", "yes", "wer weiß"), ["no", "yes", "wer weiß"]),
        ((3, 5, -1), [3, 5, -1]),
        ((1.0, 2.0, 4.0), [1, 2, 4]),
    ],
)
def test_labels(classes, expected):
    import onnxruntime

    model = make_model(np.random.default_rng(1), classes=classes)
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["label", "scores"]
    X = np.random.default_rng(0).normal(4, 3, (200, 4))
    labels, scores = session.run(None, {"X": X})
    assert scores.shape == (200, 3)
    wanted = model.network.predict(model.encoder.transform(X))
    assert labels.tolist() == [expected[i] for i in wanted]


def test_labels_that_onnx_cannot_hold():
    with pytest.raises(ModelError) as caught:
        to_onnx(make_model(np.random.default_rng(1), classes=(0.5, 1.5, 2.5)))
    assert_one_sentence(caught.value)


def test_difference_is_found():
    model = make_model(np.random.default_rng(1))
    other = make_model(np.random.default_rng(2))
    assert differences(model, to_onnx(other), 300) > 0


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UnsupportedFeatureError, match="pip install") as caught:
        to_onnx(make_model(np.random.default_rng(1)))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_columns_with_bits_texts_and_gaps(mixed, weights):
    rng = np.random.default_rng(0)
    for _ in range(4):
        model = make_columns(rng, mixed=mixed, weights=weights)
        assert differences(model, to_onnx(model), 300) == 0
