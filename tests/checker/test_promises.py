"""Promises are checked by kind; unknown ones are claims."""

import numpy as np
import pytest

import bdnn
from bdnn.checker import read_model
from bdnn.encoding import Encoder
from bdnn.model import Model
from bdnn.model_file import ModelRecord, write_model
from tests.checker.models import X, Y, claims_of, edit, train
from tests.sentences import assert_one_sentence


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("promises") / "model.json"
    return path, train(path, hidden=(2,), method="descent")


def promised(trained, tmp_path, promise, data=(X, Y)):
    def change(content):
        content["certificate"]["promises"] = [promise]

    path = edit(trained[0], change, tmp_path / "model.json")
    found = claims_of(path, *data)
    return found[next(name for name in found if name.startswith("promise"))]


@pytest.mark.parametrize(
    ("promise", "verdict"),
    [
        ({"kind": "sparsity", "layer": 1, "at_most": 2}, "proven"),
        ({"kind": "sparsity", "layer": 1, "at_most": 0}, "false"),
        ({"kind": "sparsity", "layer": 9, "at_most": 2}, "false"),
        ({"kind": "error", "at_most": 1}, "proven"),
        ({"kind": "error", "at_most": 0.0}, "false"),
        ({"kind": "error", "at_most": 1.0, "class": "yes"}, "proven"),
        ({"kind": "error", "at_most": 1.0, "class": "maybe"}, "false"),
        ({"kind": "unused", "features": []}, "proven"),
        ({"kind": "unused", "features": ["a", "b"]}, "false"),
        ({"kind": "unused", "features": ["c"]}, "false"),
        ({"kind": "convex", "feature": "a"}, "claimed"),
        ({"kind": ["a"]}, "claimed"),
        ({}, "claimed"),
        ({"kind": "radius", "radius": 0, "space": "scaled"}, "proven"),
        ({"kind": "radius", "radius": -1}, "false"),
        ({"kind": "radius", "radius": 9, "norm": "l2"}, "false"),
        ({"kind": "radius", "radius": 1, "norm": "l0"}, "claimed"),
        ({"kind": "radius", "radius": 0, "rows": ""}, "false"),
        ({"kind": "radius", "radius": 0, "rows": "1-24"}, "proven"),
        ({"kind": "radius", "radius": 0, "rows": "1-25"}, "false"),
        ({"kind": "radius", "radius": 0, "rows": "1-99999999"}, "false"),
        ({"kind": "right", "rows": ""}, "false"),
        ({"kind": "right", "rows": "1-99999999"}, "false"),
        ({"kind": "sparsity", "layer": 0, "at_most": 2}, "false"),
        ({"kind": "unused", "features": [2]}, "false"),
        ({"kind": "count", "what": "total", "at_most": ["1e300"]}, "proven"),
        ({"kind": "count", "what": "total", "at_most": ["1/3"]}, "false"),
        ({"kind": "weight", "layer": 2, "unit": 0, "input": 0, "value": 1}, "false"),
    ],
    ids=str,
)
def test_kinds(trained, tmp_path, promise, verdict):
    assert promised(trained, tmp_path, promise).verdict == verdict


HUGE = "1e99999999"


@pytest.mark.parametrize(
    "promise",
    [
        {"kind": "monotone", "feature": "a"},
        {"kind": "radius"},
        {"kind": "radius", "radius": 1, "rows": "x"},
        {"kind": "radius", "radius": 1, "rows": "2,1"},
        {"kind": "radius", "radius": 1, "rows": "1,1"},
        {"kind": "radius", "radius": 1, "rows": 5},
        {"kind": "radius", "radius": HUGE},
        {"kind": "radius", "radius": "1e-99999999"},
        {"kind": "radius", "radius": "9" * 401},
        {"kind": "radius", "radius": "1/0"},
        {"kind": "radius", "radius": "nan"},
        {"kind": "radius", "radius": [1]},
        {"kind": "radius", "radius": True},
        {"kind": "error", "at_most": HUGE},
        {"kind": "error", "at_most": None},
        {"kind": "error", "at_most": 1, "class": ["yes"]},
        {"kind": "parity", "feature": 0, "class": "yes", "at_most": HUGE, "only_own": False},
        {"kind": "parity", "feature": 0, "class": "yes", "at_most": 1, "only_own": 2},
        {"kind": "count", "what": "total", "at_most": 5},
        {"kind": "count", "what": "total", "at_most": [HUGE]},
        {"kind": "count", "what": ["total"], "at_most": [1]},
        {"kind": "sparsity", "at_most": "many"},
        {"kind": "sparsity", "at_most": 1, "layer": "1"},
        {"kind": "unused", "features": 0},
        {"kind": "unused", "features": [-1]},
        {"kind": "unused", "features": [None]},
        {"kind": "weight", "layer": 0, "unit": 0, "input": 1.0, "value": 1},
    ],
    ids=lambda promise: str(promise)[:70],
)
def test_promises_that_cannot_be_read_are_refused(trained, tmp_path, promise):
    """Neither false nor claimed: nobody knows what they say."""
    with pytest.raises(bdnn.errors.ModelFileError, match="promise 1 of the model file") as caught:
        promised(trained, tmp_path, promise)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("space", ["raw", "scaled"])
def test_radius_between_proof_and_counter_example(trained, tmp_path, space, norm):
    """Trying many inputs around a sample never contradicts the verdict."""
    model = trained[1]
    rng = np.random.default_rng(0)
    weight = model.encoder_.factor if space == "scaled" else np.ones(2)
    order = {"linf": np.inf, "l1": 1, "l2": 2}[norm]
    verdict_at = {}
    for row in (1, 2, 3, 4):
        for radius in (0.01, 0.2, 0.7, 2.0, 8.0):
            promise = {"kind": "radius", "radius": radius, "space": space, "rows": str(row)}
            verdict = promised(trained, tmp_path, {**promise, "norm": norm}).verdict
            moves = rng.uniform(-1, 1, (3000, 2))
            moves[:200] = np.sign(moves[:200])
            moves[200:300] *= [0, 1]
            moves[300:400] *= [1, 0]
            moves *= radius / np.linalg.norm(moves, ord=order, axis=1)[:, None]
            moves[1500:] *= rng.random((1500, 1))
            classes = model.predict(X[row - 1] + moves * (1 - 1e-12) / weight)
            changes = bool((classes != model.predict(X[row - 1 : row])[0]).any())
            assert verdict != ("proven" if changes else "false")
            verdict_at[row, radius] = verdict
    assert {"proven", "false"} <= set(verdict_at.values())


@pytest.mark.parametrize(
    "promise",
    [
        {"kind": "unused", "features": ["c"]},
        {"kind": "monotone", "feature": "b", "sign": 1, "class": "yes"},
        {"kind": "parity", "feature": "b", "class": "yes", "at_most": 1, "only_own": False},
    ],
    ids=lambda promise: promise["kind"],
)
def test_names_are_those_of_the_data(tmp_path, promise):
    """The first of three features has no weight, and the second only pushes upwards."""
    X = np.array([[0, 0, 3], [1, 0, 2], [0, 1, 1], [1, 1, 0]], dtype=float)
    y = ["no", "no", "yes", "yes"]
    shape = bdnn.Architecture.create(3, 2, hidden=(), weights="ternary")
    network = bdnn.Network(shape, ([[0, -1, 0], [0, 1, 0]],), ([-0.5, 0.5],))
    names = ("c", "b", "a")
    result = {"loss": 0, "bound": 0, "error": 0, "status": "optimal"}
    path = tmp_path / "model.json"

    def verdict(file_names, data_names):
        model = Model(Encoder.of_features(3, file_names), network, ("no", "yes"))
        certificate = {"promises": [promise]}
        write_model(ModelRecord(model, result=result, certificate=certificate), path)
        found = claims_of(path, X, y, names=data_names)
        return found[f"promise {promise['kind']}"].verdict, found.get("names of the inputs")

    assert verdict(names, names)[0] == "proven"
    assert verdict(None, names)[0] == "proven"
    assert verdict(names, None)[0] == "claimed"
    for data_names in (("a", "c", "b"), ("x", "y", "z")):
        told, claim = verdict(names, data_names)
        assert told == "false"
        assert claim.verdict == "false"
    # Renamed in the file alone, so that the promise seems to be about another feature.
    told, claim = verdict(("b", "c", "a"), ("a", "b", "c"))
    assert (told, claim.verdict) == ("false", "false")


def test_a_class_without_rows_has_no_share_of_errors(trained, tmp_path):
    promise = {"kind": "error", "at_most": 1, "class": "yes"}
    keep = Y == "no"

    def change(content):
        content["certificate"]["promises"] = [promise]
        del content["certificate"]["data"]

    path = edit(trained[0], change, tmp_path / "model.json")
    assert claims_of(path, X[keep], Y[keep])["promise error"].verdict == "false"


def test_promises_about_other_data_are_claims(trained, tmp_path):
    promise = {"kind": "error", "at_most": 1.0}
    assert promised(trained, tmp_path, promise, (X[1:], Y[1:])).verdict == "claimed"


@pytest.mark.parametrize("promises", [{"kind": "error"}, [1], "x", [{"kind": "own"}] * 1001])
def test_promises_that_are_no_list(trained, tmp_path, promises):
    def change(content):
        content["certificate"]["promises"] = promises

    with pytest.raises(bdnn.errors.ModelFileError):
        read_model(edit(trained[0], change, tmp_path / "model.json"))


@pytest.mark.parametrize(
    ("part", "value"),
    [("factor", "turned"), ("output", "identity"), ("certificate", [1])],
)
def test_files_that_the_loader_refuses_are_not_checked(trained, tmp_path, part, value):
    def change(content):
        if part == "factor":
            content["encoder"]["numbers"][0]["factor"] *= -1
        elif part == "output":
            content["network"]["output"] = value
        else:
            content[part] = value

    path = edit(trained[0], change, tmp_path / "model.json")
    with pytest.raises(bdnn.errors.ModelFileError):
        read_model(path)
    with pytest.raises(bdnn.errors.ModelFileError):
        bdnn.load(path)
