import shutil
import subprocess

import pytest

from tests.cli.runner import assert_refused, run, run_json


def test_c(model, tmp_path):
    out = tmp_path / "My model.h"
    told = run_json("export", model, "--out", out, "--labels")
    assert told["function"] == "int my_model_predict(const uint8_t x[2])"
    assert told["arithmetic"] == "integers only, no multiplication"
    assert told["flash_bytes"] > 0
    assert told["stack_bytes"] >= 0
    text = out.read_text()
    assert "my_model_label" in text
    assert "x[0] a" in text


def test_c_is_verified_with_a_compiler(model, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    out = tmp_path / "model.h"
    told = run_json("export", model, "--out", out, "--verify", 500, "--input", "double")
    assert told["differences"] == 0
    tested = ("--self-test", 9, "--main", "--labels", "--verify", 50)
    assert run_json("export", model, "--out", out, *tested)["differences"] == 0
    program = tmp_path / "program"
    subprocess.run(["gcc", "-x", "c", "-std=c99", out, "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, check=False).returncode == 0


def test_printed_beside_the_model(model, tmp_path):
    copy = shutil.copy(model, tmp_path / "copy.json")
    done = run("export", copy, "--to", "rules")
    assert done.returncode == 0
    assert "copy.txt" in done.stdout
    assert "class yes if" in (tmp_path / "copy.txt").read_text()


def test_onnx(model, tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    told = run_json("export", model, "--to", "onnx", "--out", tmp_path / "m.onnx", "--verify", 200)
    assert told["differences"] == 0
    assert (tmp_path / "m.onnx").stat().st_size == told["bytes"]


def test_bad_input(model, tmp_path):
    out = tmp_path / "model.h"
    assert_refused(run("export", model, "--to", "cobol"), "--to must be")
    assert_refused(run("export", model, "--out", out, "--input", "int7"), "input must be")
    assert_refused(run("export", model, "--out", out, "--range", "1-9"), "LOW:HIGH")
    assert_refused(run("export", model, "--out", out, "--optimise", "fun"), "'size' or 'speed'")
    assert_refused(run("export", model, "--out", out, "--per-unit", "ten"), "--per-unit")
    assert_refused(run("export", model, "--out", out, "--name", "a b"), "C identifier")
    assert_refused(run("export", model, "--out", model), "the model itself")
    assert_refused(run("export", model, "--out", tmp_path / "no" / "m.h"), "no folder")
    assert not out.exists()


@pytest.mark.parametrize(
    ("to", "part"),
    [
        ("sql", b"SELECT"),
        ("js", b"function predict(row)"),
        ("xlsx", b"PK"),
        ("html", b"<div"),
        ("table", b"class"),
    ],
)
def test_other_languages_and_words(model, tmp_path, to, part):
    out = tmp_path / f"out.{to}"
    done = run("export", model, "--to", to, "--out", out)
    assert done.returncode == 0, done.stderr
    assert part in out.read_bytes()
    assert_refused(run("export", model, "--to", to, "--verify", 3, "--out", out), "--verify is for")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_from_csv_to_answers(model, small_csv, tmp_path):
    out = tmp_path / "model.h"
    done = run("export", model, "--csv-main", "--self-test", 5, "--rows", small_csv, "--out", out)
    assert done.returncode == 0, done.stderr
    subprocess.run(["cc", "-x", "c", "-o", tmp_path / "model", out], check=True)
    with open(small_csv, encoding="utf-8") as file:
        answers = subprocess.run(
            [tmp_path / "model"], stdin=file, capture_output=True, text=True, check=True
        ).stdout.split()
    assert answers == run_json("predict", model, small_csv)["predictions"]
