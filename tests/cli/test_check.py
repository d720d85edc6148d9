import gzip
import json
import os
import subprocess
import sys

import pytest

from bdnn import limits
from tests.checker.models import edit
from tests.cli.runner import SMALL, assert_refused, command, run, run_json, write


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
    options = ("--hidden", 2, "--method", "descent", "--seconds", 2, "--seed", 3, "--quiet")
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


def forged(model, target, *path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return edit(model, change, target)


RADIUS = {"kind": "radius", "radius": "1e9999999"}
ERROR = {"kind": "error", "at_most": "1e99999999"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("certificate", "promises"), [RADIUS]),
        (("certificate", "promises"), [ERROR]),
        (("certificate", "promises"), [{**ERROR, "at_most": "1/0"}]),
        (("certificate", "promises"), [{**ERROR, "at_most": [1]}]),
        (("certificate", "promises"), [{**RADIUS, "radius": 10**400}]),
        (("certificate", "data", "used"), "1-99999999"),
        (("extra", "rows"), "1-99999999"),
        (("result", "loss"), 10**400),
        (("outputs", "classes"), [[1], [2]]),
        (("encoder", "numbers", 0, "factor"), 0),
        (("result",), 7),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_read_has_exit_code_2(model, small_csv, tmp_path, path, value):
    file = forged(model, tmp_path / "model.json", *path, value=value)
    assert_refused(run("check", file, small_csv))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe of this system")
def test_pipes_devices_and_bombs(model, small_csv, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    # Members of a gzip file unpack one after the other.
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0,1,no\n" * 150_000) * 30)
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        assert_refused(run("check", path, small_csv))
        assert_refused(run("check", model, path))
        assert_refused(run("predict", model, path))
        assert_refused(run("info", path))
    assert_refused(run("predict", model, tmp_path / "bomb.gz"), "unpacks to more than")
    assert_refused(run("check", model, tmp_path / "bomb.gz"))


def test_without_time_all_is_claimed(model, small_csv):
    told = run_json("check", model, small_csv, "--seconds", 0)
    unfinished = [claim for claim in told["claims"] if "not finished in 0 s" in claim["detail"]]
    assert len(unfinished) == told["claimed"] == 5
    assert_refused(run("check", model, small_csv, "--seconds", -1), "--seconds")


def peak_of(*arguments):
    """Exit code and most megabytes of a command."""
    measure = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", measure, *command(*arguments)], capture_output=True, text=True
    )
    code, kilobytes = map(int, done.stdout.split())
    return code, kilobytes / 1000 / (1000 if sys.platform == "darwin" else 1)


@pytest.mark.skipif(sys.platform == "win32", reason="measured by the system")
@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("[]", 1_600_000),
        pytest.param("1.5", 5_600_000, marks=pytest.mark.long),
        pytest.param('"ab"', 1_900_000, marks=pytest.mark.long),
        pytest.param('{"a":0}', 450_000, marks=pytest.mark.long),
    ],
)
def test_the_largest_files_take_little_memory(small_csv, tmp_path, value, count):
    """As many small values as are parsed at all, with a right checksum."""
    path = tmp_path / "model.json"
    text = f'{{"a":[{",".join([value] * count)}],"format":"bdnn-model","version":1}}'
    path.write_text(text)
    for arguments in (("check", path, small_csv), ("info", path)):
        code, megabytes = peak_of(*arguments)
        assert code == 2
        assert megabytes < limits.CHECKER_BYTES / 10**6
