"""Experiment files (TOML) and what makes one valid."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_args

from bdnn import datasets
from bdnn.errors import DataError
from bdnn.experiments.experiment import (
    Axis,
    Experiment,
    Figure,
    Method,
    PaperNumber,
    Split,
    Table,
)
from bdnn.experiments.fields import Fields
from bdnn.experiments.numbers import CURVES, find_measure, known_measures
from bdnn.experiments.training import check_method, parse_hidden

_AXES = get_args(Axis)
_COORDINATES = (*_AXES, "method", "measure")
# As in the paper; experiments that are not in it come in the order of their names.
_ORDER = ("table1", "figures1-2", "table2", "table3", "table4", "table5", "figures3-4", "table6")


def names(folder: str = "tables") -> tuple[str, ...]:
    """Experiments that come with the package: ``tables`` of the paper, or ``benchmarks``."""
    found = files("bdnn.experiments").joinpath(folder).iterdir()
    known = {file.name.removesuffix(".toml") for file in found if file.name.endswith(".toml")}
    return (*(name for name in _ORDER if name in known), *sorted(known - set(_ORDER)))


def load_experiment(name: str | Path, *, quick: bool = False, folder: str = "tables") -> Experiment:
    """Read an experiment of the package, or a file of the user's.

    Parameters
    ----------
    name : str or path
        One of :func:`names`, or a path that ends in ``.toml``.
    quick : bool
        Whether the file's ``quick`` entries replace the others.
    folder : {"tables", "benchmarks"}
    """
    file: Traversable
    if str(name).endswith(".toml"):
        file, base = Path(name), Path(name).parent
    elif str(name) in names(folder):
        file = files("bdnn.experiments").joinpath(folder, f"{name}.toml")
        base = Path()
    else:
        raise DataError(
            f"there is no experiment {str(name)!r}: choose among {', '.join(names(folder))}, or "
            "give a file that ends in .toml."
        )
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{name} is no valid TOML ({error}): mend that line.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is no text in UTF-8: save it as such.") from error
    stem = str(name) if not str(name).endswith(".toml") else Path(name).stem
    return parse_experiment(document, stem, quick=quick, base=base)


def parse_experiment(
    document: Mapping[str, Any], name: str, *, quick: bool = False, base: Path | None = None
) -> Experiment:
    """Check the contents of an experiment file.

    Parameters
    ----------
    document : mapping
        What the TOML file holds.
    name : str
    quick : bool
    base : path, optional
        Folder that names of data files start from.
    """
    document = _in_mode(document, "quick", quick)
    fields = Fields(name, "", document)
    title, about = fields.take("title", str), fields.take("about", str, "")
    seeds = fields.take("seeds", tuple[int, ...], (0,))
    if not seeds or min(seeds) < 0:
        raise fields.error(f"seeds must be whole numbers from 0, got {list(seeds)}", "give some")
    split = _split(fields.table("split"))
    grid = _grid(fields.table("grid"), base or Path())
    attacks = fields.take("attacks", tuple[float, ...], ())
    methods = [_method(entry, grid, quick) for entry in fields.tables("methods")]
    if not methods:
        raise fields.error("has no methods", "add [[methods]]")
    paper = [number for entry in fields.tables("paper") for number in _paper(entry)]
    table = fields.table("table")
    figures = [_figure(entry, grid) for entry in fields.tables("figures")]
    fields.close()
    experiment = Experiment(
        name,
        title,
        about,
        "quick" if quick else "full",
        seeds,
        split,
        grid,
        attacks,
        tuple(method for method in methods if method is not None),
        _table(table, grid) if document.get("table") else None,
        tuple(figures),
        tuple(paper),
    )
    _check_places(experiment, fields)
    return experiment


def _in_mode(document: Mapping[str, Any], name: str, wanted: bool) -> dict[str, Any]:
    """The document with the entries of a table in the place of its own, or without the table."""
    plain = {key: value for key, value in document.items() if key != name}
    changes = document.get(name, {})
    return _merged(plain, changes) if wanted and isinstance(changes, Mapping) else plain


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _split(fields: Fields) -> Split:
    split = fields.record(Split)
    if split.test >= 1 and split.test != int(split.test):
        raise fields.error(f"test must be a share or a whole number, got {split.test}", "mend it")
    if split.validation and split.test < 1 and split.test + split.validation >= 1:
        raise fields.error("test and validation leave nothing to train on", "take smaller shares")
    return split


def _grid(fields: Fields, base: Path) -> dict[str, list[Any]]:
    names = fields.take("data", tuple[str, ...])
    grid: dict[str, list[Any]] = {"data": [_data(fields, name, base) for name in names]}
    for axis, kind in {"hidden": str, "samples": int, "radius": float}.items():
        values = fields.take(axis, tuple[kind, ...], ())  # type: ignore[valid-type]
        if values:
            grid[axis] = list(values)
    fields.close()
    for text in grid.get("hidden", []):
        try:
            parse_hidden(text)
        except ValueError as error:
            raise fields.error(f"hidden has {text!r}", "write widths as in '50x50'") from error
    for axis in ("samples", "radius"):
        if min(grid.get(axis, [1])) < (1 if axis == "samples" else 0):
            raise fields.error(f"{axis} has a value that is too small", "raise it")
    if not grid["data"]:
        raise fields.error("data is empty", "name at least one data set")
    return grid


def _data(fields: Fields, name: str, base: Path) -> str:
    if name in datasets.names():
        return name
    path = (base / name).resolve()
    if not path.is_file():
        raise fields.error(
            f"there is no data set and no file {name!r}",
            f"give a CSV file or one of {', '.join(datasets.names())}",
        )
    return str(path)


def _method(fields: Fields, grid: Mapping[str, list[Any]], quick: bool) -> Method | None:
    values = _in_mode(fields.rest(), "quick", quick)
    fields = Fields(fields.source, fields.place, values)
    skip = fields.take("skip", bool, False)
    method = fields.record(Method)
    for axis, chosen in method.only.items():
        if axis not in grid or not isinstance(chosen, list):
            raise fields.error(f"only names {axis!r}", "give a list of values of an axis in [grid]")
    check_method(method, grid, fields)
    if quick:  # these fits end by themselves, so that they can be repeated
        method = replace(method, paper_share=None)
    return None if skip else method


def _paper(fields: Fields) -> list[PaperNumber]:
    method = fields.take("method", str)
    values = fields.rest()
    at = {axis: values.pop(axis) for axis in _AXES if axis in values}
    lists = [axis for axis, value in at.items() if isinstance(value, list)]
    if len(lists) > 1:
        raise fields.error("has two axes with lists", "write one [[paper]] per value of one")
    places = at.pop(lists[0]) if lists else [None]
    numbers = []
    for measure, found in values.items():
        _check_measure(measure, fields)
        row = found if lists else [found]
        if not isinstance(row, list) or len(row) != len(places):
            raise fields.error(f"{measure} must have {len(places)} numbers", "give one per value")
        for place, value in zip(places, row, strict=True):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise fields.error(f"{measure} holds {value!r}", "give numbers")
            here = {**at, lists[0]: place} if lists else dict(at)
            numbers.append(PaperNumber(here, method, measure, float(value)))
    return numbers


def _check_measure(name: str, fields: Fields) -> None:
    if find_measure(name) is None:
        raise fields.error(
            f"has an unknown measure {name!r}", f"use one of {', '.join(known_measures())}"
        )


def _table(fields: Fields, grid: Mapping[str, list[Any]]) -> Table:
    table = fields.record(Table)
    used = [*table.rows, *table.columns]
    wanted = {"method", "measure", *(axis for axis, values in grid.items() if len(values) > 1)}
    if len(used) != len(set(used)) or not set(used) <= set(_COORDINATES) or wanted - set(used):
        raise fields.error(
            f"must place each of {', '.join(sorted(wanted))} in rows or columns once", "mend it"
        )
    for measure in table.measures:
        _check_measure(measure, fields)
    return table


def _figure(fields: Fields, grid: Mapping[str, list[Any]]) -> Figure:
    figure = fields.record(Figure)
    is_curve = figure.x == "epoch"
    known = figure.y in CURVES if is_curve else find_measure(figure.y) is not None
    if not known or not (is_curve or figure.x in grid) or figure.panels not in grid:
        raise fields.error(
            f"cannot draw {figure.y!r} over {figure.x!r} in panels of {figure.panels!r}",
            f"use axes of [grid], and with epoch one of {', '.join(CURVES)}",
        )
    return figure


def _check_places(experiment: Experiment, fields: Fields) -> None:
    """Every cell must be made once, and every number of the paper must stand somewhere."""
    seen = set()
    for method, coordinates in experiment.places():
        place = (method.name, *coordinates.values())
        if place in seen:
            raise fields.error(
                f"the method {method.name!r} runs twice at {coordinates}", "use only"
            )
        seen.add(place)
    if experiment.mode == "quick":
        return
    answered = {method.paper for method in experiment.methods}
    for number in experiment.paper:
        away = [a for a, value in number.at.items() if value not in experiment.grid.get(a, [])]
        if away or number.method not in answered:
            what = f"{away[0]} {number.at[away[0]]!r}" if away else f"method {number.method!r}"
            raise fields.error(f"has a number of the paper for the unknown {what}", "mend it")
