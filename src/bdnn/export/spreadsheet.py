"""Models as a spreadsheet: raw columns first, then a column per formula, the answer last.

The file is an ``.xlsx`` of plain XML parts. Numbers that need more than 15 digits, which is what
spreadsheets keep, are written as products of whole numbers and powers of two.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.export.steps import Step, make_steps
from bdnn.model import Model

_MOST_COLUMNS, _MOST_CHARACTERS = 16_384, 8192
_HALF = 1 << 27
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_PARTS = "http://schemas.openxmlformats.org/package/2006/relationships"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


@dataclass(frozen=True)
class _Sheet:
    """Formulas of one line."""

    model: Model
    line: int
    places: dict[str, int]

    def raw(self, column: int) -> str:
        cell = self._cell(column)
        # TRUE is larger than any number.
        is_truth = self.model.encoder.columns[column].kind == "boolean"
        return f"({cell}*1)" if is_truth else cell

    def _cell(self, column: int) -> str:
        return f"{letters(column)}{self.line}"

    def is_missing(self, column: int) -> str:
        return f'{self._cell(column)}=""'

    def is_text(self, column: int, text: str) -> str:
        return f'EXACT({self._cell(column)}&"",{self.label(text)})'

    def name(self, step: str) -> str:
        return f"{letters(self.places[step])}{self.line}"

    def number(self, value: float) -> str:
        return _number(value)

    def label(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, str):
            return '"' + value.replace('"', '""') + '"'
        return _number(float(value))  # type: ignore[arg-type]

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"IF({condition},{yes},{no})"

    def every(self, conditions: Sequence[str]) -> str:
        return "*".join(f"({condition})" for condition in conditions)

    def rounded(self, value: str) -> str:
        rest = f"({value}-2*INT({value}/2))"
        even = f"IF({rest}=1.5,INT({value})+1,ROUND({value},0))"
        return f"IF({rest}=0.5,INT({value}),{even})"


class _Named(dict[str, int]):
    """Places of steps, given out as names come."""

    def __missing__(self, name: str) -> int:
        return 0


def _number(value: float) -> str:
    """A number in 15 digits, or exactly by whole numbers and a power of two."""
    short = f"{value:.15g}"
    if float(short) == value and "e" not in short:
        return f"({short})" if value < 0 else short
    mantissa, exponent = math.frexp(abs(value))
    whole = int(mantissa * 2.0**53)
    text = f"({whole // _HALF}*{_HALF}+{whole % _HALF})*2^({exponent - 53})"
    return f"({'-' if value < 0 else ''}({text}))"


def letters(place: int) -> str:
    """The name of a column, from 0."""
    text, place = "", place + 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def to_spreadsheet(model: Model, rows: int = 100) -> bytes:
    """Write a model as the bytes of an ``.xlsx`` file.

    Parameters
    ----------
    model : Model
    rows : int
        Lines below the heading that have formulas; more are made by copying them down.

    Raises
    ------
    UnsupportedFeatureError
        If the model needs more columns or longer formulas than a spreadsheet has.
    """
    if type(rows) is not int or not 1 <= rows < 2**20:
        raise ModelError(f"rows must be from 1 to {2**20 - 1}, got {rows!r}: give for example 100.")
    names = model.feature_names
    steps = _flat(make_steps(model, _Sheet(model, 2, _Named())))
    places = {step.name: len(names) + i for i, step in enumerate(steps)}
    n_columns = len(names) + len(steps)
    if n_columns > _MOST_COLUMNS or max(len(step.formula) for step in steps) > _MOST_CHARACTERS / 2:
        raise UnsupportedFeatureError(
            f"the model needs {n_columns} columns and formulas longer than a spreadsheet has: use "
            "another export, or a network with fewer weights."
        )
    heading = [*names, *(step.name for step in steps)]
    lines = [_line(1, [_text_cell(letters(j), 1, name) for j, name in enumerate(heading)])]
    for line in range(2, rows + 2):
        made = _flat(make_steps(model, _Sheet(model, line, places)))
        cells = [
            f'<c r="{letters(places[step.name])}{line}"><f>{escape(step.formula)}</f></c>'
            for step in made
        ]
        lines.append(_line(line, cells))
    sheet = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
    return _packed(sheet)


def _flat(layers: Sequence[Sequence[Step]]) -> list[Step]:
    return [step for layer in layers for step in layer]


def _line(number: int, cells: Sequence[str]) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def _text_cell(column: str, line: int, text: str) -> str:
    inner = f"<is><t>{escape(text)}</t></is>"
    return f'<c r="{column}{line}" t="inlineStr">{inner}</c>'


def _packed(sheet: str) -> bytes:
    """The parts of a workbook in one file, always the same bytes."""
    workbook = f"{_KIND}.sheet.main+xml"
    worksheet = f"{_KIND}.worksheet+xml"
    parts = {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_TYPES}">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{workbook}"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{worksheet}"/></Types>',
        "_rels/.rels": _relations("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}"><sheets>'
        '<sheet name="model" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _relations("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": sheet,
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _relations(kind: str, target: str) -> str:
    address = quoteattr(f"{_DOCUMENT}/{kind}")
    return (
        f'{_XML}<Relationships xmlns="{_PARTS}">'
        f'<Relationship Id="rId1" Type={address} Target="{target}"/></Relationships>'
    )
