"""``bdnn curve``: sizes, accuracies and a picture."""

import pytest

from tests.cli.runner import assert_refused, run, run_json


def test_points_of_a_curve(small_csv, tmp_path):
    out = tmp_path / "curve.png"
    options = ("--budgets", "900,300", "--seconds", "2", "--out", out)
    told = run_json("curve", small_csv, "--target", "kind", *options)
    assert [point["max_bytes"] for point in told["points"]] == [300, 900]
    assert all(point["bytes"] <= point["max_bytes"] for point in told["points"])
    assert told["points"][0]["test_accuracy"] is not None
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_table_for_people(small_csv):
    done = run("curve", small_csv, "--budgets", "800", "--seconds", "1", "--test-size", "0", "-q")
    assert done.returncode == 0, done.stderr
    assert "expected accuracy" in done.stdout
    assert "unknown" in done.stdout  # there are no rows to test on


@pytest.mark.parametrize(
    ("options", "message"),
    [("--budgets 1k", "--budgets must be"), ("--out curve.doc", "must end in .png")],
)
def test_bad_input(options, message, small_csv):
    assert_refused(run("curve", small_csv, *options.split()), message)
