"""``--activation`` through the commands."""

from __future__ import annotations

import pytest

from tests.cli.runner import SMALL, assert_refused, run, run_apart, run_json, write


def test_train_info_check_predict_export(tmp_path):
    data, out, header = (
        write(tmp_path / "small.csv", SMALL),
        tmp_path / "model.json",
        tmp_path / "model.h",
    )
    options = ("--hidden", 2, "--activation", "ternary", "--seed", 0, "--seconds", 60)
    trained = run_json("train", data, *options, "--out", out)
    assert (trained["status"], trained["loss"]) == ("optimal", 0.0)
    assert trained["network"].endswith("ternary activation")
    told = run_json("info", out)
    assert told["activation"] == ["ternary"]
    assert "-1 below" in told["rules"]
    checked = run("check", out, data)
    assert checked.returncode == 0, checked.stdout
    assert "0 false" in checked.stdout
    assert run("predict", out, data).returncode == 0
    assert run_apart("export", out, "--to", "c", "--out", header).returncode == 0
    assert "ternary activation" in header.read_text()


def test_one_activation_per_layer(tmp_path):
    data = write(tmp_path / "small.csv", SMALL)
    trained = run_json(
        "train", data, "--hidden", "2,2", "--activation", "values:-1/0/2,step", "--seconds", 20
    )
    assert trained["network"].endswith("values:-1/0/2, step activation")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--activation", "relu"], "activation must be"),
        (["--activation", "values:1/0"], "ascending"),
        (["--activation", "values:-1/0/1@1/0"], "thresholds in ascending order"),
        (["--activation", "sign,sign"], "one per hidden layer, got 2 for 1"),
    ],
)
def test_bad_activations_are_refused(options, message, tmp_path):
    data = write(tmp_path / "small.csv", SMALL)
    assert_refused(run("train", data, "--out", tmp_path / "model.json", *options), message)
    assert not (tmp_path / "model.json").exists()
