"""Queries and functions answer as Python does, on random rows, at boundaries, with gaps."""

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest

from bdnn.errors import ModelError
from bdnn.export.boundary import compared_inputs
from bdnn.export.inputs import InputFormat
from bdnn.export.javascript import to_javascript
from bdnn.export.sql import quoted, to_sql
from tests.export.c.test_columns import make as make_columns
from tests.export.models import any_model, level_model, number_model

NODE = shutil.which("node")


def rows(model, count=100):
    inputs = InputFormat("double", (1,) * model.n_features)
    X = compared_inputs(model, inputs, count)
    gaps = [column.fill is None for column in model.encoder.columns]
    X[:, gaps] = np.nan_to_num(X[:, gaps])
    return X


def cells(model, X):
    """Rows as a table holds them: None for a gap, a text that is not listed for -1."""
    found = []
    for row in X.tolist():
        line = []
        for column, code in zip(model.encoder.columns, row, strict=True):
            if code != code:
                line.append(None)
            elif column.kind == "category":
                known = 0 <= code < len(column.values)
                line.append(column.values[int(code)] if known else "something else")
            else:
                line.append(code)
        found.append(line)
    return found


def by_sqlite(model, X):
    names = model.feature_names
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE data ({', '.join(map(quoted, names))})")
    base.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(names))})", cells(model, X))
    return [row[len(names) :] for row in base.execute(to_sql(model))]


def by_node(model, X, tmp_path):
    names = model.feature_names
    (tmp_path / "model.js").write_text(to_javascript(model), encoding="utf-8")
    table = [dict(zip(names, line, strict=True)) for line in cells(model, X)]
    (tmp_path / "rows.json").write_text(json.dumps(table), encoding="utf-8")
    code = (
        "const {predict} = require('./model.js');"
        "console.log(JSON.stringify(require('./rows.json').map(r => [predict(r)].flat())))"
    )
    done = subprocess.run(
        [NODE, "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    return [tuple(line) for line in json.loads(done.stdout)]


def wanted(model, X):
    found = model.predict(X)
    return [tuple(np.atleast_1d(each).tolist()) for each in found]


def models():
    rng = np.random.default_rng(0)
    for kind, count in ((any_model, 12), (level_model, 6), (number_model, 6)):
        for _ in range(count):
            yield kind(rng)
    for i in range(12):
        yield make_columns(
            rng,
            mixed=i % 2 == 0,
            hidden=((4,), (6, 3), ())[i % 3],
            weights="continuous" if i > 8 else "ternary",
        )


def test_sqlite_answers_as_python():
    for model in models():
        X = rows(model)
        assert by_sqlite(model, X) == wanted(model, X), model.network.architecture


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_node_answers_as_python(tmp_path):
    for model in models():
        X = rows(model)
        assert by_node(model, X, tmp_path) == wanted(model, X), model.network.architecture


def test_names_and_labels_are_quoted():
    rng = np.random.default_rng(0)
    model = make_columns(rng)
    query = to_sql(model, 'my "table"')
    assert 'FROM "my ""table""" AS' in query
    assert " MATERIALIZED" not in to_sql(model, materialized=False)
    assert "= 'it''s */'" in query
    with pytest.raises(ModelError, match="table must be"):
        to_sql(model, "")
