import json
import signal
import subprocess
import time

import pytest

from bdnn.cli.commands.reproduce import describe, duration
from bdnn.experiments import names
from bdnn.experiments.runner import Progress
from tests.cli.runner import assert_refused, command, run, run_apart, run_json, write
from tests.experiments.tiny import TINY
from tests.signals import default_signals

# Without networks: what is tested here is the command.
START, END = (
    TINY.index(mark) for mark in ('[[methods]]\nname = "DS"', '[[methods]]\nname = "DNN"')
)
SMALL = (TINY[:START] + TINY[END : TINY.index("[[paper]]")]).replace(
    'seeds = [0, 1, 2]', "seeds = [0]"
)  # fmt: skip


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    return write(tmp_path_factory.mktemp("own") / "own.toml", SMALL)


def test_without_a_name_it_lists_what_exists():
    listed = run_json("reproduce", "--jobs", 2)
    assert [record["name"] for record in listed["experiments"]] == list(names())
    assert all(record["full_seconds"] > 0 for record in listed["experiments"])
    total = sum(record["full_seconds"] for record in listed["experiments"])
    assert total < 4 * 3600
    quick = sum(record["quick_seconds"] for record in listed["experiments"])
    assert quick < 600


def test_the_benchmarks():
    done = run_apart("bench")
    assert done.returncode == 0
    for name in names("benchmarks"):
        assert name in done.stdout


def test_a_run_of_ones_own(experiment, tmp_path):
    folder = tmp_path / "out"
    estimate = run_json("reproduce", experiment, "--estimate", "--out", folder, "--jobs", 1)
    assert (estimate["cells"], estimate["done"]) == (4, 0)
    assert not folder.exists()
    first = run_apart("reproduce", experiment, "--out", folder, "--jobs", 1, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "4 of 4 done, 0 running, 0 failed" in first.stderr
    assert "4 of 4 done, 0 failed" in first.stdout
    assert {path.name for path in folder.iterdir()} == {
        "results.jsonl",
        "report.html",
        "report.md",
        "figures",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert "bdnn reproduce own.toml --out out" in (folder / "report.md").read_text()
    assert str(tmp_path) not in (folder / "report.md").read_text()
    before = (folder / "results.jsonl").read_bytes()
    again = run_json("reproduce", experiment, "--out", folder, "--jobs", 1, "--quiet")
    assert (again["cells"], again["done"], again["failed"]) == (4, 4, 0)
    assert (folder / "results.jsonl").read_bytes() == before


def test_the_first_seeds(tmp_path):
    path = write(tmp_path / "own.toml", SMALL.replace("seeds = [0]", "seeds = [5, 3, 4]"))
    arguments = ("reproduce", path, "--seeds", 2)
    assert run_json(*arguments, "--estimate")["cells"] == 8
    done = run_json(*arguments, "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    assert (done["cells"], done["done"]) == (8, 8)
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert {json.loads(line)["work"]["seed"] for line in lines} == {5, 3}
    report = (tmp_path / "out" / "report.md").read_text()
    assert "bdnn reproduce own.toml --seeds 2 --out out" in report
    assert "Numbers are means over 2 seeds" in report


def test_ctrl_c_keeps_what_is_done(tmp_path):
    # The tree comes first and is soon done, the network never ends.
    text = SMALL.replace("epochs = 5", "epochs = 100_000_000")
    dnn = text[text.index("[[methods]]") : text.index('[[methods]]\nname = "tree"')]
    text = text.replace(dnn, "").replace("[table]", f"{dnn}[table]")
    path = write(tmp_path / "long.toml", text)
    results = tmp_path / "out" / "results.jsonl"
    arguments = ("reproduce", path, "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    with subprocess.Popen(
        command(*arguments), stderr=subprocess.PIPE, text=True, preexec_fn=default_signals
    ) as process:
        while not results.exists() or not results.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "what is done is kept" in told
    assert [json.loads(line)["status"] for line in results.read_text().splitlines()] == ["done"]
    assert "1 of 4 cells are done" in (tmp_path / "out" / "report.md").read_text()


def test_a_report_of_nothing_is_incomplete(experiment, tmp_path):
    done = run("reproduce", experiment, "--out", tmp_path, "--report-only", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["done"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9", "--out", "x"], "no experiment 'table9'"),
        (["table1"], "add --out FOLDER"),
        (["--out", "x"], "--out has no effect without a name"),
        (["table1", "--out", "x", "--jobs", "0"], "--jobs must be at least 1"),
        (["table1", "--out", "x", "--seeds", "0"], "--seeds must be at least 1"),
        (["table1", "--out", "x", "--jobs", "2", "--scheduler", "tcp://a:1"], "not for a cluster"),
        (["table1", "--estimate", "--retry"], "--retry has no effect"),
        (["table1", "--out", "x", "--report-only", "--retry"], "leave one out"),
        (["none.toml", "--out", "x"], "none.toml"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message, tmp_path):
    assert_refused(run("reproduce", *arguments, cwd=tmp_path), message)
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(experiment):
    assert_refused(run("reproduce", experiment, "--out", experiment), "it is no folder")


def test_progress_in_one_line():
    under_way = {"a": "iris 50 DNN seed 0", "b": "iris 50 DNN seed 1"}
    progress = Progress(10, 4, 1, handed_over=under_way, seconds_left=75.0)
    line = describe(progress)
    assert line == "4 of 10 done, 1 running, 1 failed, 75 s left  iris 50 DNN seed 0"
    assert describe(Progress(10)) == "0 of 10 done, 0 running, 0 failed"


def test_durations():
    assert [duration(s) for s in (3, 600, 7200, float("nan"))] == [
        "3 s",
        "10 min",
        "2.0 h",
        "unknown",
    ]
