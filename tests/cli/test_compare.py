"""``bdnn compare``: networks of several sizes beside plain models."""

import pytest

from tests.cli.runner import assert_refused, run, run_json


def test_a_table_and_a_picture(small_csv, tmp_path):
    out = tmp_path / "compare.png"
    options = ("--budgets", "300,900", "--seconds", 1, "--out", out)
    told = run_json("compare", small_csv, "--target", "kind", *options)
    names = [each["name"] for each in told["models"]]
    assert names[:3] == ["network, 300 bytes", "network, 900 bytes", "majority class"]
    for each in told["models"]:
        assert 0 <= each["accuracy"] <= 1
        assert each["error"] > 0
        assert each["bytes"] > 0
        assert each["microseconds"] > 0
    assert told["models"][0]["bytes"] <= 300
    assert out.read_bytes().startswith(b"\x89PNG")


def test_every_row_is_judged_by_folds(small_csv):
    done = run("compare", small_csv, "--cv", 2, "--budgets", "800", "--seconds", 1, "-q")
    assert done.returncode == 0, done.stderr
    assert "16 rows, each judged by models that have not seen it:" in done.stdout
    assert "forest of 100 trees" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--budgets 1k", "--budgets must be"),
        ("--out compare.doc", "must end in .png"),
        ("--test-size 0", "no rows to judge by"),
    ],
)
def test_bad_input(options, message, small_csv):
    assert_refused(run("compare", small_csv, *options.split()), message)
