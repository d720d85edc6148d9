"""Weights of classes in C are Python's integers, and their shares those of ONNX."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from bdnn.errors import ModelError
from bdnn.export.boundary import compared_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import count_differences, run_compiled, wanted_answers
from bdnn.export.onnx import differences, to_onnx
from bdnn.model import Calibration
from tests.export.c.test_columns import make as make_columns
from tests.export.models import any_format, any_model, level_model, make_model, number_model
from tests.grids import long
from tests.sentences import assert_one_sentence

SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FAST = ("-O3", "-ffast-math", "-march=native")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def calibrated(model, rng):
    """The model with tables of any length and unit, all alike or one per class."""
    n_classes, length = len(model.classes), int(rng.choice([2, 3, 9, 64]))
    rows = 1 if rng.random() < 0.3 else n_classes
    tables = [sorted(rng.choice(32767, length - 1, False) + 1) for _ in range(rows)]
    tables = [(1 << 15, *map(int, row[::-1])) for row in tables]
    unit = 2.0 ** rng.integers(-6, 6)
    return replace(
        model,
        calibration=Calibration(unit, tuple(tables * (n_classes // rows)), 1, "training rows"),
    )


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(31)
    plain = [calibrated((any_model, level_model)[i % 3 == 2](rng), rng) for i in range(45)]
    # Thresholds that scores share a fraction with: leads are whole, or rounded to be none.
    for i in range(10):
        model = make_model(rng, hidden=[(), (5,)][i % 2], n_outputs=4)
        shift = rng.choice([0.1, 0.25, 1.1, 0.3], 4)[:, None]
        t = (*model.network.thresholds[:-1], np.rint(model.network.thresholds[-1]) + shift)
        plain.append(calibrated(replace(model, network=replace(model.network, thresholds=t)), rng))
    return [(model, export_c_of(model, rng, i)) for i, model in enumerate(plain)]


def export_c_of(model, rng, number):
    return export_c(model, name=f"net{number}", probabilities=True, **any_format(rng))


@needs_gcc
@pytest.mark.parametrize("flags", [SANITIZED, *long(FAST)])
def test_weights_and_classes_equal_python(models, flags):
    exports = [export for _, export in models]
    inputs = [compared_inputs(model, export.inputs, 100) for model, export in models]
    inputs = [X[((X == 0) | (np.abs(X) > 1e-30)).all(axis=1)] for X in inputs]
    found = run_compiled(exports, inputs, flags=flags)
    for (model, export), X, told in zip(models, inputs, found, strict=True):
        wanted = wanted_answers(model, export, X)
        assert told.shape == (len(X), len(model.classes) + 1)
        assert (told == wanted).all(), (model.network.architecture, export.inputs)
    assert sum(not export.plan.stages[-1].is_real for export in exports) > 15
    assert sum(export.plan.stages[-1].is_real for export in exports) > 15


@needs_gcc
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("double", {}),
        ("double", {"mixed": True}),
        ("double", {"mixed": True, "weights": "continuous"}),
        ("double", {"hidden": ()}),
        ("float", {"n_outputs": 2}),
        ("int16", {"hidden": (3, 9)}),
    ],
)
def test_missing_and_unknown_cells(kind, options):
    rng = np.random.default_rng(3)
    for _ in range(3):
        model = calibrated(make_columns(rng, **options), rng)
        export = export_c(model, input=kind, probabilities=True, class_names=True)
        assert count_differences(model, export, 400) == 0


def test_onnx_gives_the_same_shares():
    pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    rng = np.random.default_rng(5)
    made = [calibrated(any_model(rng), rng) for _ in range(12)]
    made += [calibrated(make_columns(rng, mixed=bool(i % 2)), rng) for i in range(4)]
    for model in made:
        content = to_onnx(model)
        assert differences(model, content, 200) == 0, model.network.architecture
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
        assert [o.name for o in session.get_outputs()] == ["label", "scores", "probabilities"]


def test_probabilities_are_there_when_asked_for():
    rng = np.random.default_rng(1)
    model = calibrated(make_model(rng), rng)
    assert "_weights" not in export_c(model).text
    header = export_c(model, probabilities=True, tests=5, main=True)
    assert header.signature.startswith("int model_weights(")
    assert "model_predict(" in header.text
    for other in (replace(model, calibration=None), number_model(rng)):
        with pytest.raises(ModelError) as caught:
            export_c(other, probabilities=True)
        assert_one_sentence(caught.value)
