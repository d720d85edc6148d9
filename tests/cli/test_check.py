import json

import pytest

from tests.checker.models import edit
from tests.cli.runner import SMALL, assert_refused, run, run_json, write


def test_all_is_proven(model, small_csv):
    told = run_json("check", model, small_csv, "--enumerate")
    assert told["rows"] == 16
    assert told["false"] == told["claimed"] == 0
    assert told["proven"] == len(told["claims"]) >= 9
    assert {"name", "verdict", "detail"} == set(told["claims"][0])


def test_printed(model, small_csv):
    done = run("check", model, small_csv)
    assert done.returncode == 0
    assert done.stderr == ""
    for part in ("claim", "loss", "proven", "0 false"):
        assert part in done.stdout


def test_false_claim_has_exit_code_1(model, small_csv, tmp_path):
    def better(content):
        content["result"]["loss"] = -1.0

    done = run("check", edit(model, better, tmp_path / "model.json"), small_csv, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["false"] >= 1
    assert any(c["name"] == "loss" and c["verdict"] == "false" for c in told["claims"])


def test_other_data(model, small_csv, tmp_path):
    other = write(tmp_path / "other.csv", SMALL.replace("3,4,yes", "3,5,yes"))
    assert run("check", model, other).returncode == 1
    assert run("check", model, small_csv, "--rows", 10).returncode == 1


def test_split_of_a_built_in_data_set(tmp_path):
    """The rows that were trained on are known to the file."""
    path = tmp_path / "model.json"
    options = ("--hidden", 2, "--method", "descent", "--time-limit", 2, "--seed", 3, "--quiet")
    run("train", "iris", *options, "--out", path)
    told = run_json("check", path, "iris")
    assert (told["rows"], told["false"]) == (120, 0)
    verdicts = {claim["name"]: claim["verdict"] for claim in told["claims"]}
    assert verdicts["training data"] == verdicts["loss"] == "proven"


@pytest.mark.parametrize("seed", range(2))
def test_damaged_files(model, small_csv, tmp_path, seed):
    data = bytearray(model.read_bytes())
    data[seed * 77 + 30] ^= 1
    path = tmp_path / "model.json"
    path.write_bytes(bytes(data))
    assert run("check", path, small_csv).returncode in (1, 2)
    assert_refused(run("info", path))


def test_bad_input(model, small_csv, tmp_path):
    assert_refused(run("check", model, tmp_path / "none.csv"), "no file")
    assert_refused(run("check", tmp_path / "none.json", small_csv), "cannot be read")
    assert_refused(run("check", model, small_csv, "--rows", 99), "--rows")
    assert_refused(run("check", model, "iris"), "no class of the model")
