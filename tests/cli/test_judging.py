"""What ``bdnn train`` says of rows that were not trained on."""

import json

import numpy as np
import pytest

from bdnn import load
from tests.cli.runner import assert_refused, run, run_json, write

FAST = ("--hidden", 1, "--objective", "loss", "--method", "descent", "--seconds", 20)


def table(tmp_path, columns, name="t.csv"):
    rows = zip(*columns.values(), strict=True)
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)])
    return write(tmp_path / name, text + "\n")


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 120)).round(2)
    return {"a": a, "b": b, "kind": np.where(a + b > 0, "yes", "no")}


def test_figures_are_printed_and_kept(tmp_path, drawn):
    out = tmp_path / "model.json"
    done = run("train", table(tmp_path, drawn), *FAST, "--out", out)
    assert done.returncode == 0, done.stderr
    for part in (
        "24 rows that were not trained on:",
        "precision",
        "true class \\ predicted",
        "logistic regression",
        "forest of 100 trees",
        "AUC",
        "next: ",
    ):
        assert part in done.stdout
    kept = load(out).extra_["assessment"]
    assert kept["figures"]["rows"] == 24
    assert kept["rivals"][0]["name"] == "majority class"
    told = run("info", out).stdout
    assert "24 rows that were not trained on:" in told
    assert run_json("info", out)["assessment"] == json.loads(json.dumps(kept))


def test_test_accuracy_is_that_of_the_figures(tmp_path, drawn):
    told = run_json("train", table(tmp_path, drawn), *FAST, "--no-baselines")
    assert told["assessment"]["figures"]["accuracy"] == told["test_accuracy"]
    assert told["assessment"]["trained"] == told["train_accuracy"]
    assert told["assessment"]["rivals"] == []
    assert 1 <= len(told["next"]) <= 2


def test_cross_validation_judges_every_row_once(tmp_path, drawn):
    drawn["a"][60:] = drawn["a"][:60]  # equal rows stay together
    drawn["b"][60:] = drawn["b"][:60]
    drawn["kind"][60:] = drawn["kind"][:60]
    told = run_json("train", table(tmp_path, drawn), *FAST, "--cv", 3, "--quiet")
    assert (told["train_rows"], told["test_rows"]) == (120, 0)
    found = told["assessment"]
    assert (found["origin"], found["folds"]) == ("cross-validation", 3)
    assert found["figures"]["rows"] == 120
    assert found["warnings"] == []
    assert_refused(run("train", "iris", "--cv", 1), "--cv must be from 2")


def test_the_learner_has_figures_without_a_test(tmp_path, drawn):
    told = run_json("train", table(tmp_path, drawn), "--test-size", 0, "--seconds", 1)
    assert told["assessment"]["origin"] == "cross-validation"
    assert told["assessment"]["figures"]["rows"] == 120


def test_a_number_of_the_row_is_a_leak(tmp_path, drawn):
    order = np.argsort(drawn["kind"], kind="stable")
    noise = {"row": np.arange(120), "a": drawn["a"], "kind": drawn["kind"][order]}
    data = table(tmp_path, noise)
    done = run("train", data, *FAST, "--no-baselines")
    assert "warning: column 'row' counts the rows" in done.stdout
    assert "next: leave a column out: --drop row" in done.stdout
    told = run_json("train", data, *FAST, "--drop", "row")
    assert not any("counts" in text for text in told["assessment"]["warnings"])


def test_regression(tmp_path, drawn):
    drawn["kind"] = drawn["a"] + 0.1 * drawn["b"]
    done = run("train", table(tmp_path, drawn), "--regression", "--hidden", 4, "--seconds", 1)
    assert done.returncode == 0, done.stderr
    assert "R2" in done.stdout
    assert "ridge regression" in done.stdout


def test_numbers_that_are_no_classes_name_the_way_out(tmp_path, drawn):
    drawn["kind"] = drawn["a"]
    assert_refused(run("train", table(tmp_path, drawn), *FAST), "--regression")


def test_a_column_that_the_network_does_not_look_at_is_no_leak(tmp_path, drawn):
    drawn = {"row": np.arange(len(drawn["a"])), **drawn}
    told = run_json("train", table(tmp_path, drawn), *FAST, "--forbid", "row")
    assert not [text for text in told["assessment"]["warnings"] if "'row'" in text]


def test_a_class_that_is_never_said_has_no_precision(tmp_path, drawn):
    drawn["kind"] = np.where(np.arange(120) % 10 == 0, "rare", "usual")
    drawn["a"][:] = drawn["b"][:] = 1  # which tells nothing
    done = run("train", table(tmp_path, drawn), *FAST, "--out", tmp_path / "model.json")
    assert done.returncode == 0, done.stderr
    (rare,) = (line for line in done.stdout.splitlines() if line.split()[:2] == ["rare", "never"])
    assert rare.split()[1:3] == ["never", "said"]
    assert "warning: no better than always saying 'usual'" in done.stdout
    assert "bdnn export" not in done.stdout  # nobody needs that in C


def test_a_file_from_another_country(tmp_path, drawn):
    lines = zip(*drawn.values(), strict=True)
    text = "".join(f"{a};;{b};{kind}\r\n".replace(".", ",") for a, b, kind in lines)
    data, out = write(tmp_path / "t.csv", f"a;leer;b;kind\r\n{text}"), tmp_path / "model.json"
    done = run("train", data, *FAST, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "with a decimal comma" in done.stderr
    assert "left out the column 'leer'" in done.stderr
    assert load(out).model_.feature_names == ("a", "b")
    assert run("check", out, data).returncode == 0
    plain = write(
        tmp_path / "plain.csv", f"a;b;kind\r\n{text}".replace(",", ".").replace(";;", ";")
    )
    told, plainly = (run_json("evaluate", out, path) for path in (data, plain))
    assert told["others"] == plainly["others"]
    assert told["others"]["rows"] == 24


def test_expected_accuracy_says_where_classes_are_weighted(tmp_path, drawn):
    told = []
    for more in ([], ["--class-weight", "balanced"]):
        out = tmp_path / "model.json"
        fast = ("--seconds", 2, "--no-baselines", "--out", out)
        done = run("train", table(tmp_path, drawn), *fast, *more)
        assert done.returncode == 0, done.stderr
        both = done.stdout, run("info", out).stdout
        told.append(["on new rows, weighted by class, by cross" in text for text in both])
    assert told == [[False, False], [True, True]]
