import subprocess
import sys

import pytest

import bdnn
from bdnn.cli import main
from tests.cli.runner import assert_refused, run

COMMANDS = [
    "train",
    "predict",
    "evaluate",
    "info",
    "plot",
    "reproduce",
    "bench",
    "datasets",
    "solvers",
]


def test_version():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"bdnn {bdnn.__version__}\n"


def test_nothing_shows_help():
    done = run()
    assert done.returncode == 0
    for name in COMMANDS:
        assert name in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"Example: bdnn {name}" in capsys.readouterr().out


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
def test_usage_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert message in told.err


def test_usage_error_of_a_process():
    assert_refused(run("train", "iris", "--rows", "few"), "--rows")
