"""The program of a training as a file, constraints included."""

from __future__ import annotations

import highspy
import numpy as np
import pytest

import bdnn
from bdnn.constraints import Forbid, Sparsity

X = np.array([[a, b, (a * b) % 3] for a in range(4) for b in range(3)], dtype=float)
Y = (X[:, 0] + 2 * X[:, 2] > 3).astype(int)


def optimum(path):
    """What HiGHS finds for a file, by itself."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(path))
    solver.run()
    return solver.getInfo().objective_function_value


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_another_solver_finds_the_same_optimum_of_the_file(tmp_path, ending):
    terms = [Forbid(2), Sparsity(per_unit=1)]
    model = bdnn.BDNNClassifier(hidden=(1,), constraints=terms, method="exact").fit(X, Y)
    assert model.result_.status == "optimal"
    path = model.write_program(tmp_path / f"model.{ending}")
    assert optimum(path) == pytest.approx(model.result_.loss)
    free = bdnn.BDNNClassifier(hidden=(1,), method="exact").fit(X, Y)
    assert optimum(free.write_program(tmp_path / f"free.{ending}")) < model.result_.loss


def test_a_model_of_a_file_has_no_samples_to_write(tmp_path):
    model = bdnn.BDNNClassifier(hidden=(1,), method="exact").fit(X, Y)
    model.save(tmp_path / "model.json")
    with pytest.raises(bdnn.BDNNError, match="does not hold the samples"):
        bdnn.load(tmp_path / "model.json").write_program(tmp_path / "model.lp")
