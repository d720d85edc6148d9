"""What was found about rows, in words: one sentence, and the rows that are most at risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.encoding.columns import number_text
from bdnn.network.activation import FloatArray
from bdnn.robustness.perturbation import PerturbationSet

# Numbers of more columns are rounded: nobody reads all of their digits.
_MOST_EXACT = 3
# A number that is this near to a short one is told by its side.
_NEAR = 1e-9


@dataclass(frozen=True)
class RowAtRisk:
    """A row whose class a short move changes.

    Attributes
    ----------
    row : int
        Counted from 0.
    safe : float
        No shorter move changes the class.
    distance : float
        Length of the move to the counter-example, infinite if none is known.
    changes : dict
        Names of the columns that move, with the raw value before and after; None is missing.
    label, becomes : class labels
        The predicted class, and that of the counter-example.
    """

    row: int
    safe: float
    distance: float
    changes: dict[str, tuple[float | str | None, float | str | None]]
    label: object
    becomes: object

    def __str__(self) -> str:
        if not self.changes:
            safe = f"safe up to {self.safe:.4g}" if self.safe else "no radius is certified"
            return f"row {self.row}: {safe}, no counter-example known"
        is_rounded = len(self.changes) > _MOST_EXACT
        moves = ", ".join(
            f"{name} {_shown(before, is_rounded)} -> {_shown(after, is_rounded)}"
            for name, (before, after) in self.changes.items()
        )
        text = f"row {self.row}: {self.label} becomes {self.becomes} with {moves}"
        return f"{text} (rounded)" if is_rounded else text


def sentence(around: PerturbationSet, kept: int, broken: int | None, radius: FloatArray) -> str:
    """How many rows keep their class within a radius; with ``broken`` the others are told apart."""
    n = len(around.X)
    rows = "row" if n == 1 else "rows"
    verb = "keeps its" if n == 1 else "keep their"
    text = f"{kept} of {n} {rows} {verb} class {moves_text(around, radius)}"
    if broken is not None:
        left = n - kept - broken
        text += f"; {broken} {'does' if broken == 1 else 'do'} not"
        text += f", and {left} {'is' if left == 1 else 'are'} open" if left else ""
    return f"{text}."


def moves_text(around: PerturbationSet, radius: FloatArray) -> str:
    """What perturbations may do, such as ``whatever moves by up to 0.05 (scaled units)``."""
    sizes = np.unique(radius)
    size = float(sizes[-1]) if len(sizes) else 0.0
    how = {"linf": "", "l1": " in total", "l2": " by Euclidean distance"}[around.norm]
    if not isinstance(around.units, str):
        lengths = ", ".join(
            f"{name} {'' if first else 'moves '}by up to {size * reach:.6g}"
            for first, (name, reach) in enumerate(_moving(around))
        )
        return f"however {lengths}{how}" if lengths else "as long as nothing moves"
    what = f"up to {size:.6g}" if len(sizes) < 2 else "up to its radius"
    return f"whatever moves by {what}{how} ({around.units} units)"


def rows_at_risk(
    around: PerturbationSet, safe: FloatArray, X: FloatArray, lengths: FloatArray, most: int
) -> list[RowAtRisk]:
    """The rows that the shortest moves change, nearest first."""
    order = np.lexsort([safe, lengths])[:most]
    names, classes = around.model.feature_names, around.model.labels
    before, after = around.scaler.cells(around.X[order]), around.scaler.cells(X[order])
    become = around.predict(np.where(np.isfinite(lengths)[:, None], X, around.X)[order])
    found = []
    for place, i in enumerate(order.tolist()):
        is_known = bool(np.isfinite(lengths[i]))
        pairs = zip(names, before[place], after[place], strict=True)
        changes = {name: (_cell(a), _cell(b)) for name, a, b in pairs if is_known and a != b}
        own, other = around.classes[i], become[place]
        label, becomes = (classes[k] if len(classes) else k for k in (own, other))
        found.append(RowAtRisk(i, float(safe[i]), float(lengths[i]), changes, label, becomes))
    return found


def _moving(around: PerturbationSet) -> list[tuple[str, float]]:
    """Columns that may move, and the length of each."""
    pairs = zip(around.model.feature_names, around.units, strict=True)
    return [(name, reach) for name, reach in pairs if isinstance(reach, float) and reach]


def _cell(cell: float | str) -> float | str | None:
    return None if cell == "" else cell


def _shown(value: float | str | None, is_rounded: bool) -> str:
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value
    return f"{value:.6g}" if is_rounded else short_number(value)


def short_number(value: float) -> str:
    """Six digits where they say the number, or on which side of them it is; else all of it."""
    text = f"{value:.6g}"
    rounded = float(text)
    if rounded == value:
        return text
    if abs(rounded - value) <= _NEAR * abs(value):
        return f"just {'below' if value < rounded else 'above'} {text}"
    return number_text(value)
