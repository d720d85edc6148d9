"""Certified training re-checked: the same numbers by other arithmetic, and lies noticed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bdnn
from bdnn.checker.certified import overlap_bound, training_radius, uncertified
from bdnn.checker.model import read_model
from bdnn.checker.report import check_model
from bdnn.checker.table import Samples

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blobs(n_classes=2):
    rng = np.random.default_rng(n_classes)
    y = np.arange(45) % n_classes
    X = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 2.5]])[y] + rng.normal(scale=0.5, size=(45, 2))
    return X, y


def saved(tmp_path, n_classes=2, **options):
    X, y = blobs(n_classes)
    settings = {"hidden": (4,), "scale": "minmax", "time_limit": 3, "random_state": 0, **options}
    model = bdnn.BDNNClassifier(robust_radius=0.12, **settings).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    return model, path, Samples(X.tolist(), y.tolist())


def verdicts(path, samples):
    return {claim.name: claim for claim in check_model(read_model(path), samples)}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_loss_and_bound_are_found_again(tmp_path, n_classes, weights):
    model, path, samples = saved(tmp_path, n_classes, weights=weights)
    record = read_model(path)
    radius = training_radius(record)
    assert radius is not None
    certified = model.certify(*blobs(n_classes), radius=0.12)
    kept = certified.certified & (model.predict(blobs(n_classes)[0]) == blobs(n_classes)[1])
    assert uncertified(record, samples, radius) == (~kept).tolist()
    if model.result_.bound_origin == "overlapping balls":
        assert overlap_bound(record, samples, radius) == model.result_.bound
    claims = verdicts(path, samples)
    assert claims["loss"].verdict == "proven"
    assert "false" not in {claim.verdict for claim in claims.values()}


def edited(path, **result):
    content = json.loads(path.read_text())
    content["result"].update(result)
    path.write_text(json.dumps(content))


def test_a_smaller_loss_than_the_truth_is_false(tmp_path):
    model, path, samples = saved(tmp_path)
    assert model.result_.loss > 0
    edited(path, loss=model.result_.loss - 1)
    assert verdicts(path, samples)["loss"].verdict == "false"


def test_a_larger_bound_than_the_balls_prove_is_only_claimed(tmp_path):
    _, path, samples = saved(tmp_path)
    edited(path, loss=45, bound=45, status="optimal")
    claims = verdicts(path, samples)
    assert claims["bound"].verdict == "claimed"
    assert claims["optimality"].verdict == "claimed"


def test_optimal_without_meeting_the_bound_is_false(tmp_path):
    _, path, samples = saved(tmp_path)
    edited(path, bound=0, status="optimal")
    assert verdicts(path, samples)["optimality"].verdict == "false"


def test_what_it_cannot_recompute_is_only_claimed(tmp_path):
    _, path, samples = saved(tmp_path, robust_norm="l1")
    assert {verdicts(path, samples)[name].verdict for name in ("loss", "bound")} == {"claimed"}


def test_an_average_over_perturbations_is_claimed(tmp_path):
    _, path, samples = saved(tmp_path, robust_loss="average", method="descent")
    found = verdicts(path, samples)
    assert {found[name].verdict for name in ("loss", "training error", "bound")} == {"claimed"}
    assert found["training data"].verdict == "proven"
