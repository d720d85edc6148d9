"""The data as the checker reads them: a CSV file into numbers and labels, by the file's own words.

How columns become features stands in the model file (``extra.table``): which columns, which texts
are one-hot encoded, what fills missing cells, where the target is.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bdnn.checker.model import CheckedModel
from bdnn.errors import DataError, ModelFileError

_MISSING = ("", "na", "nan", "?")


@dataclass(frozen=True)
class Samples:
    """Rows of features with the index of each row's class."""

    features: list[list[float]]
    classes: list[int]

    def chosen(self, rows: list[int]) -> Samples:
        """Keep some rows, counted from 0."""
        if rows and max(rows) >= len(self.features):
            raise DataError(
                f"the model was trained on row {max(rows) + 1} of its data, got "
                f"{len(self.features)} rows: give the data it was trained on."
            )
        return Samples([self.features[i] for i in rows], [self.classes[i] for i in rows])

    def fingerprint(self) -> str:
        """SHA-256 over the sorted records, each its features and its class in eight bytes."""
        layout = f"<{len(self.features[0]) if self.features else 0}dq"
        records = sorted(
            struct.pack(layout, *(value + 0.0 for value in row), label)
            for row, label in zip(self.features, self.classes, strict=True)
        )
        return hashlib.sha256(b"".join(records)).hexdigest()


def make_samples(model: CheckedModel, features: list[list[float]], labels: list[Any]) -> Samples:
    """Put rows and labels together, the labels as indices of the model's classes."""
    places = {_key(label): i for i, label in enumerate(model.classes)}
    unknown = next((label for label in labels if _key(label) not in places), None)
    if unknown is not None:
        raise DataError(
            f"the label {unknown!r} is no class of the model, which knows "
            f"{', '.join(map(repr, model.classes))}: check --target."
        )
    if features and len(features[0]) != model.n_features:
        raise DataError(
            f"the data have {len(features[0])} features where the model takes {model.n_features}: "
            "give the data it was trained on."
        )
    return Samples(features, [places[_key(label)] for label in labels])


def read_csv(
    model: CheckedModel, path: Path, *, target: str | None = None, header: bool | None = None
) -> Samples:
    """Read a CSV file, also a gzipped one, as the model file describes its table."""
    rows = _read_rows(path)
    columns, table = _columns(model)
    named = {column["name"] for column in columns}
    if header is None:
        header = named <= {cell.strip() for cell in rows[0]} or (
            not table and any(_number(cell) is None for cell in rows[0][:-1])
        )
    names = [cell.strip() for cell in rows[0]] if header else None
    body = rows[1:] if header else rows
    if not body or any(len(row) != len(rows[0]) for row in body):
        raise DataError(f"{path.name} has no rows, or rows of different lengths: check the file.")
    by_name = names is not None and named <= set(names)
    if not by_name and len(rows[0]) != len(columns) + 1:
        raise DataError(
            f"{path.name} has {len(rows[0])} columns where the model needs {len(columns)} and the "
            "target: give the data it was trained on."
        )
    place = _target_place(names, len(rows[0]), target or table.get("target"), table, path.name)
    if by_name and names is not None:
        places = [names.index(column["name"]) for column in columns]
    else:
        places = [j for j in range(len(rows[0])) if j != place]
    features = [
        [
            value
            for column, j in zip(columns, places, strict=True)
            for value in _encode(row[j], column, i, path.name)
        ]
        for i, row in enumerate(body, start=1)
    ]
    texts = any(isinstance(label, str) for label in model.classes)
    labels = [row[place].strip() if texts else _number(row[place]) for row in body]
    return make_samples(model, features, labels)


def _columns(model: CheckedModel) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    table = model.part("extra").get("table")
    if table is None:
        names = model.content.get("feature_names") or [f"x{j + 1}" for j in range(model.n_features)]
        return [{"name": name, "categories": None, "fill": None} for name in names], {}
    try:
        columns = [
            {"name": str(c["name"]), "categories": c["categories"], "fill": c["fill"]}
            for c in table["columns"]
        ]
        for column in columns:
            fits = column["categories"] is None or isinstance(column["categories"], list)
            if not fits or not (
                column["fill"] is None or type(column["fill"]) in (str, float, int)
            ):
                raise TypeError("a column is described in no known way")
        place = table.get("target_place")
        if place is not None and type(place) is not int:
            raise TypeError("the place of the target is no number")
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"the model file describes its table in a way that cannot be read ({error}): save the "
            "model again."
        ) from error
    return columns, table


def _target_place(
    names: list[str] | None, width: int, target: Any, table: dict[str, Any], source: str
) -> int:
    if names is not None and target in names:
        return names.index(target)
    if target is not None and names is None and table.get("target_place") is not None:
        return int(table["target_place"])
    if target is None:
        return width - 1
    try:
        place = int(target)
    except (TypeError, ValueError):
        place = 0
    if 1 <= place <= width:
        return place - 1
    if -width <= place <= -1:
        return width + place
    raise DataError(f"{source} has no column {target!r}: check --target.")


def _encode(cell: str, column: dict[str, Any], row: int, source: str) -> list[float]:
    """Make features of a cell: itself, or a 1 among zeros for a text."""
    text: Any = cell.strip()
    if text.lower() in _MISSING and column["fill"] is not None:
        text = column["fill"]
    if column["categories"] is not None:
        if text not in column["categories"]:
            raise DataError(f"row {row} of {source} holds the unknown text {text!r}: check it.")
        return [float(text == category) for category in column["categories"]]
    number = float(text) if isinstance(text, int | float) else _number(text)
    if number is None:
        raise DataError(f"row {row} of {source} holds {text!r} where a number should be: check it.")
    return [number]


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None


def _read_rows(path: Path) -> list[list[str]]:
    """Cells of all rows; the separator is the one that cuts all rows alike."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        text = data.decode("utf-8-sig")
        tries = []
        for delimiter in "\t;,":
            rows = [
                row
                for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
                if len(row) > 1 or (row and row[0].strip())
            ]
            widths = {len(row) for row in rows}
            tries.append((len(widths) == 1 and widths != {1}, max(widths, default=0), rows))
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror or error}: give a CSV file."
        ) from error
    except (UnicodeDecodeError, csv.Error, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}): check the file.") from error
    rows = max(tries, key=lambda found: found[:2])[2]
    if not rows:
        raise DataError(f"{path.name} is empty: give a file with rows of data.")
    return rows


def _key(label: Any) -> tuple[str, Any]:
    """Numbers compare by value and texts by letters, but never with each other."""
    return ("text", label) if isinstance(label, str) else ("number", label)
