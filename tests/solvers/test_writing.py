"""A written program is read by others and has the same optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bdnn.errors import ModelError
from bdnn.program import Program
from bdnn.solvers import Highs, Scip, write_program
from tests.solvers.programs import cone, knapsack_with_offset, mixed, squares


def named() -> Program:
    """Names, ranges, free variables, an empty row and a row without sides."""
    program = Program()
    x = program.add_variables("e1", (2, 3), lower=-2, upper=3, integer=True)
    y = program.add_variables("y", (2,), lower=-np.inf, upper=np.inf)
    rows = np.concatenate([x, y[:, None]], axis=1)
    program.add_rows("active1", rows, [1, 2, -1, 0.5], lower=-2.25, upper=3.5)
    program.add_rows("free", x, [1, 0, 0])
    program.add_rows("nothing", x, 0, upper=1)
    program.add_rows("exact", y[None], 1, lower=0.5, upper=0.5)
    program.add_rows("least", y[:, None], 1, lower=-3)
    program.minimise(x, [1, -0.3, 0.7])
    program.minimise(y, [0.1, 0.2])
    program.offset = 2.5
    return program


def read_by_highs(path: Path) -> float:
    highspy = pytest.importorskip("highspy")
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.readModel(str(path))
    model.run()
    return float(model.getInfo().objective_function_value)


def read_by_scip(path: Path) -> float:
    model = pytest.importorskip("pyscipopt").Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return float(model.getObjVal())


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("build", [named, mixed, knapsack_with_offset])
def test_linear_round_trip(build, ending: str, tmp_path: Path) -> None:
    program, path = build(), tmp_path / f"program.{ending}"
    write_program(program, path)
    expected = Highs().solve(program).objective
    assert read_by_highs(path) == pytest.approx(expected)
    assert read_by_scip(path) == pytest.approx(expected)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("build", [squares, cone])
def test_quadratic_round_trip(build, ending: str, tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt")
    program, path = build(), tmp_path / f"program.{ending}"
    write_program(program, str(path))
    assert read_by_scip(path) == pytest.approx(Scip().solve(program).objective, abs=1e-4)


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_blocks_are_named(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"program.{ending}"
    write_program(named(), path)
    text = path.read_text()
    for name in ("e1_0_0", "e1_1_2", "y_1", "active1_0", "exact_0"):
        assert name in text


def test_cones_are_named(tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt")
    path = tmp_path / "program.lp"
    write_program(cone(), path)
    assert "length_0:" in path.read_text()


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"written to \.lp or \.mps"):
        write_program(named(), tmp_path / "program.txt")
    with pytest.raises(ModelError, match="cannot be written"):
        write_program(named(), tmp_path / "missing" / "program.lp")
    monkeypatch.setattr("bdnn.solvers.base.find_spec", lambda package: None)
    with pytest.raises(ModelError, match="bdnn\\[scip\\]"):
        write_program(cone(), tmp_path / "program.lp")
