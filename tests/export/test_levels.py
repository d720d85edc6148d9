"""Models whose units take several values: files, C, ONNX, rules and the checker answer alike."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from bdnn.checker.evaluation import evaluate
from bdnn.checker.layers import set_complaint
from bdnn.checker.model import read_model as read_for_check
from bdnn.errors import ModelFileError, UnsupportedFeatureError
from bdnn.export.boundary import boundary_inputs, random_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import run_compiled
from bdnn.export.onnx import differences, to_onnx
from bdnn.export.rules import to_rules
from bdnn.model_file import ModelRecord, write_model
from bdnn.model_file.data import checksum
from bdnn.model_file.read import loads
from bdnn.model_file.write import dumps
from tests.export.models import any_format, level_model, make_model
from tests.sentences import assert_one_sentence


def test_compiled_c_equals_python():
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    rng = np.random.default_rng(3)
    exports, inputs, answers = [], [], []
    for i in range(24):
        trained = level_model(rng)
        exports.append(export_c(trained, name=f"net{i}", **any_format(rng)))
        form = exports[-1].inputs
        X = [
            random_inputs(trained.encoder, form, 150, rng),
            boundary_inputs(trained.network, trained.encoder, form, 150, rng),
        ]
        inputs.append(np.concatenate(X))
        answers.append(trained.network.predict(form.scaled(inputs[-1], trained.encoder)))
    found = run_compiled(exports, inputs, compiler="gcc", flags=("-O1",))
    for a, b in zip(found, answers, strict=True):
        assert (a == b).all()
    assert max(len(set(classes.tolist())) for classes in answers) > 2


def test_onnx_equals_python():
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    rng = np.random.default_rng(4)
    for _ in range(8):
        trained = level_model(rng)
        assert differences(trained, to_onnx(trained), 200) == 0


def test_the_checker_evaluates_like_the_network(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "model.json"
    for _ in range(25):
        trained = level_model(rng)
        write_model(ModelRecord(trained), path)
        model = read_for_check(path)
        X = np.round(rng.normal(3, 2, (10, model.n_features)), 1)
        found = evaluate(model, X.tolist())
        assert found.winners == trained.network.predict(trained.encoder.transform(X)).tolist()
        assert not any(set_complaint(layer, model.threshold_kind) for layer in model.layers)


def test_a_model_file_gives_the_same_network_back():
    rng = np.random.default_rng(2)
    for _ in range(25):
        trained = level_model(rng)
        text = dumps(ModelRecord(trained))
        assert loads(text).model.network == trained.network


def first_thresholds(data):
    return data["network"]["layers"][0]["thresholds"]


def edited(trained, change):
    data = json.loads(dumps(ModelRecord(trained)))
    change(data)
    data.pop("checksum")
    return json.dumps({**data, "checksum": checksum(data)})


@pytest.mark.parametrize(
    "change",
    [
        lambda data: first_thresholds(data)[0].reverse(),
        lambda data: first_thresholds(data).__setitem__(0, [0.0, 0.0, 0.0]),
        lambda data: data["network"].update(activations=["tanh"]),
        lambda data: data["network"].update(activations=["ternary", "ternary"]),
        lambda data: data["network"].update(activations=["values:1/0/2"]),
        lambda data: data.update(version=1),
    ],
)
def test_files_that_make_no_sense(change, tmp_path):
    trained = make_model(np.random.default_rng(5), activation="ternary")
    with pytest.raises(ModelFileError, match="makes no sense") as caught:
        loads(edited(trained, change))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    ("thresholds", "change", "complaint"),
    [
        ("neuron", lambda t: t[0].reverse(), "out of order"),
        ("layer", lambda t: t[0].__setitem__(1, 99.0), "differ within a layer"),
        ("zero", lambda t: t[0].__setitem__(1, 99.0), "not the fixed one"),
    ],
)
def test_the_checker_complains_of_thresholds(thresholds, change, complaint, tmp_path):
    trained = make_model(np.random.default_rng(5), activation="ternary", thresholds=thresholds)
    path = tmp_path / "model.json"
    path.write_text(edited(trained, lambda data: change(first_thresholds(data))))
    model = read_for_check(path)
    assert complaint in set_complaint(model.layers[0], model.threshold_kind)


def test_the_checker_complains_of_distances(tmp_path):
    trained = make_model(np.random.default_rng(5), activation="values:-1/0/1@-0.5/0.5")
    path = tmp_path / "model.json"
    path.write_text(edited(trained, lambda data: first_thresholds(data)[0].__setitem__(1, 99.0)))
    assert "fixed distances" in set_complaint(read_for_check(path).layers[0], "neuron")


def test_c_refuses_continuous_weights_above_by_name():
    trained = make_model(np.random.default_rng(0), weights="continuous", activation="sign")
    with pytest.raises(UnsupportedFeatureError, match="cannot handle activation 'sign'"):
        export_c(trained)


def test_rules_name_every_value():
    trained = make_model(np.random.default_rng(0), activation="ternary", hidden=(1,))
    shift = trained.network.weights[0][0] @ (trained.encoder.shift * trained.encoder.factor)
    low, high = trained.network.thresholds[0][0] + shift
    assert f"h1 = -1 below, 0 from {low:.10g}, 1 from {high:.10g}, of " in to_rules(trained)
