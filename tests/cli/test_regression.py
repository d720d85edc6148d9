"""``bdnn train --regression`` and what the other commands do with its model."""

import json

import pytest

import bdnn
from bdnn.export.c.compiler import native_compiler
from tests.cli.runner import assert_refused, run, run_json, write

TABLE = "a,b,price\n" + "".join(
    f"{a},{b},{10.5 if a + b > 5 else 2.5}\n" for a in range(4) for b in range(1, 5)
)
PLAIN = ("--regression", "--set", "ridge=0", "--set", "smoothing=0")
QUICK = ("--hidden", 2, "--quiet", "--test-size", 0)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("regression") / "table.csv", TABLE)


@pytest.fixture(scope="module")
def model(table):
    path = table.with_name("model.json")
    done = run("train", table, "--target", "price", *PLAIN, *QUICK, "--out", path)
    assert done.returncode == 0, done.stderr
    assert "train R2" in done.stdout
    assert "optimal" in done.stdout
    return path


def test_predictions_are_numbers(model, table):
    lines = run("predict", model, table).stdout.split()
    assert lines[0] == "prediction"
    assert {round(float(line), 6) for line in lines[1:]} == {2.5, 10.5}


def test_evaluate_measures_r2(model, table):
    report = run_json("evaluate", model, table)
    assert report["r2"] == pytest.approx(1.0)
    assert report["rmse"] == pytest.approx(0.0, abs=1e-6)
    assert "R2" in run("evaluate", model, table).stdout


def test_info_shows_a_regressor(model):
    facts = run_json("info", model)
    assert facts["kind"] == "regressor"
    assert facts["target"] == "price"
    text = run("info", model).stdout
    assert "train R2" in text
    assert "value = " in text
    assert "classes" not in text


def test_progress_and_weights_are_drawn_and_regions_refused(model, table, tmp_path):
    pytest.importorskip("matplotlib")
    for what in ("progress", "weights"):
        done = run("plot", model, "--what", what, "--out", tmp_path / f"{what}.png")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"{what}.png").exists()
    assert_refused(run("plot", model, table, "--what", "regions"), "regressor")


def test_rules_are_written(model, tmp_path):
    done = run("export", model, "--to", "rules", "--out", tmp_path / "rules.txt")
    assert done.returncode == 0, done.stderr
    assert "value = " in (tmp_path / "rules.txt").read_text()


@pytest.mark.parametrize(
    "command",
    [
        ("certify", "--radius", "0.1"),
        ("attack", "--radius", "0.1"),
        ("check",),
    ],
    ids=lambda command: command[0],
)
def test_commands_for_classifiers_refuse(command, model, table):
    name, *options = command
    assert_refused(run(name, model, table, *options), "regressor")


def test_c_gives_the_same_numbers(model, tmp_path):
    if native_compiler() is None:
        pytest.skip("there is no C compiler")
    out = tmp_path / "model.h"
    done = run("export", model, "--to", "c", "--verify", 50, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "double y[1]" in out.read_text()
    assert_refused(run("export", model, "--to", "c", "--labels", "--out", out), "labels")


def test_onnx_gives_the_same_numbers(model, tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    done = run("export", model, "--to", "onnx", "--verify", 50, "--out", tmp_path / "model.onnx")
    assert done.returncode == 0, done.stderr


def test_the_price_of_boston_is_a_target(tmp_path):
    path = tmp_path / "boston.json"
    summary = run_json(
        "train", "boston-housing", "--regression", "--hidden", 3, "--method", "descent",
        "--seconds", 60, "--quiet", "--out", path,
    )  # fmt: skip
    assert summary["test_rows"] == 101
    assert summary["test_r2"] > 0.3
    assert summary["out"] == str(path)
    assert run_json("evaluate", path, "boston-housing")["rows"] == 506
    assert bdnn.load(path).network_.architecture.hidden == (3,)


@pytest.mark.parametrize(
    ("content", "options", "parts"),
    [
        (TABLE.replace("2.5", "cheap"), (), ("no number", "'cheap'")),
        (TABLE.replace(",2.5", ",", 1), (), ("'price'", "no value")),
        (TABLE.replace("2.5", "inf", 1), (), ("infinite",)),
        (TABLE, ("--target", "cost"), ("cost",)),
        (TABLE, ("--class-weight", "balanced"), ("--class-weight is for classifiers",)),
        (TABLE, ("--activation", "tanh"), ("activation must be",)),
        (TABLE, ("--radius", "0.1"), ("certified", "about classes")),
        (TABLE, ("--method", "descent", "--nodes", "9"), ("limits: nodes", "one program")),
        (TABLE, ("--set", "ridge=much"), ("ridge must be",)),
        (TABLE, ("--set", "epochs=2"), ("--set epochs is for --method data_splitting",)),
        (TABLE, ("--smallest",), ("--smallest is for classifiers",)),
    ],
)
def test_bad_input_is_refused(content, options, parts, tmp_path):
    path = write(tmp_path / "table.csv", content)
    assert_refused(run("train", path, "--regression", "--quiet", *options), *parts)


def test_units_of_several_values(tmp_path):
    table = write(
        tmp_path / "table.csv", "a,price\n" + "".join(f"{a},{a // 2}\n" for a in range(6))
    )
    path = tmp_path / "model.json"
    options = ("--hidden", 1, "--activation", "levels:3", "--quiet", "--test-size", 0)
    summary = run_json("train", table, *PLAIN, *options, "--out", path)
    assert summary["status"].startswith("optimal within a tolerance of")
    assert summary["loss"] == pytest.approx(0.0, abs=1e-5)
    assert run_json("evaluate", path, table)["r2"] == pytest.approx(1.0)
    told = run_json("info", path)
    assert told["activation"] == ["levels:3"]
    assert "0 below" in told["rules"]


def test_features_are_limited_and_forbidden(table, tmp_path):
    path = tmp_path / "model.json"
    options = ("--max-weights-per-unit", 1, "--max-features", 1, "--forbid", "a", "--hidden", 1)
    summary = run_json(
        "train", table, "--target", "price", "--regression", *options,
        "--method", "exact", "--quiet", "--test-size", 0, "--out", path,
    )  # fmt: skip
    assert summary["status"].startswith("optimal within a tolerance of")
    W = bdnn.load(path).network_.weights[0]
    assert not W[:, 0].any()
    assert W[:, 1].any()


def test_options_of_regression_need_the_flag(table):
    assert_refused(run("train", table, "--set", "loss=absolute"), "--set loss is for --regression")
    assert_refused(run("train", "iris", "--regression"), "'species'", "no number")


def test_a_constant_target_is_trained(tmp_path):
    path = write(tmp_path / "table.csv", "a,b\n1,4\n2,4\n3,4\n")
    summary = run_json("train", path, "--regression", *QUICK)
    assert summary["status"] == "optimal"  # loss and bound are 0, with no tolerance
    assert summary["train_r2"] is None
    assert json.dumps(summary)
