import pytest

from tests.cli.runner import SMALL, run_apart, write


@pytest.fixture(scope="session")
def small_csv(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "small.csv", SMALL)


@pytest.fixture(scope="session")
def model(small_csv, tmp_path_factory):
    """A model file, trained on the small table by a real process."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    done = run_apart(
        *("train", small_csv, "--hidden", 2, "--objective", "loss"),
        *("--test-size", 0, "--out", path, "--quiet"),
    )
    assert done.returncode == 0, done.stderr
    return path
