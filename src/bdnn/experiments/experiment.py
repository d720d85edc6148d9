"""What an experiment is: methods on a grid, the paper's numbers, and one cell per training run."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from bdnn import __version__, datasets
from bdnn.experiments.fields import Share

Axis = Literal["data", "hidden", "samples", "radius"]
# For methods that end by themselves.
_NO_LIMIT = 3600.0


@dataclass(frozen=True)
class Split:
    """How samples are divided, with the seed of the cell.

    Samples to test on are a share or a number, those for validation a share of all, and ``rows`` is
    the most training samples. With ``minmax`` the whole data set is scaled first, as in the paper's
    robust experiments.
    """

    test: float = 0.25
    validation: Share = 0.0
    rows: int | None = None
    scale: Literal["none", "minmax"] = "none"


@dataclass(frozen=True)
class Method:
    """A way to train, and whose numbers in the paper it is compared with.

    ``only`` says where it runs, everywhere by default. Settings are those of the estimator, options
    those of its training method; one that is a table chooses by data set. A fit has its seconds,
    and at most a share of the paper's. ``typical`` are the seconds of a cell on a usual machine.
    One method that is counted answers each of the paper's.
    """

    name: str
    kind: Literal["bdnn", "dnn", "peer", "facts"] = "bdnn"
    paper: str = ""
    counted: bool = True
    only: Mapping[str, list[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    paper_share: float | None = None
    typical: float = 1.0

    def on(self, data: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings and options on a data set."""
        return _chosen(self.settings, data), _chosen(self.options, data)


def _chosen(entries: Mapping[str, Any], data: str) -> dict[str, Any]:
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
    x: Literal["samples", "radius", "epoch"]
    y: str
    panels: Axis = "data"
    log: bool = False


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
    """A table or figure to make again, in full or quick mode.

    Attacks are sizes of random perturbations of the test samples.
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

    def first(self, seeds: int | None) -> Experiment:
        """The same with so many of its seeds, all of them by default."""
        return replace(self, seeds=self.seeds[:seeds])

    def places(self) -> Iterator[tuple[Method, dict[str, Any]]]:
        """Every method with the coordinates at which it runs."""
        for values in product(*self.grid.values()):
            coordinates = dict(zip(self.grid, values, strict=True))
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


@dataclass(frozen=True)
class Cell:
    """One training run: all that its result depends on, a label for people, typical seconds."""

    work: Mapping[str, Any]
    label: str
    typical: float

    @property
    def key(self) -> str:
        """Hash of the work; equal cells of different experiments have the same."""
        text = json.dumps(self.work, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def make_cell(
    experiment: Experiment, method: Method, coordinates: Mapping[str, Any], seed: int
) -> Cell:
    """The cell of a method at a place of the grid."""
    data = coordinates["data"]
    settings, options = method.on(data)
    limit = method.seconds or _NO_LIMIT
    paper = experiment.paper_value(method, coordinates, "seconds")
    if method.paper_share is not None and paper is not None:
        limit = min(limit, method.paper_share * paper)
    if "samples" not in coordinates and "radius" not in coordinates:
        shown = [Path(data).stem, coordinates.get("hidden", "")]
    else:
        shown = [Path(data).stem, *map(str, list(coordinates.values())[1:])]
    work = {
        "bdnn": __version__,
        "kind": method.kind,
        "data": data,
        "fingerprint": _fingerprint(data),
        "hidden": coordinates.get("hidden"),
        "samples": coordinates.get("samples"),
        "radius": coordinates.get("radius"),
        "split": asdict(experiment.split),
        "attacks": list(experiment.attacks),
        "settings": settings,
        "options": options,
        "seconds": limit if method.kind == "bdnn" else None,
        "seed": seed,
    }
    label = " ".join([*filter(None, shown), method.name, f"seed {seed}"])
    return Cell(work, label, method.typical)


def plan(experiments: Iterable[Experiment]) -> dict[str, Cell]:
    """All cells of experiments by key, each once; seeds vary slowest.

    A run that is stopped early then has something of every table.
    """
    cells: dict[str, Cell] = {}
    listed = list(experiments)
    for number in range(max((len(entry.seeds) for entry in listed), default=0)):
        for experiment in listed:
            if number >= len(experiment.seeds):
                continue
            for method, coordinates in experiment.places():
                cell = make_cell(experiment, method, coordinates, experiment.seeds[number])
                cells.setdefault(cell.key, cell)
    return cells


def estimated_seconds(cells: Iterable[Cell], jobs: int) -> float:
    """Time that cells will take, side by side."""
    listed = list(cells)
    longest = max((cell.typical for cell in listed), default=0.0)
    return max(longest, math.fsum(cell.typical for cell in listed) / max(1, jobs))


@cache
def _fingerprint(data: str) -> str:
    """Hash of a user's file; a built-in data set has its name."""
    if data in datasets.names():
        return ""
    return hashlib.sha256(Path(data).read_bytes()).hexdigest()[:16]
