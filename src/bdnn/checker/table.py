"""The data as the checker reads them: a CSV file into numbers and labels, by the file's own words.

How columns become features stands in the model file (``extra.table``): which columns, which texts
are one-hot encoded, what fills missing cells, where the target is. What a column is called is the
word of DATA.
"""

from __future__ import annotations

import csv
import io
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from bdnn import limits
from bdnn.checker.deadline import Deadline, OutOfTimeError
from bdnn.checker.files import open_table, read_rows
from bdnn.checker.model import CheckedModel
from bdnn.checker.samples import Samples, make_samples
from bdnn.checker.statements import shown
from bdnn.errors import DataError, ModelFileError

_MISSING = ("", "na", "nan", "?")
_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 200


@dataclass(frozen=True)
class _Column:
    name: str
    categories: list[str] | None
    fill: str | float | None

    def features(self, name: str) -> list[str]:
        """Names of the features that this column gives, if DATA call it so."""
        return [name] if self.categories is None else [f"{name}={text}" for text in self.categories]

    def encode(self, cell: str, row: int, source: str) -> list[float]:
        """Make features of a cell: itself, or a 1 among zeros for a text."""
        text: Any = cell.strip()
        if self.fill is not None and text.lower() in _MISSING:
            text = self.fill
        if self.categories is not None:
            if text not in self.categories:
                raise DataError(
                    f"row {row} of {source} holds the unknown text {shown(text)}: check it."
                )
            return [float(text == category) for category in self.categories]
        number = float(text) if isinstance(text, int | float) else _number(text)
        if number is None or abs(number) > limits.LARGEST_INPUT:
            raise DataError(
                f"row {row} of {source} holds {shown(text)} where a number should be: check it."
            )
        return [number]


def read_csv(
    model: CheckedModel,
    path: Path,
    *,
    target: str | None = None,
    header: bool | None = None,
    deadline: Deadline | None = None,
) -> Samples:
    """Read a CSV file, also a gzipped one, as the model file describes its table."""
    deadline = deadline or Deadline()
    try:
        delimiter = _delimiter(path)
        with _open_text(path) as text:
            rows = (row for _, row in read_rows(text, delimiter))
            return _read(model, rows, path.name, target, header, deadline)
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}): check the file.") from error
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror or error}: give a CSV file."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}): check the file.") from error
    except OutOfTimeError as error:
        raise DataError(f"reading {path.name} is {error}: give more --seconds.") from error


def _read(
    model: CheckedModel,
    rows: Iterator[list[str]],
    source: str,
    target: str | None,
    header: bool | None,
    deadline: Deadline,
) -> Samples:
    first = next(rows)
    columns, table = _columns(model)
    named = {column.name for column in columns}
    if header is None:
        header = named <= {cell.strip() for cell in first} or (
            not table and any(_number(cell) is None for cell in first[:-1])
        )
    names = [cell.strip() for cell in first] if header else None
    if names is not None and len(set(names)) != len(names):
        raise DataError(f"{source} has two columns of one name: give every column its own.")
    by_name = names is not None and named <= set(names)
    if not by_name and len(first) != len(columns) + 1:
        raise DataError(
            f"{source} has {len(first)} columns where the model needs {len(columns)} and the "
            "target: give the data it was trained on."
        )
    place = _target_place(names, len(first), target or table.get("target"), table, source)
    if by_name and names is not None:
        places = [names.index(column.name) for column in columns]
    else:
        places = [j for j in range(len(first)) if j != place]
    if place in places:
        raise ModelFileError(
            "the model file takes the target for one of its inputs: give the true --target, or "
            "train again."
        )

    def body() -> Iterator[tuple[list[float], Any]]:
        found = rows if header else _chain(first, rows)
        for i, row in enumerate(found, start=1):
            if len(row) != len(first):
                raise DataError(f"{source} has rows of different lengths: check row {i}.")
            features = [
                value
                for column, j in zip(columns, places, strict=True)
                for value in column.encode(row[j], i, source)
            ]
            yield features, row[place].strip() if texts else _number(row[place])

    texts = any(isinstance(label, str) for label in model.classes)
    called = None
    if names is not None:
        called = [
            feature
            for column, j in zip(columns, places, strict=True)
            for feature in column.features(names[j])
        ]
    label = None if names is None else names[place]
    samples = make_samples(model, body(), names=called, target=label, deadline=deadline)
    if not samples.records:
        raise DataError(f"{source} has no rows of data: give the data the model was trained on.")
    return samples


def _chain(first: list[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
    yield first
    yield from rows


def _open_text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_table(path), encoding="utf-8-sig", newline="")


def _delimiter(path: Path) -> str:
    """Find the separator: the first one that cuts all rows alike, else the one that cuts most."""
    fitness = {}
    for delimiter in _DELIMITERS:
        with _open_text(path) as text:
            widths = [len(row) for _, row in islice(read_rows(text, delimiter), _SAMPLE_ROWS)]
        if not widths:
            raise DataError(f"{path.name} is empty: give a file with rows of data.")
        is_even = len(set(widths)) == 1 and widths[0] > 1
        fitness[delimiter] = (is_even, 0 if is_even else widths[0])
    return max(_DELIMITERS, key=lambda delimiter: fitness[delimiter])


def _columns(model: CheckedModel) -> tuple[list[_Column], dict[str, Any]]:
    table = model.part("extra").get("table")
    if table is None:
        names = model.content.get("feature_names") or [f"x{j + 1}" for j in range(model.n_features)]
        return [_Column(name, None, None) for name in names], {}
    try:
        columns = [_column(**column) for column in table["columns"]]
        place = table.get("target_place")
        if place is not None and type(place) is not int:
            raise TypeError("the place of the target is no number")
        if table.get("target") is not None and not isinstance(table["target"], str):
            raise TypeError("the target has no name")
        if len({column.name for column in columns}) != len(columns):
            raise TypeError("two columns have one name")
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"the model file describes its table in a way that cannot be read ({error}): save the "
            "model again."
        ) from error
    if sum(len(column.features("")) for column in columns) != model.n_features:
        raise ModelFileError(
            "the model file describes a table of other features than its network has: save the "
            "model again."
        )
    return columns, table


def _column(name: Any, categories: Any, fill: Any) -> _Column:
    is_list = isinstance(categories, list) and all(isinstance(text, str) for text in categories)
    if not isinstance(name, str) or not (categories is None or is_list):
        raise TypeError("a column is described in no known way")
    if is_list and (not categories or len(set(categories)) != len(categories)):
        raise TypeError("a column has no distinct categories")
    if not (fill is None or type(fill) in (str, float, int)):
        raise TypeError("a column is filled in no known way")
    return _Column(name, categories, fill)


def _target_place(
    names: Sequence[str] | None, width: int, target: Any, table: dict[str, Any], source: str
) -> int:
    if names is not None and target in names:
        return names.index(target)
    if target is not None and names is None and table.get("target_place") is not None:
        target = int(table["target_place"]) + 1
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
    raise DataError(f"{source} has no column {shown(target)}: check --target.")


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None
