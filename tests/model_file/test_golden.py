"""Files of earlier versions give the answers that they gave when they were written."""

import json
import random
from pathlib import Path

import pytest

import bdnn
from bdnn.checker import read_model as read_for_check
from bdnn.errors import ModelFileError
from bdnn.model_file import read_model
from tests.cli.runner import run, run_json
from tests.fuzz.forger import put_something_odd
from tests.fuzz.models import sign
from tests.sentences import assert_one_sentence

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


@pytest.mark.parametrize("name", ["v1_table", "v3_table"])
def test_a_file_of_a_table(name):
    model, data = GOLDEN / f"{name}.json", GOLDEN / "table.csv"
    assert run_json("predict", model, data)["predictions"] == ["good", "bad"] * 5
    assert run("check", model, data).returncode == 0


@pytest.mark.parametrize("name", ANSWERS)
def test_old_files_with_something_odd_are_refused_in_one_sentence(name, tmp_path):
    """By the reader and by the checker."""
    original = (GOLDEN / f"{name}.json").read_bytes()
    path = tmp_path / "odd.json"
    refused = 0
    for seed in range(150):
        content = json.loads(original)
        put_something_odd(content, random.Random(seed))
        sign(content)
        path.write_text(json.dumps(content))
        for read in (read_model, read_for_check):
            try:
                read(path)
            except ModelFileError as error:
                assert_one_sentence(error)
                refused += 1
    assert refused > 50
