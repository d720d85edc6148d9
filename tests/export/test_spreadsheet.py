"""Formulas of spreadsheets answer as Python does."""

import io
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.export.spreadsheet import _number, letters, to_spreadsheet
from tests.export.models import make_model
from tests.export.test_sql import cells, models, rows, wanted

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheet_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            ElementTree.fromstring(archive.read(name))
        return ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))


def computed(formulas, model, X):
    """Answers of the first line of formulas, for all rows at once."""
    lines = sheet_of(to_spreadsheet(model, 1)).findall(f".//{SPACE}row")
    known = {
        f"{letters(j)}2": np.array([["" if v is None else v] for v in column], dtype=object)
        for j, column in enumerate(zip(*cells(model, X), strict=True))
    }
    value = None
    for cell in lines[1]:
        function = formulas.Parser().ast("=" + cell.find(f"{SPACE}f").text)[1].compile()
        value = np.asarray(function(*(known[name] for name in function.inputs)))
        value = np.broadcast_to(value.reshape(-1, 1), (len(X), 1))
        known[cell.get("r")] = value
    return value[:, 0].tolist()


def test_formulas_answer_as_python():
    formulas = pytest.importorskip("formulas", reason="the package formulas is not installed")
    for place, model in enumerate(models()):
        if place % 3 or model.targets is not None:
            continue
        X = rows(model, 20)
        assert computed(formulas, model, X) == [each for (each,) in wanted(model, X)]


def test_every_line_has_its_own_cells():
    model = make_model(np.random.default_rng(0), names=("a & b", "<c>", "d", "e"))
    sheet = sheet_of(to_spreadsheet(model, 3))
    lines = sheet.findall(f".//{SPACE}row")
    assert [line.get("r") for line in lines] == ["1", "2", "3", "4"]
    heading = [cell.find(f".//{SPACE}t").text for cell in lines[0]]
    assert heading[:4] == ["a & b", "<c>", "d", "e"]
    assert heading[-1] == "prediction"
    first, third = (line.find(f"{SPACE}c/{SPACE}f").text for line in (lines[1], lines[3]))
    assert first.replace("2", "4") == third.replace("2", "4")
    assert to_spreadsheet(model, 3) == to_spreadsheet(model, 3)


def test_columns_have_letters():
    assert [letters(j) for j in (0, 25, 26, 701, 702, 16383)] == [
        "A",
        "Z",
        "AA",
        "ZZ",
        "AAA",
        "XFD",
    ]


@pytest.mark.parametrize("value", [0.0, -3.0, 0.1, 1 / 3, -np.pi * 1e-9, 2.0**-60, 1e22, 2.0**30])
def test_numbers_are_exact_in_fifteen_digits(value):
    text = _number(value)
    parts = text.replace("^", "**")
    assert eval(parts) == value
    digits = "".join(c if c.isdigit() else " " for c in text).split()
    assert max(map(len, digits)) <= 15


def test_what_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ModelError, match="rows must be"):
        to_spreadsheet(make_model(rng), 0)
    with pytest.raises(UnsupportedFeatureError, match="than a spreadsheet has"):
        to_spreadsheet(make_model(rng, n_features=700, hidden=(40,), weights="int:300"))
