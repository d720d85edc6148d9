"""Promises are checked by kind; unknown ones are claims."""

import numpy as np
import pytest

import bdnn
from bdnn.checker import read_model
from tests.checker.models import X, Y, claims_of, edit, train, verdicts


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
        ({"kind": "monotone", "feature": "a"}, "false"),
        ({"kind": ["a"]}, "claimed"),
        ({}, "claimed"),
        ({"kind": "radius", "radius": 0, "space": "scaled"}, "proven"),
        ({"kind": "radius", "radius": -1}, "false"),
        ({"kind": "radius", "radius": 1, "norm": "l2"}, "claimed"),
        ({"kind": "radius", "radius": 1, "rows": "x"}, "false"),
        ({"kind": "radius"}, "false"),
    ],
    ids=str,
)
def test_kinds(trained, tmp_path, promise, verdict):
    assert promised(trained, tmp_path, promise).verdict == verdict


@pytest.mark.parametrize("space", ["raw", "scaled"])
def test_radius_between_proof_and_counter_example(trained, tmp_path, space):
    """Trying many inputs around a sample never contradicts the verdict."""
    model = trained[1]
    rng = np.random.default_rng(0)
    verdict_at = {}
    for row in (1, 2, 3, 4):
        for radius in (0.01, 0.2, 0.7, 2.0):
            promise = {"kind": "radius", "radius": radius, "space": space, "rows": str(row)}
            verdict = promised(trained, tmp_path, promise).verdict
            moves = rng.uniform(-radius, radius, (3000, 2))
            moves[:200] = np.sign(moves[:200]) * radius
            if space == "raw":
                classes = model.predict(X[row - 1] + moves)
                own = model.predict(X[row - 1 : row])[0]
            else:
                centre = model.scaler_.transform(X[row - 1 : row])
                classes = model.classes_[model.network_.predict(centre + moves)]
                own = model.classes_[model.network_.predict(centre)][0]
            changes = bool((classes != own).any())
            assert verdict != ("proven" if changes else "false")
            verdict_at[row, radius] = verdict
    assert {"proven", "false"} <= set(verdict_at.values())


def test_promises_about_other_data_are_claims(trained, tmp_path):
    promise = {"kind": "error", "at_most": 1.0}
    assert promised(trained, tmp_path, promise, (X[1:], Y[1:])).verdict == "claimed"


def test_promises_that_are_no_list(trained, tmp_path):
    def change(content):
        content["certificate"]["promises"] = {"kind": "error"}

    assert verdicts(edit(trained[0], change, tmp_path / "model.json"))["promises"] == "false"


@pytest.mark.parametrize(
    ("part", "value"),
    [("factor", "turned"), ("output", "identity"), ("certificate", [1])],
)
def test_files_that_the_loader_refuses_are_not_checked(trained, tmp_path, part, value):
    def change(content):
        if part == "factor":
            content["scaler"]["factor"][0] *= -1
        elif part == "output":
            content["version"], content["architecture"]["output"] = 2, value
        else:
            content[part] = value

    path = edit(trained[0], change, tmp_path / "model.json")
    with pytest.raises(bdnn.errors.ModelFileError):
        read_model(path)
    with pytest.raises(bdnn.errors.ModelFileError):
        bdnn.load(path)
