import pytest

from bdnn.evaluation.figures import share_error
from tests.cli.runner import SMALL, assert_refused, run, run_apart, run_json, write


def test_perfect_model(model, small_csv):
    told = run_json("evaluate", model, small_csv, "--target", "kind")
    assert told["rows"] == 16
    assert told["accuracy"] == 1
    assert told["loss"] == 0
    n_yes = SMALL.count("yes")
    assert told["confusion"] == [[16 - n_yes, 0], [0, n_yes]]
    error = share_error(n_yes, n_yes)
    assert told["classes"][1] == {
        "label": "yes",
        "precision": 1.0,
        "precision_error": error,
        "recall": 1.0,
        "recall_error": error,
        "f1": 1.0,
        "rows": n_yes,
    }


def test_wrong_labels_are_counted(model, tmp_path):
    data = write(tmp_path / "t.csv", "a,b,truth\n0,1,yes\n0,1,no\n3,4,yes\n3,4,yes\n")
    told = run_json("evaluate", model, data, "--target", "truth")
    assert told["accuracy"] == 0.75
    assert told["loss"] == 2  # both outputs of the one wrong row
    assert told["confusion"] == [[1, 0], [1, 2]]
    assert told["auc"] == pytest.approx(
        5 / 6
    )  # pairs of a yes and a no that are in order, a tie counting half
    assert 0.3 < told["log_loss"] < 3
    no = told["classes"][0]
    assert (no["precision"], no["recall"]) == (0.5, 1.0)


def test_printed(model, small_csv):
    done = run_apart("evaluate", model, small_csv)
    assert done.returncode == 0
    assert "accuracy  100 %" in done.stdout
    assert "log loss" in done.stdout
    assert "precision" in done.stdout
    assert "true class \\ predicted" in done.stdout


def test_without_header(model, tmp_path):
    data = write(tmp_path / "t.csv", "0,1,no\n3,4,yes\n3,4,no\n")
    assert run_json("evaluate", model, data)["confusion"] == [[1, 1], [0, 1]]


def test_bad_tables(model, tmp_path):
    data = write(tmp_path / "t.csv", "a,b,kind\n0,1,maybe\n")
    assert_refused(run("evaluate", model, data), "label 'maybe' is no class of the model")
    data = write(tmp_path / "t.csv", "a,b\n0,1\n")
    assert_refused(run("evaluate", model, data), "has no column 'kind'")


def test_rows_that_were_trained_on_are_told_from_others(model, small_csv, tmp_path):
    assert "all of these rows were trained on" in run("evaluate", model, small_csv).stdout
    data = write(tmp_path / "t.csv", "a,b,kind\n0,1,no\n3,4,yes\n9,9,no\n")
    told = run_json("evaluate", model, data)
    assert told["trained_on"]["rows"] == 2
    assert told["trained_on"]["accuracy"] == 1
    assert told["others"]["confusion"] == [[0, 1], [0, 0]]
    done = run("evaluate", model, data)
    assert "1 rows that were not trained on:\naccuracy  0 %" in done.stdout
