import json

import pytest

from bdnn import load
from bdnn.robustness import Certificate
from tests.cli.runner import SMALL, assert_refused, run, run_apart, run_json, write


def test_bound_exact_and_certificates(model, small_csv, tmp_path):
    out = tmp_path / "certificates.jsonl"
    told = run_json("certify", model, small_csv, "--radius", 0.2, "--exact", "--out", out)
    assert told["rows"] == 16
    assert told["accuracy"] == 1
    limits = told["worst_case_accuracy"]
    assert told["certified_accuracy"] <= limits["lower"] <= limits["upper"] <= 1
    assert told["robust_rows"] + told["broken_rows"] + told["open_rows"] == 16
    assert told["open_rows"] == 0
    assert told["curve"][0] == {"radius": 0.0, "certified_accuracy": 1.0}
    fitted = load(model)
    assert (
        told["radii"]
        == fitted.certify([[a, b] for a in range(4) for b in range(1, 5)]).radii.tolist()
    )
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {line["row"] for line in lines} == set(range(1, 17))
    assert all(Certificate.from_dict(line).check(fitted.model_) for line in lines)
    broken = {line["row"] for line in lines if line["kind"] == "counter-example"}
    assert len(broken) >= told["broken_rows"]


def test_printed(model, small_csv):
    options = ("--radius", 0.1, "--norm", "l2", "--units", "raw")
    done = run_apart("certify", model, small_csv, *options)
    assert done.returncode == 0, done.stderr
    assert "radius     0.1 (l2, raw inputs)" in done.stdout
    assert "certified accuracy" in done.stdout
    told = done.stdout.splitlines()[-1]
    assert "of 16 rows keep their class whatever moves by up to 0.1" in told


def test_the_curve_is_drawn(model, small_csv, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "curve.svg"
    told = run_json("certify", model, small_csv, "--radius", 0.2, "--exact", "--plot", out)
    assert told["plot"] == str(out)
    assert "<svg" in out.read_text()
    refused = run("certify", model, small_csv, "--plot", tmp_path / "curve.txt")
    assert_refused(refused, "--plot must end in .png, .pdf, .svg")


def test_columns_that_cannot_move(model, small_csv):
    nothing = run_json("certify", model, small_csv, "--fixed", "a", "--fixed", "b")
    assert nothing["certified_accuracy"] == 1
    assert nothing["radii"] == [None] * 16  # without limit


def test_refused(model, small_csv, tmp_path):
    assert_refused(run("certify", model, small_csv, "--radius", -1), "radius must be finite")
    assert_refused(run("certify", model, small_csv, "--norm", "l0"), "norm must be")
    assert_refused(run("certify", model, small_csv, "--integer", "c"), "no column of the model")
    data = write(tmp_path / "t.csv", SMALL.replace("yes", "maybe"))
    assert_refused(run("certify", model, data), "label 'maybe' is no class of the model")


def test_texts_stay_as_they_are(tmp_path):
    rows = [
        f"{color},{n},{'yes' if (color == 'red') == (n > 2) else 'no'}"
        for color in ("red", "green", "blue")
        for n in range(6)
    ]
    data = write(tmp_path / "t.csv", "\n".join(["color,n,kind", *rows]) + "\n")
    model, moved = tmp_path / "model.json", tmp_path / "moved.csv"
    done = run(
        *("train", data, "--hidden", 3, "--inputs", "cuts", "--test-size", 0),
        *("--out", model, "--quiet", "--seconds", 60, "--method", "descent"),
    )
    assert done.returncode == 0, done.stderr
    told = run_json("certify", model, data, "--radius", 0.25, "--units", "raw")
    assert told["rows"] == 18
    exact = ("certify", model, data, "--exact", "--units", "raw", "--radius", 0.25)
    told = run_json(*exact)
    assert told["open_rows"] == 0
    free = run_json(*exact, "--change", "color")
    assert free["broken_rows"] >= told["broken_rows"]
    assert any("color" in risk["changes"] for risk in free["at_risk"])
    done = run("certify", model, data, "--move", "n=0.25", "--exact")
    assert done.stdout.endswith("\n")
    last = done.stdout.splitlines()[-1]
    assert last.startswith(
        f"{told['robust_rows']} of 18 rows keep their class however n moves by up to 0.25"
    )
    assert_refused(run("certify", model, data, "--move", "n"), "--move must be a column")
    done = run("attack", model, data, "--radius", 1.5, "--units", "raw", "--out", moved)
    assert done.returncode == 0, done.stderr
    colors = [line.split(",")[0] for line in moved.read_text().splitlines()[1:]]
    assert colors == [row.split(",")[0] for row in rows]
