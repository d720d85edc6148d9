"""The checker's own encoder: inputs as the package makes them, and forged encoders refused."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from bdnn.checker import read_model as read_for_check
from bdnn.checker.encoder import parse_encoder
from bdnn.errors import ModelFileError
from bdnn.model_file import ModelRecord, read_model, write_model
from bdnn.model_file.write import encoder_content
from tests.export.c.test_columns import make
from tests.fuzz.models import sign
from tests.sentences import assert_one_sentence


def rows(rng, n=60):
    X = np.column_stack(
        [
            rng.integers(-5, 95, n),
            rng.choice([-0.1, 0.1, 0.35, 0.2, 1e99], n),
            rng.integers(0, 2, n),
            rng.integers(-1, 3, n),
            rng.integers(-1, 2, n),
        ]
    ).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("mixed", [False, True])
def test_inputs_equal_those_of_the_package(mixed):
    rng = np.random.default_rng(0)
    for _ in range(5):
        encoder = make(rng, mixed=mixed).encoder
        plain = json.loads(json.dumps(encoder_content(encoder)))
        codes = rows(rng)
        found = [parse_encoder(plain).encode(row) for row in codes.tolist()]
        assert np.array_equal(np.array(found), encoder.transform(codes))


def test_a_file_keeps_all_of_an_encoder(tmp_path):
    model = make(np.random.default_rng(0), mixed=True)
    path = tmp_path / "model.json"
    write_model(ModelRecord(replace(model)), path)
    again = read_model(path).model
    for name in ("columns", "numbers", "bits", "step", "scale", "header", "unknown"):
        assert getattr(again.encoder, name) == getattr(model.encoder, name)


def change(path, value):
    def forge(encoder):
        part = encoder
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value(part[path[-1]]) if callable(value) else value

    return forge


FORGED = {
    "cuts out of order": change(["bits"], lambda bits: [bits[1], bits[0], *bits[2:]]),
    "a cut twice": change(["bits", 1, "value"], 0.0),
    "no columns": change(["columns"], []),
    "another column": change(["bits", 0, "column"], 99),
    "a negative column": change(["bits", 0, "column"], -1),
    "a column of another type": change(["bits", 0, "column"], True),
    "a cut that is text": change(["bits", 0, "value"], "3"),
    "a cut that is huge": change(["bits", 0, "value"], 1e200),
    "a cut of texts": change(["bits", -1], {"column": 4, "kind": "ge", "value": 1.0}),
    "an unknown text": change(["bits", -1, "value"], "Z"),
    "an unknown kind": change(["bits", -1, "kind"], "in"),
    "a gap that is filled": change(["columns", 0, "missing"], "fill"),
    "gaps of no kind": change(["columns", 0, "missing"], "drop"),
    "a fill that is none of the texts": change(["columns", 3, "fill"], "Z"),
    "a gap without fill": change(["columns", 1, "fill"], None),
    "equal texts": change(["columns", 4, "values"], ["A", "A"]),
    "texts of a number": change(["columns", 0, "values"], ["A"]),
    "a kind that is not there": change(["columns", 2, "kind"], "date"),
    "no unit": change(["columns", 0, "factor"], 0),
    "bits that are none": change(["bits"], {}),
    "fewer bits": change(["bits"], lambda bits: bits[1:]),
    "unknown texts": change(["unknown"], "guess"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_encoders_are_refused(name, tmp_path):
    model, path = make(np.random.default_rng(0)), tmp_path / "model.json"
    write_model(ModelRecord(model), path)
    content = json.loads(path.read_text())
    content["encoder"]["bits"][0]["value"] = 0.0
    content["encoder"]["bits"][1]["value"] = 7.0
    before = copy.deepcopy(content)
    FORGED[name](content["encoder"])
    assert content != before
    for forged, is_good in ((before, True), (content, False)):
        sign(forged)
        path.write_text(json.dumps(forged))
        for read in (read_model, read_for_check):
            if is_good:
                read(path)
                continue
            with pytest.raises(ModelFileError) as caught:
                read(path)
            assert_one_sentence(caught.value)
