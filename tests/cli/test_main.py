import subprocess
import sys

import pytest

import bdnn
from bdnn.cli import app
from tests.cli.runner import assert_refused, run, run_apart

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def test_version():
    done = run_apart("--version")
    assert done.returncode == 0
    assert done.stdout == f"bdnn {bdnn.__version__}\n"


def test_nothing_shows_help():
    done = run()
    assert done.returncode == 0
    for name in COMMANDS:
        assert name in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name):
    done = run(name, "--help")
    assert done.returncode == 0
    assert f"Example: bdnn {name}" in done.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom bdnn.cli import main\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'sklearn', 'scipy', 'numba', 'ortools', 'highspy'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "No such command 'fly'"),
        (["train"], "Missing argument 'DATA'"),
        (["train", "iris", "--speed", "3"], "--speed"),
        (["train", "iris", "--seconds", "long"], "--seconds"),
        (["train", "iris", "--seed", "-1"], "--seed"),
        (["predict", "model.json"], "Missing argument 'DATA'"),
    ],
)
def test_usage_errors(arguments, message):
    assert_refused(run(*arguments), message)


def test_usage_error_of_a_process():
    assert_refused(run_apart("train", "iris", "--rows", "few"), "--rows")


def test_a_process_does_not_wait_for_what_it_leaves_behind():
    code = """
import sys, threading
from bdnn.clock import BackgroundLoad
from bdnn.cli import main
BackgroundLoad(threading.Event().wait, name="never").start()
sys.argv = ["bdnn", "--version"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.startswith("bdnn ")


def test_a_signal_at_the_very_end_changes_nothing():
    code = """
import atexit, os, signal, sys
from bdnn.cli import main
atexit.register(os.kill, os.getpid(), signal.SIGTERM)
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["bdnn", "--version"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("bdnn ")


def test_an_interrupt_within_exec_has_its_exit_code(tmp_path):
    code = """
import bdnn.cli
bdnn.cli.app = lambda *_, **__: exec("raise KeyboardInterrupt")
bdnn.cli.main()
"""
    (tmp_path / "interrupted.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted, nothing was written.\n")
