"""``bdnn train`` with the paper's heuristics."""

from __future__ import annotations

import json

import pytest

from tests.cli.runner import SMALL, assert_refused, run, run_json, write


@pytest.mark.parametrize(
    "options",
    [
        (
            "--method",
            "data_splitting",
            "--epochs",
            "3",
            "--batch-size",
            "20",
            "--validation",
            "0.3",
        ),
        ("--method", "data_splitting", "--paper", "--epochs", "2"),
        ("--method", "local_search", "--starts", "1"),
        ("--method", "local_search", "--paper", "--weights", "ternary"),
    ],
    ids=["splitting", "splitting as in the paper", "local search", "local search as in the paper"],
)
def test_the_heuristics_train(options, tmp_path):
    data, out = write(tmp_path / "small.csv", SMALL), tmp_path / "model.json"
    summary = run_json("train", data, "--hidden", 2, "--time-limit", 30, *options, "--out", out)
    assert summary["method"] == options[1]
    assert summary["loss"] >= summary["bound"]
    steps = json.loads(out.read_text())["result"]["steps"]
    assert steps
    assert all(step["seconds"] >= 0 for step in steps)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epochs", "3"), "data_splitting"),
        (("--method", "exact", "--starts", "3"), "local_search"),
        (("--method", "data_splitting", "--starts", "3"), "local_search"),
        (("--method", "descent", "--paper"), "data_splitting or --method local_search"),
        (("--method", "data_splitting", "--epochs", "0"), "epochs"),
    ],
)
def test_options_of_other_methods_are_refused(options, words):
    assert_refused(run("train", "iris", *options), words)
