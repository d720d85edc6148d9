import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from bdnn import load
from bdnn.cli import progress
from bdnn.training.result import Progress
from tests.cli.runner import command, default_signals

LINE = re.compile(r" *\d+\.\d s  \w+ +loss [\d.]+  bound [\d.]+  gap \d+(\.\d+)? %")
# Not to be solved within seconds, so that there is something to watch and to interrupt.
HARD = ("train", "breast-cancer", "--hidden", 5, "--method", "exact", "--weights", "continuous")


def test_lines_and_interrupt(tmp_path):
    """Ctrl-C keeps the best network: the file is written and the exit code is 0."""
    out = tmp_path / "model.json"
    process = subprocess.Popen(
        command(*HARD, "--seconds", 60, "--out", out),
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
        told, rest = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, rest
    for line in lines:
        assert LINE.fullmatch(line.rstrip("\n")), line
    assert "note: training was ended (interrupted)" in rest
    assert re.search(r"^status +interrupted$", told, re.MULTILINE)
    assert load(out).result_.status == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_before_training(number, tmp_path):
    out = tmp_path / "model.json"
    code = (
        "import sys, time\n"
        "from bdnn.cli import main, source\n"
        "def wait(*_, **__): print('waits', flush=True); time.sleep(60)\n"
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
        _, told = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130
    assert told == "error: interrupted, nothing was written.\n"
    assert not out.exists()


def test_bar_on_a_terminal():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*HARD, "--seconds", 2, "--json"), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other side was closed
                break
        told, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        os.close(ours)
    assert process.returncode == 0
    assert told.startswith(b"{")
    assert "━".encode() in shown
    assert b"\x1b[" in shown
    assert b"loss" in shown


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(progress, "_TICK", 0.01)
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.1)
    monkeypatch.setattr(progress, "_HEARTBEAT", 0.5)


def test_at_most_one_line_per_interval(fast, capsys):
    with progress.ProgressDisplay(60.0, live=False) as display:
        started = time.monotonic()
        loss = 1000
        while time.monotonic() - started < 0.45:
            loss -= 1
            display(Progress(0.0, "solve", loss, 0.0))
            time.sleep(0.001)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 6
    assert all(LINE.fullmatch(line) for line in lines)


def test_heartbeat_without_change(fast, capsys):
    with progress.ProgressDisplay(60.0, live=False) as display:
        display(Progress(0.0, "solve", 8.0, 2.0))
        time.sleep(1.3)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 3
    assert all(line.endswith("solve     loss 8  bound 2  gap 75 %") for line in lines)


def test_display_ends_with_an_error(fast):
    def fail():
        with progress.ProgressDisplay(60.0, live=False):
            raise ValueError("training failed")

    with pytest.raises(ValueError, match="training failed"):
        fail()
    assert "bdnn-progress" not in [thread.name for thread in threading.enumerate()]


def test_numbers_that_are_not_known():
    assert progress.describe(None) == "prepare"
    told = progress.describe(Progress(0.0, "build", float("inf"), float("-inf")))
    assert told == "build     loss unknown  bound unknown  gap unknown"
