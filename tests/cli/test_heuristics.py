"""``bdnn train`` with the paper's heuristics."""

from __future__ import annotations

import json

import pytest

from tests.cli.runner import SMALL, assert_refused, run, run_json, write


@pytest.mark.parametrize(
    "options",
    [
        ("data_splitting", "--set", "epochs=3", "--set", "batch_size=20", "--validation", "0.3"),
        ("data_splitting", "--set", "paper=true", "--set", "epochs=2"),
        ("local_search", "--set", "starts=1"),
        ("local_search", "--set", "paper=true", "--weights", "ternary"),
    ],
    ids=["splitting", "splitting as in the paper", "local search", "local search as in the paper"],
)
def test_the_heuristics_train(options, tmp_path):
    data, out = write(tmp_path / "small.csv", SMALL), tmp_path / "model.json"
    limits = ("--hidden", 2, "--seconds", 30, "--out", out)
    summary = run_json("train", data, *limits, "--method", *options)
    assert summary["method"] == options[0]
    assert summary["loss"] >= summary["bound"]
    steps = json.loads(out.read_text())["result"]["steps"]
    assert steps
    assert all(step["seconds"] >= 0 for step in steps)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "epochs=3"), "--method data_splitting, got method 'auto'"),
        (("--method", "exact", "--set", "starts=3"), "--method local_search"),
        (("--method", "data_splitting", "--set", "starts=3"), "choose among epochs, batch_size"),
        (("--method", "descent", "--set", "paper=true"), "data_splitting or --method local_search"),
        (("--method", "data_splitting", "--set", "epochs=0"), "epochs"),
        (("--method", "data_splitting", "--set", "epochs=2.5"), "epochs must be a whole number"),
        (("--method", "data_splitting", "--set", "patience=true"), "patience must be a number"),
        (("--method", "data_splitting", "--set", "paper=1"), "paper must be true or false"),
        (("--set", "speed=3"), "--set speed is for no method"),
        (("--set", "epochs"), "--set must be KEY=VALUE, got 'epochs'"),
        (("--set", "ridge=1"), "--set ridge is for --regression"),
    ],
)
def test_settings_of_other_methods_are_refused(options, words):
    assert_refused(run("train", "iris", *options), words)
