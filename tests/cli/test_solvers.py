import json
import subprocess
import sys

from bdnn.solvers.registry import SOLVERS
from tests.cli.runner import run_apart, run_json


def test_json():
    listed = run_json("solvers")["solvers"]
    assert [entry["name"] for entry in listed] == list(SOLVERS)
    for entry in listed:
        solver = SOLVERS[entry["name"]]
        assert entry["installed"] == solver.is_available()
        assert entry["version"] == (solver.version() if solver.is_available() else None)
        assert entry["features"]


def test_table():
    done = run_apart("solvers")
    assert done.returncode == 0
    for name in SOLVERS:
        assert name in done.stdout


def test_missing_solver_says_how_to_install():
    code = (
        "import sys; sys.modules['gurobipy'] = None\nfrom bdnn.cli import main; main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "solvers"], capture_output=True, text=True, check=True
    )
    assert "not installed (pip install 'bdnn[gurobi]')" in done.stdout
    done = subprocess.run(
        [sys.executable, "-c", code, "solvers", "--json"], capture_output=True, text=True
    )
    entry = next(e for e in json.loads(done.stdout)["solvers"] if e["name"] == "gurobi")
    assert (entry["installed"], entry["version"]) == (False, None)
