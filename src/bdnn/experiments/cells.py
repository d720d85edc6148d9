"""The cells of an experiment: one training run each, named by a hash of all that matters."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bdnn import __version__, datasets
from bdnn.experiments.experiment import Experiment, Method

# For methods that end by themselves.
_NO_LIMIT = 3600.0


@dataclass(frozen=True)
class Cell:
    """One training run.

    Parameters
    ----------
    work : mapping
        Everything that the result depends on, as plain data.
    label : str
        For people.
    typical : float
        Seconds it is expected to take.
    """

    work: Mapping[str, Any]
    label: str
    typical: float

    @property
    def key(self) -> str:
        """Hash of the work; equal cells of different experiments have the same."""
        return key_of(self.work)


def key_of(work: Mapping[str, Any]) -> str:
    """Hash of what a cell does."""
    text = json.dumps(work, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def make_cell(
    experiment: Experiment, method: Method, coordinates: Mapping[str, Any], seed: int
) -> Cell:
    """The cell of a method at a place of the grid."""
    data = coordinates["data"]
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
        "settings": method.settings_for(data),
        "options": method.options_for(data),
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
