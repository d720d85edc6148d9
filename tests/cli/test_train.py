import sys

import pytest

from bdnn import load
from tests.cli.runner import SMALL, assert_refused, run, run_json, write

FAST = ("--hidden", 2, "--objective", "loss", "--seconds", 60)


def test_csv_to_model(small_csv, tmp_path):
    out = tmp_path / "model.json"
    done = run("train", small_csv, "--target", "kind", *FAST, "--test-size", 0, "--out", out)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-2].startswith("next: no mistake on the training rows: --smallest")
    assert lines[-1].startswith("next: nothing is known of new rows: --test-size")
    told = dict(line.split("  ", 1) for line in lines[:-2])
    assert list(told) == [
        *("network", "status", "loss", "bound", "gap", "method", "time"),
        *("train accuracy", "test accuracy", "size", "saved"),
    ]
    values = {name: value.strip() for name, value in told.items()}
    assert values["status"].startswith("optimal: no network of this shape has a smaller loss on")
    assert values["loss"] == "0"
    assert values["bound"].startswith("0 (")
    assert values["train accuracy"] == "100 % of 16 rows"
    assert values["test accuracy"] == "not measured"
    assert values["saved"] == str(out)
    model = load(out)
    assert model.input_names_ == ("a", "b")
    assert model.extra_["target"]["name"] == "kind"
    assert list(tmp_path.iterdir()) == [out]


def test_json_is_all_there_is(small_csv):
    summary = run_json("train", small_csv, *FAST)
    assert summary["status"] == "optimal"
    assert summary["loss"] == summary["bound"] == summary["gap"] == 0
    assert summary["train_rows"] + summary["test_rows"] == 16
    assert 0 <= summary["test_accuracy"] <= 1
    assert summary["classes"] == ["no", "yes"]
    assert summary["size_bits"] > 0
    assert summary["out"] is None


def test_first_rows_train_and_the_others_test():
    summary = run_json(
        "train", "uniform", "--rows", 12, "--hidden", 1, "--objective", "loss", "--quiet"
    )
    assert (summary["train_rows"], summary["test_rows"]) == (12, 188)


ROWS = "a,b,y\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(20))


def test_text_columns_are_noted(tmp_path):
    data = write(tmp_path / "t.csv", "color;size;y\n" + "red;1;0\nblue;2;1\nred;;1\nblue;4;0\n" * 2)
    done = run("train", data, *FAST, "--missing", "mean", "--test-size", 0)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: column 'color' is text: 'blue', 'red'",
        "note: column 'size' has no value in 2 rows",
    ]


def test_missing_values_are_refused_if_asked(tmp_path):
    data = write(tmp_path / "t.csv", ROWS.replace("\n3,0,", "\n3,,"))
    assert_refused(run("train", data, *FAST, "--missing", "error"), "no value in row")


def test_columns_as_bits(tmp_path):
    out = tmp_path / "model.json"
    data = write(
        tmp_path / "t.csv", "day;color;size;y\n" + "2024-01-01;red;1;0\n2024-01-02;blue;;1\n" * 4
    )
    done = run("train", data, *FAST, "--inputs", "cuts", "--cuts", 3, "--drop", "day", "--out", out)
    assert done.returncode == 0, done.stderr
    assert load(out).encoder_.input_names == ("color = blue", "color = red", "size is missing")
    assert run_json("predict", out, data)["predictions"] == [0, 1] * 4
    assert run("check", out, data).returncode == 0


def test_constant_feature_works(tmp_path):
    rows = [line + ",7" for line in SMALL.splitlines()]
    data = write(tmp_path / "t.csv", "\n".join([SMALL.splitlines()[0] + ",c", *rows[1:]]))
    summary = run_json("train", data, "--target", "kind", *FAST)
    assert summary["loss"] == 0


def test_contradicting_rows_give_a_bound(tmp_path):
    data = write(tmp_path / "t.csv", SMALL + "0,1,yes\n3,4,no\n")
    summary = run_json("train", data, *FAST, "--test-size", 0)
    assert summary["status"] == "optimal"
    assert summary["loss"] >= summary["bound"] > 0
    assert summary["train_accuracy"] == 16 / 18


def test_limit_is_a_note_not_a_warning(tmp_path):
    done = run("train", "breast-cancer", "--hidden", 5, "--method", "exact", "--seconds", 1)
    assert done.returncode == 0
    assert "note: training was ended (time limit)" in done.stderr
    assert "Warning" not in done.stderr
    assert "time limit" in done.stdout


def test_quiet(small_csv):
    done = run("train", small_csv, *FAST, "--quiet")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(ROWS.replace("\n3,0,", "\n3,inf,"), "infinite in row 4", id="inf"),
        pytest.param(ROWS.replace("\n3,0,", "\n3,1e300,"), "beyond 1e+100 in row 4", id="huge"),
        pytest.param(ROWS.replace("\n3,0,", "\n3,abc,"), "the text 'abc' in row 4", id="text"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("a,b,y\n", "no rows of data", id="header only"),
        pytest.param("a,b,y\n1,2,0\n", "1 row of data", id="one row"),
        pytest.param("a,b,y\n1,2,0\n3,4,0\n", "the one class 0", id="one class"),
        pytest.param("a,b,y\n1,2,0\n3,4\n", "row 2", id="ragged"),
        pytest.param("a,a,y\n1,2,0\n3,4,1\n", "two columns of the name 'a'", id="twice"),
        pytest.param("a,b,y\n1,2,0\n3,4,\n", "target column 'y'", id="no label"),
    ],
)
def test_bad_table(text, message, tmp_path):
    data = write(tmp_path / "t.csv", text)
    out = tmp_path / "model.json"
    assert_refused(run("train", data, *FAST, "--out", out), message)
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hidden", 0], "hidden must be"),
        (["--hidden", "-3"], "hidden must be"),
        (["--hidden", "few"], "--hidden must be whole numbers"),
        (["--weights", "quaternary"], "weights must be"),
        (["--solver", "oracle"], "solver must be 'auto' or one of"),
        (["--method", "magic"], "method must be"),
        (["--scale", "log"], "scale must be"),
        (["--seconds", 0], "seconds must be a positive number"),
        (["--test-size", 1], "test size must be"),
        (["--rows", 1], "--rows must be from 2 to 16"),
        (["--jobs", 0], "--jobs must be"),
        (["--method", "descent", "--solver", "highs"], "method 'descent' does not take solver"),
        (["--robust-loss", "average"], "are for --radius"),
        (["--norm", "l1"], "are for --radius"),
        (["--max-error", 0.1], "--max-error is for --smallest"),
        (["--smallest", "--hidden", 3], "--smallest looks for the width itself"),
        (["--class-weight", "heavy"], "--class-weight must be"),
        (["--missing", "zero"], "missing must be"),
        (["--target", "color"], "has no column 'color': choose one of 'a', 'b', 'kind'"),
    ],
)
def test_bad_options(options, message, small_csv, tmp_path):
    arguments = ["train", small_csv, "--out", tmp_path / "model.json", *options]
    assert_refused(run(*arguments), message)
    assert list(tmp_path.iterdir()) == []


def test_bad_option_of_a_process(small_csv, tmp_path):
    out = tmp_path / "model.json"
    assert_refused(run("train", small_csv, "--hidden", 0, "--out", out), "hidden must be")
    assert not out.exists()


def test_place_to_write_is_checked_first(small_csv, tmp_path):
    assert_refused(run("train", "nothing.csv", "--out", tmp_path), "no ordinary file")
    assert_refused(run("train", "nothing.csv", "--out", tmp_path / "a" / "m.json"), "no folder")


def test_no_such_data():
    assert_refused(run("train", "nothing.csv"), "no file 'nothing.csv' and no built-in data set")
    assert_refused(run("train", "uniform", "--target", "kind"), "has the target 'label'")


def test_solver_that_is_not_installed(small_csv, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    out = tmp_path / "model.json"
    done = run("train", small_csv, "--solver", "gurobi", "--out", out)
    assert_refused(done, "which is not installed", "bdnn[gurobi]")
    assert not out.exists()


def test_limits_of_training(small_csv):
    told = run_json("train", small_csv, "--hidden", 1, "--loss-limit", 30, "--method", "exact")
    assert told["loss"] <= 30
    assert told["status"] in ("optimal", "loss limit")
    refused = run("train", small_csv, "--method", "descent", "--nodes", 3)
    assert_refused(refused, "limits: nodes", "'descent'")


def test_the_default_says_what_to_expect_of_new_rows(tmp_path):
    rows = "".join(f"{i % 7},{'ab'[i % 2]},{'yes' if i % 7 > 3 else 'no'}\n" for i in range(120))
    data = write(tmp_path / "t.csv", "size,kind,big\n" + rows)
    out = tmp_path / "model.json"
    told = run_json("train", data, "--seconds", 3, "--out", out)
    assert told["status"] == "selected"
    assert told["test_accuracy"] == 1.0
    assert told["held_out"]["accuracy"] > 0.9
    names = [each["name"] for each in told["held_out"]["candidates"]]
    assert "tree" in names
    shown = run("info", out).stdout
    assert "expected accuracy" in shown
    assert told["held_out"]["chosen"] in shown
    assert "\ngap" not in shown
    assert "\nbound" not in shown
    assert "nothing is proven" in shown
    assert told["held_out"]["error"] > 0
    small = run_json("train", data, "--seconds", 3, "--max-bytes", 60)
    assert small["held_out"]["bytes"] <= 60
    numbers = write(tmp_path / "n.csv", "size,big\n" + "1,0\n2,1\n" * 9)
    narrow = run("train", numbers, "--objective", "loss", "--max-bytes", 60)
    assert_refused(narrow, "max_bytes is for objective 'accuracy'")
    exact = run("train", numbers, "--objective", "accuracy", "--method", "exact")
    assert_refused(exact, "objective 'accuracy' chooses how to train by itself, got method")
