import json

import numpy as np
import pytest

import bdnn
from bdnn.errors import ModelFileError
from bdnn.model_file import read_model
from bdnn.model_file.data import SeenRows, checksum


def test_rows_are_told_from_others():
    codes = np.random.default_rng(0).normal(size=(500, 3)).round(1)
    codes[::7, 1] = np.nan
    codes[3, 0] = 0.0
    seen = SeenRows.from_dict(json.loads(json.dumps(SeenRows.of(codes[:300]).to_dict())))
    known = {str(row.tolist()) for row in codes[:300]}
    asked = codes.copy()
    asked[3, 0] = -0.0
    is_seen, is_told = seen.tell(asked)
    assert is_told.all()
    assert is_seen.tolist() == [str(row.tolist()) in known for row in codes]


def test_many_rows_are_told_in_part_and_the_file_stays_small():
    codes = np.arange(40_000.0)[:, None]
    seen = SeenRows.of(codes[:30_000])
    assert len(json.dumps(seen.to_dict())) < 70_000
    is_seen, is_told = seen.tell(codes)
    assert 0.2 < is_told.mean() < 0.35
    assert np.array_equal(is_seen[is_told], codes[is_told, 0] < 30_000)


def test_model_files_hold_them(tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    model = bdnn.BDNNClassifier(hidden=(1,), objective="loss", random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    assert read_model(tmp_path / "model.json").seen.tell(X)[0].all()
    bdnn.load(tmp_path / "model.json").save(tmp_path / "again.json")
    assert read_model(tmp_path / "again.json").seen.tell(X)[0].all()


@pytest.mark.parametrize(
    "broken",
    [{"below": "all"}, {"below": 0}, {"hashes": "AAA"}, {"hashes": "AAAA"}, {"hashes": 3}, []],
)
def test_damaged_ones_are_refused(broken, tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    model = bdnn.BDNNClassifier(hidden=(1,), objective="loss", random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    del content["checksum"]
    kept = content["certificate"]["seen"]
    content["certificate"]["seen"] = {**kept, **broken} if isinstance(broken, dict) else broken
    content["checksum"] = checksum(content)
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError):
        read_model(tmp_path / "model.json")
