"""Constraints through the classifier: names, merged rows, files, robust training."""

import json
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from bdnn import BDNNClassifier, Inputs, Limits, Robust, load
from bdnn.constraints import (
    DemographicParity,
    FixedWeight,
    Forbid,
    LinearRows,
    Monotone,
    Regularizer,
    Sparsity,
)
from bdnn.solvers.registry import available_solvers
from tests.checker.models import claims_of, edit
from tests.grids import in_turn

RNG = np.random.default_rng(3)
X = RNG.integers(0, 4, (30, 3)).astype(float)
Y = np.where((X[:, 0] + X[:, 1] > 3) ^ (RNG.random(30) < 0.1), "yes", "no")
NAMES = ("a", "b", "c")


def fit(*, must=None, groups=None, **options):
    options = {"hidden": (2,), "objective": "loss", "random_state": 0, "method": "exact"} | options
    return BDNNClassifier(**options).fit(X, Y, must=must, groups=groups, feature_names=NAMES)


def test_features_by_name_and_unused_units():
    model = fit(
        hidden=(4,),
        constraints=[Sparsity(units=1), Forbid("c"), Monotone("a", +1)],
        limits=Limits(gap=0.9),
    )
    assert model.network_.architecture.hidden == (1,)
    assert not model.network_.weights[0][:, 2].any()
    assert model.score(X, Y) > 0.7
    moved = X + np.array([1.0, 0.0, 0.0])
    assert (model.decision_function(moved) >= model.decision_function(X)).all()


def test_groups_of_samples_survive_merging_and_scaling():
    group = np.where(X[:, 2] > 1, "north", "south")
    model = fit(constraints=DemographicParity(None, 0.05), groups=group, limits=Limits(gap=0.5))
    said = model.predict(X) == "yes"
    assert abs(said[group == "north"].mean() - said[group == "south"].mean()) <= 0.05


def test_rows_that_must_be_right():
    wrong = fit(limits=Limits(gap=0.9), inputs=Inputs(scale="standard")).predict(X) != Y
    odd = wrong & (np.cumsum(wrong) == 1)
    model = fit(must=odd, limits=Limits(gap=0.9), inputs=Inputs(scale="standard"))
    assert (model.predict(X[odd]) == Y[odd]).all()


def test_own_rows_see_samples_as_given():
    def mostly_off(v):
        assert v.features == NAMES
        assert len(v.labels) == len(X)
        return v.activations[0].sum(axis=0) <= 5

    model = fit(constraints=LinearRows(mostly_off), limits=Limits(gap=0.9))
    on = model.network_.activations(model.encoder_.transform(X))[0]
    assert (on.sum(axis=0) <= 5).all()


def test_loss_and_objective_are_apart():
    model = fit(constraints=[Sparsity(price=0.25), Regularizer(l1=0.5)], hidden=(1,))
    result, weights = model.result_, model.network_.weights
    used = sum(np.count_nonzero(W) for W in weights)
    assert result.is_proven
    assert result.objective == pytest.approx(result.loss + 0.75 * used)
    assert result.bound == pytest.approx(result.objective)
    assert result.gap == 0
    assert result.minimised == result.objective


def test_sample_weights_of_any_size_keep_the_trade_off():
    """A regularizer is measured in the same unit as the loss."""
    light = BDNNClassifier(
        hidden=(1,), method="exact", random_state=0, constraints=[Sparsity(price=0.25 / 1024)]
    ).fit(X, Y, sample_weight=np.full(30, 1 / 1024))
    whole = fit(hidden=(1,), constraints=[Sparsity(price=0.25)])
    assert light.result_.objective * 1024 == pytest.approx(whole.result_.objective, abs=1e-5)


def test_clone_and_repr():
    copy = clone(BDNNClassifier(constraints=[Sparsity(total=4), Monotone("a"), Forbid(1)]))
    assert copy.constraints[0].total == 4
    assert copy.constraints[1].feature == "a"
    assert "Monotone" in repr(copy)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("constraints") / "model.json"
    model = fit(
        constraints=[
            Sparsity(per_unit=2, total=7, features=2, price=0.1),
            Forbid("c"),
            Monotone("b"),
            FixedWeight(0, 0, "a", 1),
            DemographicParity("c", 0.9),
            DemographicParity(None, 0.9),
            LinearRows(lambda v: v.weights[0].sum() >= 0),
        ],
        must=np.arange(30) < 2,
        groups=np.arange(30) % 2,
        limits=Limits(gap=0.9),
    )
    model.save(path)
    return path, model


def verdict_of(path, name):
    return claims_of(path, X, Y, names=NAMES)[name].verdict


def test_promises_are_checked_from_the_file(saved):
    path, model = saved
    claims = claims_of(path, X, Y, names=NAMES)
    names = [f"promise {kind}" for kind in ("count", "unused", "monotone", "weight", "right")]
    assert {claims[name].verdict for name in names} == {"proven"}
    assert claims["objective"].verdict == "proven"
    assert claims["promise own"].verdict == "claimed"
    assert not [claim for claim in claims.values() if claim.verdict == "false"]
    again = load(path)
    assert not again.constraints
    assert again.result_.objective == model.result_.objective
    again.save(path.with_name("again.json"))
    again = claims_of(path.with_name("again.json"), X, Y, names=NAMES)
    assert again.keys() == claims.keys()


@pytest.mark.parametrize(
    ("promise", "verdict"),
    [
        ({"kind": "count", "what": "total", "at_most": [1]}, "false"),
        ({"kind": "count", "what": "per_unit", "at_most": [None, 2]}, "proven"),
        ({"kind": "count", "what": "per_unit", "at_most": [2]}, "false"),
        ({"kind": "count", "what": "units", "at_most": [0]}, "false"),
        ({"kind": "weight", "layer": 0, "unit": 0, "input": 0, "value": -1}, "false"),
        ({"kind": "monotone", "feature": "b", "sign": 1, "class": "yes"}, "proven"),
        ({"kind": "monotone", "feature": 0, "sign": -1, "class": "yes"}, "false"),
        ({"kind": "monotone", "feature": 2, "sign": -1, "class": "no"}, "proven"),
        ({"kind": "monotone", "feature": 0, "sign": 3, "class": "no"}, "false"),
        ({"kind": "right", "rows": "1-2"}, "proven"),
        ({"kind": "right", "rows": "1-30"}, "false"),
        (
            {"kind": "parity", "feature": 0, "class": "yes", "at_most": 0, "only_own": False},
            "false",
        ),
        (
            {"kind": "parity", "feature": 0, "class": "yes", "at_most": 1, "only_own": True},
            "proven",
        ),
        (
            {"kind": "parity", "feature": None, "class": "yes", "at_most": 1, "only_own": False},
            "claimed",
        ),
    ],
    ids=str,
)
def test_kinds_of_promises(saved, tmp_path, promise, verdict):
    def change(content):
        content["certificate"]["promises"] = [promise]

    path = edit(saved[0], change, tmp_path / "model.json")
    assert verdict_of(path, f"promise {promise['kind']}") == verdict


def test_a_wrong_objective_is_found(saved, tmp_path):
    def change(content):
        content["result"]["objective"] += 0.5

    assert verdict_of(edit(saved[0], change, tmp_path / "m.json"), "objective") == "false"


@pytest.mark.parametrize("solver", [s for s in available_solvers() if s != "gurobi"])
def test_robust_training_keeps_constraints(solver):
    options = {
        "robust": Robust(0.25, loss="pattern"),
        "hidden": (1,),
        "inputs": Inputs(scale="minmax"),
    }
    sparse = Sparsity(per_unit=1, features=1)
    model = fit(solver=solver, constraints=[sparse, Monotone("a")], **options)
    free = fit(solver=solver, **options)
    assert model.result_.is_proven
    assert free.result_.is_proven
    assert model.result_.loss >= free.result_.loss
    W, t = model.network_.weights[0], model.network_.step_thresholds[0]
    assert np.count_nonzero(W) <= 1
    scaled = model.encoder_.transform(X)
    distance = np.abs(scaled @ W.T - t)
    assert (distance >= 0.25 * np.abs(W).sum(axis=1) - 1e-9).all()


def test_robust_training_beside_a_linear_program_by_hand():
    """One feature, one unit: robust and sparse thresholds can be tried one by one."""
    model = fit(
        robust=Robust(0.15, loss="pattern"),
        hidden=(1,),
        inputs=Inputs(scale="minmax"),
        constraints=[Sparsity(features=1)],
    )
    scaled, yes = model.encoder_.transform(X), Y == "yes"
    losses = [2 * min(yes.sum(), (~yes).sum())]
    for column in scaled.T:
        levels = np.unique(column)
        for below, above in pairwise(levels):
            if above - below > 0.3:
                wrong = ((column >= above) != yes).sum()
                losses.append(2 * min(wrong, len(Y) - wrong))
    assert model.result_.loss == min(losses)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["auto", "descent", "exact", "gradients", "local_search"])
def test_held_out_samples_choose_among_networks_that_keep_constraints(method):
    asked = [Sparsity(per_unit=2), Forbid("c")]
    options = {"validation_fraction": 0.3, "limits": Limits(seconds=3)}
    model = fit(constraints=asked, method=method, **options)
    assert not model.network_.weights[0][:, 2].any()
    assert all((W != 0).sum(axis=1).max() <= 2 for W in model.network_.weights)
    assert model._memory.samples.counted.sum() < 30


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["auto", "descent", "exact"])
def test_guarantees_keep_constraints(method):
    options = {"robust": Robust(0.05), "limits": Limits(seconds=1)}
    model = fit(constraints=Forbid("c"), method=method, hidden=(3,), **options)
    assert not model.network_.weights[0][:, 2].any()
    certified = model.certify(X, Y, radius=0.05)
    assert model.result_.loss == pytest.approx(30 - 30 * certified.accuracy)
    assert model.result_.bound <= model.result_.loss < 15


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["auto", "descent"])
def test_the_average_of_copies_keeps_what_is_asked_of_samples(method):
    must = np.arange(30) < 3
    options = {"robust": Robust(0.2, loss="average"), "limits": Limits(seconds=3)}
    model = fit(must=must, method=method, hidden=(3,), **options)
    assert (model.predict(X[must]) == Y[must]).all()
    # Sixteen copies share the weight of a sample.
    assert model.result_.loss * 16 == np.rint(model.result_.loss * 16)


@pytest.mark.parametrize(
    ("constraint", "kinds", "encode"),
    in_turn(
        [
            (Forbid(0), ["unused"]),
            (Forbid("a"), ["unused"]),
            (Forbid("a >= 2"), ["weight", "weight"]),
            (Monotone("a", +1), ["monotone"]),
            (DemographicParity("a", 0.5), ["parity"]),
        ],
        ["cuts", "both"],
    ),
)
def test_what_is_said_of_a_column_holds_for_all_its_inputs(tmp_path, constraint, kinds, encode):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 4, (24, 2)).astype(float)
    y = (X[:, 0] + X[:, 1] > 3).astype(int)
    model = BDNNClassifier(
        hidden=(2,),
        inputs=Inputs(encode=encode),
        constraints=[constraint],
        limits=Limits(seconds=5),
        random_state=0,
    ).fit(X, y, feature_names=("a", "b"))
    model.save(tmp_path / "model.json")
    claims = [
        claim
        for name, claim in claims_of(tmp_path / "model.json", X, y).items()
        if name.startswith("promise")
    ]
    promised = json.loads((tmp_path / "model.json").read_text())["certificate"]["promises"]
    assert [promise["kind"] for promise in promised] == kinds
    assert {claim.verdict for claim in claims} == {"proven"}
