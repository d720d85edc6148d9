"""Certified training re-checked: the same numbers by other arithmetic, and lies noticed."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import bdnn
from bdnn import Limits, Robust
from bdnn.checker import Deadline, check_model, read_model
from bdnn.checker.certified import overlap_bound, training_ball, uncertified
from bdnn.checker.evaluation import evaluate
from bdnn.problem.regions import overlap_bound as training_bound
from tests.checker.models import last_thresholds, samples_of, state
from tests.grids import in_turn

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blobs(n_classes=2):
    rng = np.random.default_rng(n_classes)
    y = np.arange(45) % n_classes
    X = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 2.5]])[y] + rng.normal(scale=0.5, size=(45, 2))
    return X, y


BALL = Robust(0.12)


@cache
def fitted(n_classes, robust=BALL, **options):
    return bdnn.BDNNClassifier(
        hidden=(4,),
        inputs=bdnn.Inputs(scale="minmax"),
        random_state=0,
        limits=Limits(seconds=1),
        robust=robust,
        **options,
    ).fit(*blobs(n_classes))


def saved(tmp_path, n_classes=2, **options):
    X, y = blobs(n_classes)
    model = fitted(n_classes, **options)
    path = tmp_path / "model.json"
    model.save(path)
    return model, path, samples_of(read_model(path), X, y, None)


def verdicts(path, samples):
    return {claim.name: claim for claim in check_model(read_model(path), samples)}


@pytest.mark.parametrize(("n_classes", "weights"), in_turn([2, 3], ["ternary", "continuous"]))
def test_loss_and_bound_are_found_again(tmp_path, n_classes, weights):
    model, path, samples = saved(tmp_path, n_classes, weights=weights)
    record = read_model(path)
    ball = training_ball(record)
    assert ball is not None
    certified = model.certify(*blobs(n_classes), radius=0.12)
    kept = certified.certified & (model.predict(blobs(n_classes)[0]) == blobs(n_classes)[1])
    found = evaluate(record, samples.rows())
    assert uncertified(record, samples, found, ball, Deadline()) == (~kept).tolist()
    ones = [Fraction(1)] * len(samples)
    if model.result_.bound_origin == "overlapping balls":
        assert overlap_bound(record, samples, ones, ball, Deadline()) == model.result_.bound
    claims = verdicts(path, samples)
    assert claims["loss"].verdict == "proven"
    assert "false" not in {claim.verdict for claim in claims.values()}


@pytest.mark.parametrize(("norm", "weighted"), in_turn(["linf", "l1", "l2"], [False, True]))
def test_overlaps_are_those_of_training(tmp_path, norm, weighted):
    model, path, samples = saved(tmp_path, method="descent", robust=Robust(0.12, norm=norm))
    record = read_model(path)
    ball = training_ball(record)
    X, y = blobs()
    weight = np.random.default_rng(1).integers(1, 5, len(y)) if weighted else np.ones(len(y), int)
    weights = [Fraction(w) for w in weight.tolist()]
    scaled = X * model.encoder_.factor
    wanted = training_bound(scaled, y, np.full(len(y), 0.12), weight, norm)
    assert wanted > 0
    assert overlap_bound(record, samples, weights, ball, Deadline()) >= wanted


def edited(path, **result):
    content = json.loads(path.read_text())
    state(content, **result)
    path.write_text(json.dumps(content))


def test_a_smaller_loss_than_the_truth_is_false(tmp_path):
    model, path, samples = saved(tmp_path)
    assert model.result_.loss > 0
    edited(path, loss=model.result_.loss - 1)
    assert verdicts(path, samples)["loss"].verdict == "false"


def test_a_bound_above_the_loss_is_false(tmp_path):
    """Whatever loss the file states beside it."""
    model, path, samples = saved(tmp_path)
    for stated in (45, model.result_.loss):
        edited(path, loss=stated, bound=model.result_.loss + 1, status="optimal")
        claims = verdicts(path, samples)
        assert claims["bound"].verdict == "false"
        assert claims["optimality"].verdict == "false"


def test_a_larger_bound_than_the_balls_prove_is_only_claimed(tmp_path):
    _, path, samples = saved(tmp_path)
    content = json.loads(path.read_text())
    last_thresholds(content, -1000.0, 1000.0)  # the first class, whatever the input
    path.write_text(json.dumps(content))
    n_lost = samples.classes.count(1)
    edited(path, loss=n_lost, bound=n_lost, status="optimal")
    claims = verdicts(path, samples)
    assert claims["loss"].verdict == "proven"
    assert claims["bound"].verdict == "claimed"
    assert claims["optimality"].verdict == "claimed"


def test_optimal_without_meeting_the_bound_is_false(tmp_path):
    _, path, samples = saved(tmp_path)
    edited(path, bound=0, status="optimal")
    assert verdicts(path, samples)["optimality"].verdict == "false"


@pytest.mark.parametrize(
    "options", [{"robust": Robust(0.12, "l1")}, {"robust": Robust(0.12, "l2")}], ids=str
)
def test_other_norms(tmp_path, options):
    _, path, samples = saved(tmp_path, **options)
    found = verdicts(path, samples)
    assert found["loss"].verdict == "proven"
    assert "false" not in {claim.verdict for claim in found.values()}


def test_what_it_cannot_recompute_is_only_claimed(tmp_path):
    _, path, samples = saved(tmp_path)
    content = json.loads(path.read_text())
    content["certificate"]["robust"]["radius"] = [0.12] * 45
    path.write_text(json.dumps(content))
    assert {verdicts(path, samples)[name].verdict for name in ("loss", "bound")} == {"claimed"}


def test_an_average_over_perturbations_is_claimed(tmp_path):
    _, path, samples = saved(tmp_path, robust=Robust(0.12, loss="average"), method="descent")
    found = verdicts(path, samples)
    assert {found[name].verdict for name in ("loss", "training error", "bound")} == {"claimed"}
    assert found["training data"].verdict == "proven"
