"""Few weights as lists answer as masks do, and take fewer bytes."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder
from bdnn.export.boundary import answers, compared_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import run_compiled
from bdnn.export.c.text import decimals, declared_bytes
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.export.models import make_model
from tests.grids import long

SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FAST = ("-O3", "-ffast-math", "-march=native")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def sparse(model, rng, share=0.1):
    """The model with most of its weights left out."""
    weights = [W * (rng.random(W.shape) < share) for W in model.network.weights]
    for W in weights:
        W[:, 0] = np.where(W.any(axis=1), W[:, 0], 1.0)
    return replace(model, network=replace(model.network, weights=tuple(weights)))


def on_cuts(rng, unit):
    """A network on many cuts of two columns, whole numbers, decimals or others."""
    cuts = np.unique(rng.integers(1, 900, 60)) / unit
    bits = tuple(Bit(int(j), "ge", float(c)) for c in cuts for j in (0, 1))
    columns = Column("a", fill=float(cuts[3])), Column("b", fill=float(cuts[9]), missing="bit")
    encoder = Encoder(columns, (), bits)
    shape = Architecture.create(len(bits), 3, hidden=(12,), weights=["ternary", "int:100"])
    first = rng.integers(-1, 2, (12, len(bits))) * (rng.random((12, len(bits))) < 0.05)
    first[:, 0] = 1
    last = rng.integers(-100, 101, (3, 12)) * (rng.random((3, 12)) < 0.5)
    thresholds = rng.integers(-1, 3, (12, 1)).astype(float), rng.normal(size=(3, 1))
    network = Network(shape, (first.astype(float), last.astype(float)), thresholds)
    return Model(encoder, network, ("x", "y", "z"))


@needs_gcc
@pytest.mark.parametrize("flags", [SANITIZED, *long(FAST)])
def test_lists_answer_as_python_does(flags):
    rng = np.random.default_rng(8)
    models = []
    for i, weights in enumerate(["ternary", "int:9", "int:300", ["ternary", "int:90"]] * 3):
        width, kind = (40, 70)[i % 2], "standard" if i % 3 else None
        made = make_model(rng, n_features=width, hidden=(33,), weights=weights, scale=kind)
        models.append(sparse(made, rng))
    models += [on_cuts(rng, unit) for unit in (1.0, 10.0, 1000.0, 3.0)]
    kinds = [("int16", "double", "float", "uint8")[i % 4] for i in range(len(models))]
    exports = [
        export_c(model, name=f"net{i}", input=kind if i < 12 else "double")
        for i, (model, kind) in enumerate(zip(models, kinds, strict=True))
    ]
    assert sum("PLACE" in export.text for export in exports) > 10
    assert sum("cut_unit" in export.text for export in exports) >= 2
    inputs = [compared_inputs(m, e.inputs, 150) for m, e in zip(models, exports, strict=True)]
    inputs = [X[((X == 0) | (np.abs(X) > 1e-30) | (X != X)).all(axis=1)] for X in inputs]
    found = run_compiled(exports, inputs, flags=flags)
    for model, export, X, told in zip(models, exports, inputs, found, strict=True):
        assert (told == answers(model, export.inputs, X)).all(), export.name


def test_lists_are_for_few_weights_only():
    rng = np.random.default_rng(2)
    dense = make_model(rng, n_features=40, hidden=(40,), weights="ternary")
    few = sparse(dense, rng, share=0.25)
    full, lists = (export_c(model, input="double") for model in (dense, few))
    assert "PLACE" not in full.text
    assert "PLACE" in lists.text
    assert lists.flash.tables < full.flash.tables
    assert declared_bytes(lists.text.splitlines()) == lists.flash.tables


def test_decimals_are_exact():
    assert decimals([1.0, -3.0]) == ([1, -3], 1.0)
    assert decimals([0.35, 1.5]) == ([35, 150], 100.0)
    assert decimals([1 / 3]) is None
    assert decimals([40000.0]) is None
    for value in np.random.default_rng(0).integers(-9999, 9999, 200) / 1000.0:
        whole, power = decimals([float(value)])
        assert whole[0] / power == value
