"""Numbers: what is measured in a cell, and results beside the paper's, an entry per number."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bdnn.experiments.experiment import Experiment, Method, make_cell

Rows = Mapping[str, Mapping[str, Any]]
Better = Literal["higher", "lower", "equal"]

_STATISTICS = {"max": max, "min": min}
_ATTACK = "attack "


@dataclass(frozen=True)
class Measure:
    """A number per cell, its statistic over the seeds, and which values are better."""

    name: str
    statistic: str
    better: Better
    is_accuracy: bool
    digits: int

    def over(self, values: Sequence[float]) -> float:
        """The statistic of the values of all seeds."""
        return float(_STATISTICS.get(self.statistic, statistics.fmean)(values))

    def difference(self, ours: float, paper: float) -> float:
        """How much better ours is, both rounded as the paper rounds; negative if it is worse."""
        gained = round(ours, self.digits) - round(paper, self.digits)
        if self.better == "higher":
            return gained
        return 0.0 - gained if self.better == "lower" else 0.0 - abs(gained)

    def write(self, value: float | None) -> str:
        """A number as in tables."""
        if value is None or not math.isfinite(value):
            return "-"
        if self.name == "seconds":
            return f"{value:.3g}" if value < 100 else f"{value:.0f}"
        return f"{value:.{self.digits}f}"


_SIMPLE: dict[str, tuple[Better, bool, int]] = {
    "accuracy": ("higher", True, 1),
    "precision": ("higher", False, 1),
    "recall": ("higher", False, 1),
    "f1": ("higher", False, 1),
    "gap": ("lower", False, 2),
    "proven": ("higher", False, 0),
    "train_accuracy": ("higher", False, 1),
    "loss": ("lower", False, 1),
    "seconds": ("lower", False, 1),
    "instances": ("equal", False, 0),
    "attributes": ("equal", False, 0),
    "classes": ("equal", False, 0),
    "largest_class": ("equal", False, 1),
    "smallest_class": ("equal", False, 1),
}
_WORDS = {
    "hidden": "hidden layers",
    "radius": "defence",
    "f1": "F1",
    "seconds": "time (s)",
    "accuracy": "accuracy (%)",
    "max accuracy": "largest",
    "min accuracy": "smallest",
    "precision": "precision (%)",
    "recall": "recall (%)",
    "gap": "gap (%)",
    "proven": "proven (%)",
    "largest_class": "largest class (%)",
    "smallest_class": "smallest class (%)",
    "train_error": "training error (%)",
    "validation_error": "validation error (%)",
    "epoch_seconds": "seconds",
}
CURVES = ("train_error", "validation_error", "epoch_seconds")


def find_measure(name: str) -> Measure | None:
    """The measure of a name, such as ``accuracy``, ``min accuracy`` or ``attack 0.1``."""
    head, _, tail = name.partition(" ")
    statistic = head if head in _STATISTICS and tail else "mean"
    simple = tail if statistic != "mean" else name
    if re.fullmatch(rf"{_ATTACK}\d+(\.\d+)?(e-?\d+)?", simple):
        return Measure(simple, statistic, "higher", True, 1)
    return Measure(simple, statistic, *_SIMPLE[simple]) if simple in _SIMPLE else None


def attack_measure(level: float) -> str:
    """Name of the accuracy under random perturbations of a size."""
    return f"{_ATTACK}{level:g}"


def known_measures() -> tuple[str, ...]:
    """Names for messages."""
    return (*_SIMPLE, "attack LEVEL")


def word(name: str) -> str:
    """A name as people write it."""
    return _WORDS.get(name, name.replace("_", " "))


@dataclass(frozen=True)
class Entry:
    """A number of ours, None while there is no result, and the paper's.

    ``at`` holds the axes of the grid, ``method`` and ``measure``. The error is the standard error
    of the mean over the seeds, NaN for less than two or other statistics.
    """

    at: Mapping[str, Any]
    measure: Measure
    ours: float | None
    error: float
    found: int
    wanted: int
    paper: float | None
    counted: bool
    is_network: bool

    @property
    def difference(self) -> float | None:
        """How much better than the paper, negative where worse; None without one of the two."""
        if self.ours is None or self.paper is None:
            return None
        return round(self.measure.difference(self.ours, self.paper), self.measure.digits)

    @property
    def ratio(self) -> float | None:
        """How many times faster than the paper, for seconds."""
        if self.measure.name != "seconds" or not self.ours or not self.paper:
            return None
        return self.paper / self.ours

    @property
    def text(self) -> str:
        """Our number as in tables; a mean has its standard error with it."""
        ours = self.measure.write(self.ours)
        return f"{ours} ± {self.error:.2g}" if math.isfinite(self.error) else ours

    @property
    def badge(self) -> str:
        """The ratio or difference as in tables, ▲ at or above the paper and ▼ below."""
        if self.ratio is not None:
            return f"{self.ratio:.0f}x" if self.ratio >= 10 else f"{self.ratio:.2g}x"
        if self.difference is None or self.measure.name == "seconds":
            return ""
        sign = "▲" if self.difference >= 0 else "▼"
        return f"{sign}{abs(self.difference):.{self.measure.digits}f}"


def entries(experiment: Experiment, rows: Rows) -> list[Entry]:
    """Every number of an experiment's table."""
    if experiment.table is None:
        return []
    return [
        _entry(experiment, method, coordinates, name, rows)
        for method, coordinates in experiment.places()
        for name in experiment.table.measures
    ]


def seed_rows(
    experiment: Experiment, method: Method, coordinates: Mapping[str, Any], rows: Rows
) -> list[Mapping[str, Any]]:
    """Results of a method at a place that are there, seed by seed."""
    keys = [make_cell(experiment, method, coordinates, seed).key for seed in experiment.seeds]
    return [rows[key] for key in keys if key in rows and rows[key]["status"] == "done"]


def _entry(
    experiment: Experiment, method: Method, coordinates: Mapping[str, Any], name: str, rows: Rows
) -> Entry:
    measure = find_measure(name)
    assert measure is not None
    found = seed_rows(experiment, method, coordinates, rows)
    values = [row["measures"][measure.name] for row in found if measure.name in row["measures"]]
    error = math.nan
    if len(values) > 1 and measure.statistic == "mean":
        error = statistics.stdev(values) / math.sqrt(len(values))
    return Entry(
        {**shown(coordinates), "method": method.name, "measure": name},
        measure,
        measure.over(values) if values else None,
        error,
        len(values),
        len(experiment.seeds),
        experiment.paper_value(method, coordinates, name),
        method.counted,
        method.kind == "bdnn",
    )


def shown(coordinates: Mapping[str, Any]) -> dict[str, str]:
    """Coordinates as text; of a data file its name."""
    text = {axis: str(value) for axis, value in coordinates.items()}
    return {**text, "data": Path(text["data"]).stem}


@dataclass(frozen=True)
class Score:
    """How many numbers are at or above the paper's."""

    reached: int
    total: int

    def __str__(self) -> str:
        share = f" ({100 * self.reached / self.total:.1f} %)" if self.total else ""
        return f"{self.reached} of {self.total}{share}"

    @classmethod
    def of(cls, compared: Iterable[Entry]) -> Score:
        """Count."""
        differences = [entry.difference for entry in compared]
        return cls(sum(d is not None and d >= 0 for d in differences), len(differences))


@dataclass(frozen=True)
class Summary:
    """What all tables say together: cells at or above the paper, and how much faster.

    Others are precision, recall, F1, gaps and facts. The speed-up is the median of the paper's
    seconds over ours for binarized networks, and numbers of the paper without a result are missing.
    """

    accuracy: Score
    networks: Score
    dnn: Score
    other: Score
    speedup: float
    missing: int


def summarise(listed: Iterable[Entry]) -> Summary:
    """Count the cells of the methods that answer the paper's."""
    counted = [entry for entry in listed if entry.counted and entry.paper is not None]
    compared = [entry for entry in counted if entry.difference is not None]
    accuracy = [entry for entry in compared if entry.measure.is_accuracy]
    seconds = [entry for entry in compared if entry.measure.name == "seconds"]
    other = [entry for entry in compared if entry not in accuracy and entry not in seconds]
    ratios = [entry.ratio for entry in seconds if entry.is_network and entry.ratio is not None]
    return Summary(
        Score.of(accuracy),
        Score.of(entry for entry in accuracy if entry.is_network),
        Score.of(entry for entry in accuracy if not entry.is_network),
        Score.of(other),
        statistics.median(ratios) if ratios else math.nan,
        len(counted) - len(compared),
    )


def below_paper(listed: Iterable[Entry]) -> list[Entry]:
    """Accuracy cells below the paper, those that count."""
    return [
        entry
        for entry in listed
        if entry.counted and entry.measure.is_accuracy and (entry.difference or 0) < 0
    ]
