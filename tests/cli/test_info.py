from dataclasses import replace

from bdnn.model_file import read_model, write_model
from tests.cli.runner import assert_refused, run, run_json, write


def test_json(model):
    told = run_json("info", model)
    assert told["features"] == 2
    assert told["hidden"] == [2]
    assert told["weights"] == ["ternary", "ternary"]
    assert told["classes"] == ["no", "yes"]
    assert told["feature_names"] == ["a", "b"]
    assert told["target"] == "kind"
    assert told["result"]["status"] == "optimal"
    assert told["result"]["loss"] == told["result"]["bound"] == 0
    assert told["settings"]["random_state"] == 0
    assert told["size_bits"] > 0


def test_printed(model):
    done = run("info", model)
    assert done.returncode == 0
    assert done.stderr == ""
    for part in ("network", "2-2-2", "inputs", "a, b", "bound", "optimal", "thresholds=neuron"):
        assert part in done.stdout


def test_no_model(tmp_path):
    assert_refused(run("info", tmp_path / "model.json"), "cannot be read")
    assert_refused(run("info", write(tmp_path / "t.csv", "a,b\n1,2\n")), "not a model file")


def test_result_that_is_not_complete(model, tmp_path):
    """A file that is well made and still lacks something."""
    path = tmp_path / "model.json"
    write_model(replace(read_model(model), result={"loss": 1.0}), path)
    assert_refused(run("info", path), "a result that cannot be read")
