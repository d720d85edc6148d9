"""Constraints on the command line, each through a real process."""

import json

import pytest

from bdnn import load
from tests.cli.runner import assert_refused, run, run_json

FAST = ("--target", "kind", "--hidden", 2, "--seconds", 30, "--test-size", 0)


@pytest.mark.parametrize("method", ["exact", "local_search", "data_splitting"])
def test_limits_reach_the_network_and_the_certificate(method, small_csv, tmp_path):
    out = tmp_path / "model.json"
    options = ("--max-weights", 7, "--max-weights-per-unit", 2, "--max-features", 1)
    options += ("--max-units", 1, "--monotone", "a:+", "--forbid", "b", "--method", method)
    summary = run_json("train", small_csv, *FAST, *options, "--out", out)
    model = load(out)
    assert model.network_.architecture.hidden == (1,)
    assert not model.network_.weights[0][:, 1].any()
    assert summary["objective"] is None
    checked = run("check", out, small_csv, "--target", "kind", "--json")
    verdicts = {c["name"]: c["verdict"] for c in json.loads(checked.stdout)["claims"]}
    assert checked.returncode == 0, checked.stdout
    assert verdicts["promise count"] == verdicts["promise monotone"] == "proven"
    assert verdicts["promise unused"] == "proven"


def test_prices_are_told_apart_from_the_loss(small_csv):
    options = ("--weight-price", 0.25, "--l1", 0.25, "--parity", "b:0.5", "--method", "exact")
    done = run("train", small_csv, *FAST, *options)
    assert done.returncode == 0, done.stderr
    assert "objective" in done.stdout


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--forbid", "z"), ("Forbid('z')", "a, b")),
        (("--monotone", "a"), ("--monotone", "'a'")),
        (("--parity", "a:much"), ("--parity", "'a:much'")),
        (("--opportunity", "b:1"), ("EqualOpportunity('b', 1.0)", "no sample")),
    ],
)
def test_bad_input_is_one_sentence(small_csv, options, parts):
    assert_refused(run("train", small_csv, *FAST, *options, "--quiet"), *parts)
