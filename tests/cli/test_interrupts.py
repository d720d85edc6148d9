"""Requests to end a command, sent to real processes."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
from contextlib import contextmanager

import pytest

from bdnn import load
from bdnn.cli.requests import as_ctrl_c, undisturbed
from tests.cli.runner import command
from tests.signals import default_signals

# Not to be solved within seconds, so that there is something to interrupt.
HARD = ("train", "breast-cancer", "--hidden", 5, "--method", "exact", "--weights", "continuous")


@contextmanager
def training(*arguments, **options):
    """A process that has begun to solve."""
    process = subprocess.Popen(
        command(*HARD, "--seconds", 600, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,
        **options,
    )
    try:
        line = ""
        while " solve " not in line:
            line = process.stderr.readline()
            assert line, "ended before the solver began"
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_request_to_end_keeps_the_best_network(tmp_path):
    out = tmp_path / "model.json"
    with training("--out", out) as process:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        told, rest = process.communicate(timeout=120)
    assert process.returncode == 0, rest
    assert "status          interrupted" in told
    assert load(out).result_.status == "interrupted"


@pytest.mark.long
def test_a_closed_terminal_keeps_the_best_network(tmp_path):
    out = tmp_path / "model.json"
    ours, theirs = pty.openpty()

    def take_terminal():
        default_signals()
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        command(*HARD, "--seconds", 600, "--out", out),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=take_terminal,
    )
    os.close(theirs)
    try:
        shown = b""
        while b"solve" not in shown:
            shown += os.read(ours, 4096)
        os.close(ours)
        process.wait(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert load(out).result_.status == "interrupted"


def test_a_folder_that_goes_away_does_not_take_the_network_along(tmp_path):
    folder, spare = tmp_path / "folder", tmp_path / "spare"
    folder.mkdir()
    spare.mkdir()
    out = folder / "model.json"
    with training("--out", out, "--json", env=os.environ | {"TMPDIR": str(spare)}) as process:
        folder.rmdir()
        process.send_signal(signal.SIGTERM)
        told, rest = process.communicate(timeout=120)
    assert process.returncode == 2
    (place,) = spare.glob("*.json")
    assert json.loads(told)["out"] == str(place)
    why = f"cannot write {out}: No such file or directory"
    assert rest.splitlines()[-1] == f"error: {why}: the network is in {place} instead."
    assert load(place).result_.status == "interrupted"


@pytest.fixture
def usual_signals():
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        signal.SIGTERM: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("usual_signals")
def test_once_as_ctrl_c_and_never_while_saving():
    with as_ctrl_c(), undisturbed():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.raise_signal(number)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with as_ctrl_c():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)  # a second request finds the interpreter on its way out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_a_caller_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with as_ctrl_c():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
