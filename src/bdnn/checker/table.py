"""The data as the checker reads them: a CSV file into numbers and labels, by the file's own words.

What the columns are stands in the model file: which columns, their texts, what a missing cell
means, where the target is. What a column is called is the word of DATA.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bdnn.checker.claims import Deadline, OutOfTimeError, shown
from bdnn.checker.encoder import MISSING, Column, read_number
from bdnn.checker.files import open_table, read_rows
from bdnn.checker.model import CheckedModel
from bdnn.checker.samples import Samples, make_samples
from bdnn.errors import DataError, ModelFileError

_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 200


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
    encoder, columns = model.encoder, model.encoder.columns
    stated, stated_place = _target(model)
    named = {column.name for column in columns}
    if len(named) != len(columns):
        raise ModelFileError("two columns of the model have one name: train again.")
    if header is None:
        header = named <= {cell.strip() for cell in first} or _is_header(first, columns)
    names = [cell.strip() for cell in first] if header else None
    if names is not None and len(set(names)) != len(names):
        raise DataError(f"{source} has two columns of one name: give every column its own.")
    by_name = names is not None and named <= set(names)
    made_up = {f"x{j + 1}": j for j in range(len(first))}
    by_place = not by_name and len(first) == len(columns) + 1
    if not (by_name or by_place) and (encoder.header or not named <= set(made_up)):
        raise DataError(
            f"{source} has {len(first)} columns where the model needs {len(columns)} and the "
            "target: give the data it was trained on."
        )
    place = _target_place(names, len(first), target, (stated, stated_place), source)
    if by_name and names is not None:
        places = [names.index(column.name) for column in columns]
    elif by_place:
        places = [j for j in range(len(first)) if j != place]
    else:
        places = [made_up[column.name] for column in columns]  # where some were dropped
    if place in places:
        raise ModelFileError(
            "the model file takes the target for one of its inputs: give the true --target, or "
            "train again."
        )

    def body() -> Iterator[tuple[list[float], Any]]:
        for i, row in enumerate(rows if header else chain([first], rows), start=1):
            if len(row) != len(first):
                raise DataError(f"{source} has rows of different lengths: check row {i}.")
            where = f"row {i} of {source}"
            codes = [
                column.code(row[j], where, unknown=encoder.unknown)
                for column, j in zip(columns, places, strict=True)
            ]
            yield codes, row[place].strip() if texts else read_number(row[place])

    texts = any(isinstance(label, str) for label in model.classes)
    called = None if names is None else encoder.names([names[j] for j in places])
    label = None if names is None else names[place]
    samples = make_samples(model, body(), names=called, target=label, deadline=deadline)
    if not samples.records:
        raise DataError(f"{source} has no rows of data: give the data the model was trained on.")
    return samples


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


def _is_header(cells: list[str], columns: list[Column]) -> bool:
    """Tell whether a first row has texts where all columns of a model are numbers."""
    return all(column.kind == "number" for column in columns) and any(
        read_number(cell) is None and cell.strip().lower() not in MISSING for cell in cells[:-1]
    )


def _target(model: CheckedModel) -> tuple[str | None, int | None]:
    """Name and place of the target, as far as the file tells."""
    target = model.part("extra").get("target") or {}
    try:
        name, place = target.get("name"), target.get("place")
        if not (name is None or isinstance(name, str)) or type(place) not in (int, type(None)):
            raise TypeError("the target has no name or no place")
    except (TypeError, AttributeError) as error:
        raise ModelFileError(
            f"the model file describes its target in a way that cannot be read ({error}): save the "
            "model again."
        ) from error
    return name, place


def _target_place(
    names: Sequence[str] | None,
    width: int,
    asked: str | None,
    stated: tuple[str | None, int | None],
    source: str,
) -> int:
    target = asked or stated[0]
    if names is not None and target in names:
        return names.index(target)
    if not asked and names is None and stated[1] is not None:
        target = str(stated[1] + 1)
    if target is None:
        return width - 1
    try:
        place = int(target)
    except ValueError:
        place = 0
    if 1 <= place <= width:
        return place - 1
    if -width <= place <= -1:
        return width + place
    raise DataError(f"{source} has no column {shown(target)}: check --target.")
