"""What is measured in a cell, which way is better, and how it is written."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower", "equal"]

_STATISTICS = {"max": max, "min": min}
_ATTACK = "attack "


@dataclass(frozen=True)
class Measure:
    """A number per cell.

    Parameters
    ----------
    name : str
        As in results: ``accuracy``, ``seconds``, ...
    statistic : {"mean", "max", "min"}
        Over the seeds.
    better : {"higher", "lower", "equal"}
    is_accuracy : bool
        Whether it counts among the accuracy cells of the summary.
    digits : int
    """

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
CURVES = ("train_error", "validation_error", "epoch_seconds")


def find_measure(name: str) -> Measure | None:
    """The measure of a name, such as ``accuracy``, ``min accuracy`` or ``attack 0.1``."""
    head, _, tail = name.partition(" ")
    statistic = head if head in _STATISTICS and tail else "mean"
    simple = tail if statistic != "mean" else name
    if simple.startswith(_ATTACK):
        return Measure(simple, statistic, "higher", True, 1) if _is_number(simple) else None
    if simple not in _SIMPLE:
        return None
    return Measure(simple, statistic, *_SIMPLE[simple])


def attack_measure(level: float) -> str:
    """Name of the accuracy under random perturbations of a size."""
    return f"{_ATTACK}{level:g}"


def known_measures() -> tuple[str, ...]:
    """Names for messages."""
    return (*_SIMPLE, "attack LEVEL")


def _is_number(name: str) -> bool:
    try:
        return math.isfinite(float(name.removeprefix(_ATTACK)))
    except ValueError:
        return False
