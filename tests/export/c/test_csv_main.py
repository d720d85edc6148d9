"""A main that reads CSV files answers as ``bdnn predict`` does; self-tests hold real rows."""

import csv
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from bdnn.datasets import read_table
from bdnn.encoding import read_codes
from bdnn.errors import UnsupportedFeatureError
from bdnn.export.c import export_c
from bdnn.export.c.compiler import native_compiler
from tests.export.c.test_columns import make as make_columns
from tests.export.models import make_model, number_model

needs_compiler = pytest.mark.skipif(native_compiler() is None, reason="no C compiler")


def compiled(export, tmp_path):
    source = tmp_path / "main.c"
    source.write_text(export.text, encoding="ascii")
    program = tmp_path / "main"
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1"]
    subprocess.run(
        [native_compiler(), *flags, "-o", program, source], check=True, capture_output=True
    )
    return program


def answers(program, text):
    return subprocess.run([program], input=text, capture_output=True, timeout=60)


def random_cells(rng, count):
    return [
        [
            rng.choice(["", "NA", "17", "41.0", " 60 ", "1e1", "?"]),
            rng.choice(["", "-0.1", "0.35", "0.1", "0.2", "nan"]),
            rng.choice(["true", "False", "1", "0"]),
            rng.choice(["", "cook", "it's */", "nurse", 'a, "b"']),
            rng.choice(["A", "B", "", "C"]),
        ]
        for _ in range(count)
    ]


def written(path, names, lines, separator=",", end="\n"):
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(f"# made by hand{end}# twice{end}")
        writer = csv.writer(file, delimiter=separator, lineterminator=end)
        writer.writerows([*([names] if names else []), *lines])
    return path


@needs_compiler
@pytest.mark.parametrize("kind", ["double", "float", "int16", "uint8"])
@pytest.mark.parametrize(("separator", "end"), [(",", "\n"), (";", "\r\n"), ("\t", "\n")])
def test_answers_are_those_of_predict(tmp_path, kind, separator, end):
    rng = np.random.default_rng(0)
    model = make_columns(rng, mixed=kind == "double", hidden=(4,))
    model = replace(model, encoder=replace(model.encoder, header=True))
    lines = random_cells(rng, 60)
    if kind in ("int16", "uint8"):
        lines = [[*line[:1], line[1] and "0", *line[2:]] for line in lines]
    if kind == "float":
        lines = [[line[0], line[1] and "0.25", *line[2:]] for line in lines]
    lines = [["x", *reversed(line)] for line in lines]  # by name, in another order
    names = ["further", *reversed(model.feature_names)]
    path = written(tmp_path / "t.csv", names, lines, separator, end)
    if separator != ",":  # as they write numbers elsewhere
        path.write_bytes(re.sub(rb"(?<=\d)\.(?=\d)", b",", path.read_bytes()))
    codes, _ = read_codes(model.encoder, read_table(path, header=True))
    program = compiled(export_c(model, input=kind, main="csv"), tmp_path)
    done = answers(program, path.read_bytes())
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split("\n")[:-1] == model.predict(codes).tolist()


@needs_compiler
def test_rows_without_header_and_numbers(tmp_path):
    rng = np.random.default_rng(1)
    for model in (make_model(rng, classes=("a", "b", "c")), number_model(rng)):
        X = rng.integers(0, 9, (30, model.n_features)).astype(float)
        path = written(tmp_path / "t.csv", None, X.tolist())
        program = compiled(export_c(model, input="double", main="csv"), tmp_path)
        lines = answers(program, path.read_bytes()).stdout.decode().splitlines()
        if model.targets is None:
            assert lines == model.predict(X).tolist()
        else:
            assert [[float(v) for v in line.split()] for line in lines] == model.predict(X).tolist()


@needs_compiler
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "there is no column"),
        ('age,"dose, mg */",ok,job,town\n1,x,1,cook,A\n', "row 1, column 2: 'x' is no value"),
        ('age,"dose, mg */",ok,job,town\n1,2\n', "row 1 has 2 cells"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, text, message):
    model = make_columns(np.random.default_rng(0))
    model = replace(model, encoder=replace(model.encoder, header=True))
    done = answers(compiled(export_c(model, main="csv"), tmp_path), text.encode())
    assert done.returncode == 2
    assert message in done.stderr.decode()


@needs_compiler
@pytest.mark.parametrize("kind", ["double", "int16", "uint8"])
def test_self_tests_hold_real_rows(tmp_path, kind):
    rng = np.random.default_rng(2)
    model = make_columns(rng, mixed=kind == "double")
    rows = np.column_stack(
        [rng.integers(0, 90, 50), rng.integers(0, 2, 50), *rng.integers(0, 2, (3, 50))]
    ).astype(float)
    rows[::5, 3] = np.nan
    rows[::7, 3] = -1
    export = export_c(model, input=kind, tests=10, main=True, rows=rows)
    assert "INPUT[10]" in export.text
    assert b"0 of" in answers(compiled(export, tmp_path), b"").stdout
    few = export_c(model, input=kind, tests=10, rows=rows[:3])
    assert "INPUT[3]" in few.text


def test_scaled_inputs_are_refused():
    model = make_model(np.random.default_rng(0))
    with pytest.raises(UnsupportedFeatureError, match="takes raw values"):
        export_c(model, input="scaled", main="csv")
