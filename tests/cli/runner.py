"""Commands run as a user would, each in a process of its own."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bdnn.cli import main

# Two groups that a line separates; small enough for any solver to prove in no time.
SMALL = "a,b,kind\n" + "".join(
    f"{a},{b},{'yes' if a + b > 5 else 'no'}\n" for a in range(4) for b in range(1, 5)
)


def command(*arguments):
    return [sys.executable, "-m", "bdnn", *map(str, arguments)]


def default_signals():
    """For ``preexec_fn``: undo what a shell in the background or nohup ignores for all below it."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def run(*arguments, timeout=120, **options):
    """Run ``bdnn`` and return the finished process, with its output as text."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=timeout, check=False, **options
    )


def run_here(capsys, *arguments):
    """Run ``bdnn`` in this process, which has loaded scikit-learn once and for all."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, ended.value.code, told.out, told.err)


def run_json(*arguments, **options):
    """Run a command that succeeds and return the one JSON object on its standard output."""
    done = run(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def assert_refused(done, *parts):
    """Check that bad input gave exit code 2 and one sentence on standard error."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
