from bdnn import load
from tests.cli.runner import assert_refused, run, run_apart, run_json


def test_stronger_attacks_leave_less(model, small_csv):
    accuracy = {}
    for method in ("random-sign", "greedy", "optimal"):
        told = run_json("attack", model, small_csv, "--radius", 0.4, "--method", method)
        accuracy[method] = told["attacked_accuracy"]
        assert told["accuracy"] == 1
        assert told["changed_rows"] == sum(length is not None for length in told["lengths"])
    assert accuracy["optimal"] <= accuracy["greedy"] <= accuracy["random-sign"] <= 1
    exact = run_json("certify", model, small_csv, "--radius", 0.4, "--exact")
    assert accuracy["optimal"] == exact["worst_case_accuracy"]["lower"]


def test_perturbed_rows_are_written(model, small_csv, tmp_path):
    out = tmp_path / "moved.csv"
    told = run_json(
        "attack", model, small_csv, "--radius", 0.4, "--method", "boundary", "--out", out
    )
    header, *rows = out.read_text().splitlines()
    assert header == "a,b"
    X = [[float(cell) for cell in row.split(",")] for row in rows]
    before = load(model).predict([[a, b] for a in range(4) for b in range(1, 5)])
    changed = (load(model).predict(X) != before).sum()
    assert changed == told["changed_rows"]


def test_printed_and_reproducible(model, small_csv):
    options = ("attack", model, small_csv, "--radius", 0.5, "--method", "random-sign", "--seed", 3)
    done = run_apart(*options)
    assert done.returncode == 0, done.stderr
    assert "attack    random-sign, 0.5 (linf, scaled inputs)" in done.stdout
    assert run(*options).stdout == done.stdout  # the same seed, the same attack


def test_refused(model, small_csv):
    assert_refused(run("attack", model, small_csv, "--method", "magic"), "method must be one of")
    assert_refused(run("attack", model, small_csv, "--radius", "inf"), "radius must be finite")
