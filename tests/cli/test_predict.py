import os
import pickle
import subprocess

import pytest

from bdnn import BDNNClassifier, load
from bdnn.datasets import Samples, read_table
from tests.cli.runner import SMALL, assert_refused, command, run, run_json, write

LABELS = [line.rsplit(",", 1)[1] for line in SMALL.splitlines()[1:]]


def test_labels_on_standard_output(model, small_csv):
    done = run("predict", model, small_csv)
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["prediction", *LABELS]
    assert done.stderr == ""  # the target is no column that was left aside


def test_other_columns_are_noted(model, small_csv, tmp_path):
    head, *rows = small_csv.read_text().splitlines()
    wider = tmp_path / "wider.csv"
    wider.write_text("\n".join([f"serial,{head}", *(f"9,{row}" for row in rows)]) + "\n")
    assert run("predict", model, wider).stderr == "note: took no input from the column 'serial'\n"


def test_json(model, small_csv, tmp_path):
    out = tmp_path / "labels.csv"
    told = run_json("predict", model, small_csv, "--out", out)
    assert told["predictions"] == LABELS
    assert told["rows"] == 16
    assert told["notes"] == []
    assert out.read_text().splitlines() == ["prediction", *LABELS]


def test_other_order_and_no_target(model, tmp_path):
    data = write(tmp_path / "new.csv", "b;a\n1;0\n4;3\n")
    out = tmp_path / "labels.csv"
    done = run("predict", model, data, "--out", out)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout == f"2 predictions written to {out}\n"
    assert out.read_text() == "prediction\nno\nyes\n"


def test_one_row_without_header(model, tmp_path):
    told = run_json("predict", model, write(tmp_path / "new.csv", "3,4\n"))
    assert told["predictions"] == ["yes"]


def test_model_made_in_python(tmp_path):
    """A model without a table in its file takes columns by place, or by name if it has some."""
    X, y = [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [2.0, 0.0]], [5, 7, 5, 7]
    path = tmp_path / "model.json"
    BDNNClassifier(hidden=(1,), objective="loss", random_state=0).fit(X, y).save(path)
    data = write(tmp_path / "new.csv", "0,1\n1,0\n")
    assert run_json("predict", path, data)["predictions"] == [5, 7]


def test_reader_who_has_enough(model, small_csv):
    ours, theirs = os.pipe()
    os.close(ours)
    process = subprocess.run(
        command("predict", model, small_csv),
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    assert process.returncode == 0
    assert process.stderr == ""


def test_same_answers_as_the_estimator(model, small_csv):
    samples = Samples.from_table(read_table(small_csv))
    said = run_json("predict", model, small_csv)["predictions"]
    assert said == load(model).predict(samples.X).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,c\n1,2\n", "lacks the column 'b'"),
        ("a,b\n1,x\n", "the text 'x' in row 1"),
        ("a,b\n1,inf\n", "infinite in row 1"),
        ("a,b\n", "no rows of data"),
    ],
)
def test_bad_table(text, message, model, tmp_path):
    data = write(tmp_path / "new.csv", text)
    out = tmp_path / "labels.csv"
    assert_refused(run("predict", model, data, "--out", out), message)
    assert not out.exists()


def break_file(kind, model, path):
    text = model.read_text()
    if kind == "truncated":
        path.write_text(text[: len(text) // 2])
    elif kind == "edited":
        assert text.count('"no"') == 1
        path.write_text(text.replace('"no"', '"nay"'))
    elif kind == "other version":
        path.write_text(text.replace('"version": 3', '"version": 99'))
    elif kind == "zeros":
        with path.open("wb") as file:
            file.truncate(2**30)
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(load(model)))
    elif kind == "empty":
        path.write_text("")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("truncated", "damaged or not a model file"),
        ("edited", "was changed after it was written"),
        ("other version", "has version 99"),
        ("zeros", "1073741824 bytes"),
        ("pickle", "not a model file"),
        ("empty", "not a model file"),
        ("absent", "cannot be read"),
    ],
)
def test_bad_model(kind, message, model, small_csv, tmp_path):
    path, out = tmp_path / "bad.json", tmp_path / "labels.csv"
    break_file(kind, model, path)
    assert_refused(run("predict", path, small_csv, "--out", out), message)
    assert not out.exists()


def test_place_to_write_is_checked_first(model, tmp_path):
    done = run("predict", model, "nothing.csv", "--out", tmp_path / "a" / "labels.csv")
    assert_refused(done, "no folder")
