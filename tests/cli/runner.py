"""Commands run in this process or, as a user would, in one of their own."""

import json
import subprocess
import sys
from contextlib import chdir, nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from bdnn.cli import main

# Two groups that a line separates; small enough for any solver to prove in no time.
SMALL = "a,b,kind\n" + "".join(
    f"{a},{b},{'yes' if a + b > 5 else 'no'}\n" for a in range(4) for b in range(1, 5)
)


def command(*arguments):
    return [sys.executable, "-m", "bdnn", *map(str, arguments)]


def run(*arguments, cwd=None):
    """Run ``bdnn`` in this process, which has loaded scikit-learn once and for all."""
    out, err = StringIO(), StringIO()
    place = nullcontext() if cwd is None else chdir(cwd)
    with place, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, ended.value.code, out.getvalue(), err.getvalue())


def run_apart(*arguments, **options):
    """Run ``bdnn`` as a user would, in a process of its own."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=120, check=False, **options
    )


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
