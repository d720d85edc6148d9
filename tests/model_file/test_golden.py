"""Files of earlier versions give the answers that they gave when they were written."""

import json
from pathlib import Path

import pytest

import bdnn
from tests.cli.runner import run, run_json

GOLDEN = Path(__file__).parent / "golden"
ANSWERS = json.loads((GOLDEN / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ANSWERS)
def test_old_files_predict_to_the_bit(name, tmp_path):
    told = ANSWERS[name]
    old = bdnn.load(GOLDEN / f"{name}.json")
    old.save(tmp_path / "again.json")
    for model in (old, bdnn.load(tmp_path / "again.json")):
        assert model.predict(told["rows"]).tolist() == told["predictions"]
        if "scores" in told:
            assert model.decision_function(told["rows"]).tolist() == told["scores"]


def test_an_old_file_of_a_table():
    model, data = GOLDEN / "v1_table.json", GOLDEN / "table.csv"
    assert run_json("predict", model, data)["predictions"] == ["good", "bad"] * 5
    assert run("check", model, data).returncode == 0
