"""Constraints speak of raw columns, whatever their inputs are."""

import json

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits
from bdnn.checker import check_model, make_samples, read_model
from bdnn.constraints import FixedWeight, Forbid, Monotone
from bdnn.errors import ModelError
from bdnn.training import Descent

RNG = np.random.default_rng(0)
AGE = RNG.integers(0, 5, 40).astype(float)
AGE[::9] = np.nan
JOB = RNG.choice(["cook", "nurse"], 40)
X = np.column_stack([AGE.astype(object), JOB.astype(object)])
X[::9, 0] = None
Y = (np.nan_to_num(AGE) + (JOB == "nurse") > 2).astype(int)


def fit(*constraints, encode="both", **options):
    options = {"method": "exact", "limits": Limits(seconds=60, gap=0.9), "hidden": (2,)} | options
    model = BDNNClassifier(
        inputs=Inputs(encode, cuts=3), constraints=constraints, random_state=0, **options
    )
    return model.fit(X, Y, feature_names=["age", "job"])


@pytest.mark.parametrize("encode", ["scaled", "cuts", "both"])
def test_a_forbidden_column_has_no_weight_at_all(encode, tmp_path):
    model = fit(Forbid("age"), encode=encode)
    weights = model.network_.weights[0]
    own = model.encoder_.column_of == 0
    assert not weights[:, own].any()
    assert check(model, tmp_path) == ["proven"]


@pytest.mark.parametrize("method", ["exact", Descent(patience=0.5)], ids=["exact", "descent"])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_cut_speaks_against_the_class(method, sign, tmp_path):
    model = fit(Monotone("age", sign), method=method)
    for job in ("cook", "nurse"):
        rows = np.array([[value, job] for value in (-5, 0, 1, 2, 3, 4, 9)], dtype=object)
        scores = model.decision_function(rows)
        assert (sign * np.diff(scores) >= 0).all()
    assert check(model, tmp_path) == ["proven"]


def check(model, tmp_path):
    """Verdicts of the promises."""
    path = tmp_path / "model.json"
    model.save(path)
    assert len(json.loads(path.read_text())["certificate"]["promises"]) == 1
    checked = read_model(path)
    codes = model._memory.samples.values
    samples = make_samples(
        checked, zip(codes.tolist(), Y.tolist(), strict=True), names=["age", "job"]
    )
    claims = check_model(checked, samples)
    assert not [claim for claim in claims if claim.verdict == "false"]
    return [claim.verdict for claim in claims if claim.name.startswith("promise")]


def test_texts_have_no_order():
    with pytest.raises(ModelError, match="a feature without an order"):
        fit(Monotone("job"))


def test_an_input_is_named_as_rules_name_it():
    model = fit(FixedWeight(0, 0, "job = cook", 1.0), encode="cuts")
    place = model.encoder_.input_names.index("job = cook")
    assert model.network_.weights[0][0, place] == 1.0
