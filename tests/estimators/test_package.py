"""What `import bdnn` gives and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bdnn


def test_public_names_are_sorted_and_importable():
    assert list(bdnn.__all__) == sorted(bdnn.__all__)
    for name in bdnn.__all__:
        assert getattr(bdnn, name) is not None
    assert dir(bdnn) == sorted(bdnn.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bdnn.nothing


def test_every_error_has_the_common_base():
    from bdnn import errors

    found = [value for value in vars(errors).values() if isinstance(value, type)]
    assert {error.__name__ for error in found} == {
        "BDNNError",
        "DataError",
        "InfeasibleError",
        "ModelError",
        "ModelFileError",
        "NoSolutionError",
        "SolverNotAvailableError",
        "UnsupportedFeatureError",
    }
    assert all(issubclass(error, bdnn.BDNNError) for error in found)


def loaded_after(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_heavy_one():
    heavy = {"sklearn", "numba", "ortools", "highspy", "pyscipopt", "gurobipy", "scipy", "pandas"}
    assert not loaded_after("import bdnn") & heavy


def test_the_classifier_loads_no_solver():
    solvers = {"ortools", "highspy", "pyscipopt", "gurobipy"}
    assert not loaded_after("from bdnn import BDNNClassifier; BDNNClassifier()") & solvers
