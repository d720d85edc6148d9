"""What an experiment is: a grid of cells, the methods to run on them, the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

AXES = ("data", "hidden", "samples", "radius")
KINDS = ("bdnn", "dnn", "peer", "facts")


@dataclass(frozen=True)
class Split:
    """How samples are divided, with the seed of the cell.

    Parameters
    ----------
    test : float
        Share of the samples to test on, or their number.
    validation : float
        Share of all samples that chooses among networks.
    rows : int or None
        At most so many training samples.
    scale : {"none", "minmax"}
        What is done to the whole data set first; the paper's robust experiments use ``minmax``.
    """

    test: float
    validation: float = 0.0
    rows: int | None = None
    scale: str = "none"


@dataclass(frozen=True)
class Method:
    """A way to train, and whose numbers in the paper it is compared with.

    Parameters
    ----------
    name : str
        Its name in tables and figures.
    kind : {"bdnn", "dnn", "peer", "facts"}
    paper : str
        Name of the method in the paper's numbers; empty for none.
    counted : bool
        Whether its cells count in the summary: one method answers each of the paper's.
    only : mapping of axis to values
        Where it runs; everywhere by default.
    settings, options : mapping
        Of the estimator, and of its training method. One that is a table chooses by data set.
    seconds : float or None
        Time limit per fit.
    paper_share : float or None
        At most this share of the paper's seconds.
    typical : float
        Seconds that a cell takes on a usual machine, for estimates.
    """

    name: str
    kind: str
    paper: str
    counted: bool
    only: Mapping[str, list[Any]]
    settings: Mapping[str, Any]
    options: Mapping[str, Any]
    seconds: float | None
    paper_share: float | None
    typical: float

    def settings_for(self, data: str) -> dict[str, Any]:
        """Settings on a data set."""
        return _for_data(self.settings, data)

    def options_for(self, data: str) -> dict[str, Any]:
        """Options on a data set."""
        return _for_data(self.options, data)


def _for_data(entries: Mapping[str, Any], data: str) -> dict[str, Any]:
    chosen = {
        name: value.get(data, value.get("default")) if isinstance(value, Mapping) else value
        for name, value in entries.items()
    }
    return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class Table:
    """A pivot table: which coordinates make its rows and which its columns.

    Coordinates are the axes of the grid, ``method`` and ``measure``.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """Curves of a measure, one panel per value of a coordinate and one line per method.

    ``x`` is an axis of the grid, or ``epoch`` for measures that a method records per epoch.
    """

    title: str
    x: str
    y: str
    panels: str
    log: bool


@dataclass(frozen=True)
class PaperNumber:
    """A number that the paper prints: where it stands and what it is."""

    at: Mapping[str, Any]
    method: str
    measure: str
    value: float

    def is_at(self, coordinates: Mapping[str, Any]) -> bool:
        """Whether it belongs to a cell with these coordinates."""
        return all(coordinates.get(axis) == value for axis, value in self.at.items())


@dataclass(frozen=True)
class Experiment:
    """A table or figure to make again.

    Parameters
    ----------
    name, title, about : str
    mode : {"full", "quick"}
    seeds : tuple of int
    split : Split
    grid : mapping of axis to values
    attacks : tuple of float
        Sizes of random perturbations of the test samples.
    methods : tuple of Method
    table : Table or None
    figures : tuple of Figure
    paper : tuple of PaperNumber
    """

    name: str
    title: str
    about: str
    mode: str
    seeds: tuple[int, ...]
    split: Split
    grid: Mapping[str, list[Any]]
    attacks: tuple[float, ...]
    methods: tuple[Method, ...]
    table: Table | None
    figures: tuple[Figure, ...]
    paper: tuple[PaperNumber, ...]

    def places(self) -> Iterator[tuple[Method, dict[str, Any]]]:
        """Every method with the coordinates at which it runs."""
        for coordinates in _product(self.grid):
            for method in self.methods:
                if all(coordinates[axis] in values for axis, values in method.only.items()):
                    yield method, coordinates

    def paper_value(
        self, method: Method, coordinates: Mapping[str, Any], measure: str
    ) -> float | None:
        """The paper's number that a method is compared with."""
        for number in self.paper:
            same = number.method == method.paper and number.measure == measure
            if same and number.is_at(coordinates):
                return number.value
        return None


def _product(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))
