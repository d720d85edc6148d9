import os
import pty
import re
import signal
import subprocess
import sys
import threading

import pytest

from bdnn import load, progress
from bdnn.cli.fitting import describe
from bdnn.training.result import Progress
from tests.cli.runner import command
from tests.grids import long
from tests.signals import default_signals

LINE = re.compile(r" *\d+\.\d s  \w+ +loss [\d.]+  bound [\d.]+  gap \d+(\.\d+)? %")
# Not to be solved within seconds, so that there is something to watch and to interrupt.
HARD = ("train", "breast-cancer", "--hidden", 5, "--method", "exact", "--weights", "continuous")


def test_lines_and_interrupt(tmp_path):
    """Ctrl-C keeps the best network: the file is written and the exit code is 0."""
    out = tmp_path / "model.json"
    process = subprocess.Popen(
        command(*HARD, "--seconds", 600, "--out", out),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,
    )
    try:
        lines = []
        while not (lines and " solve " in lines[-1]):
            lines.append(process.stderr.readline())
            assert lines[-1], "ended before the solver began"
        process.send_signal(signal.SIGINT)
        told, rest = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, rest
    for line in lines:
        assert LINE.fullmatch(line.rstrip("\n")), line
    assert "note: training was ended (interrupted)" in rest
    assert re.search(r"^status +interrupted$", told, re.MULTILINE)
    assert load(out).result_.status == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, *long(signal.SIGTERM)])
def test_interrupt_before_training(number, tmp_path):
    out = tmp_path / "model.json"
    code = (
        "import sys, time\n"
        "from bdnn.cli import main, source\n"
        "def wait(*_, **__): print('waits', flush=True); time.sleep(600)\n"
        "source.training_samples = wait\n"
        "main(sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "train", "iris", "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,
    )
    try:
        assert process.stdout.readline() == "waits\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert told == "error: interrupted, nothing was written.\n"
    assert not out.exists()


def test_bar_on_a_terminal():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*HARD, "--seconds", 1, "--json"), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other side was closed
                break
        told, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        os.close(ours)
    assert process.returncode == 0
    assert told.startswith(b"{")
    assert "━".encode() in shown
    assert b"\x1b[" in shown
    assert b"loss" in shown


def written(texts, every=0.125):
    """Texts that are written, of one every eighth of a second."""
    lines = progress.Lines()
    return [text for i, text in enumerate(texts, start=1) if lines.is_due(every * i, text)]


def test_at_most_one_line_a_second():
    texts = [str(i) for i in range(1, 41)]
    assert written(texts) == ["1", "9", "17", "25", "33"]


def test_heartbeat_without_change():
    assert written(["same"] * 200) == ["same"] * 3
    assert written(["prepare"] * 200) == ["prepare"] * 2


def test_the_last_moment_is_always_shown(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_TICK", 600.0)
    with progress.ProgressDisplay(describe, 60.0, live=False) as display:
        display(Progress(0.0, "search", 9.0, 2.0))
        display(Progress(0.0, "solve", 8.0, 2.0))
    (last,) = capsys.readouterr().err.splitlines()
    assert LINE.fullmatch(last)
    assert last.endswith("solve     loss 8  bound 2  gap 75 %")
    lines = progress.Lines()
    assert lines.is_due(1.0, "first")
    assert not lines.is_due(1.1, "second")
    assert lines.is_due(1.2, "second", has_ended=True)


def test_a_bar_of_something_else_than_time(capsys):
    with progress.ProgressDisplay(str, 10, reached=float, live=True) as display:
        display(4)
    assert "bdnn-progress" not in [thread.name for thread in threading.enumerate()]


def test_display_ends_with_an_error(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_TICK", 600.0)

    def fail():
        with progress.ProgressDisplay(describe, 60.0, live=False) as display:
            display(Progress(0.0, "solve", 8.0, 2.0))
            raise ValueError("training failed")

    with pytest.raises(ValueError, match="training failed"):
        fail()
    assert capsys.readouterr().err == ""
    assert "bdnn-progress" not in [thread.name for thread in threading.enumerate()]


def test_numbers_that_are_not_known():
    told = describe(Progress(0.0, "build", float("inf"), float("-inf")))
    assert told == "build"
