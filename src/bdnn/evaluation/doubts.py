"""Reasons not to trust figures: overfitting, leaks, rare classes, rows on both sides of a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bdnn.evaluation.assessment import Assessment, Part
from bdnn.evaluation.figures import ClassFigures, Figures
from bdnn.evaluation.leaks import Leak
from bdnn.model_file.data import is_among
from bdnn.network.activation import BoolArray, FloatArray

DoubtKind = Literal["leak", "overfitting", "majority", "imbalance", "duplicates"]

# A lead of the rows trained on that matters, and standard errors that it has to be.
_LEAD, _CERTAIN = 0.05, 3.0
# A class is rare if it has less than this part of an equal share of the rows.
_RARE = 0.2
# Share of the judged rows from which on equal rows among the trained ones are told.
_EQUAL = 0.01


@dataclass(frozen=True)
class Doubt:
    """One reason, in a sentence without its full stop."""

    kind: DoubtKind
    text: str
    column: str = ""


def find_doubts(
    found: Assessment,
    leaks: Sequence[Leak],
    codes: FloatArray,
    parts: Sequence[Part],
    *,
    is_weighted: bool = False,
) -> list[Doubt]:
    """Reasons to doubt figures, the gravest first.

    Parameters
    ----------
    found : Assessment
    leaks : sequence of Leak
    codes : array of shape (n_rows, n_columns)
    parts : sequence of pairs of arrays of int
        Rows trained on and rows judged by.
    is_weighted : bool
        Whether classes were weighted in training. Accuracy is given away for that, so that the
        majority is no rival.
    """
    doubts = [Doubt("leak", f"{leak}; leave it out (drop)", leak.column) for leak in leaks]
    doubts += _overfitting(found)
    if isinstance(found.figures, Figures):
        doubts += [] if is_weighted else _no_better(found, found.figures)
        doubts += _rare(found.figures)
    return doubts + _duplicates(found, codes, parts)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _overfitting(found: Assessment) -> list[Doubt]:
    score, error = found.score, found.figures.error
    if found.trained is None or score is None or error is None:
        return []
    lead = found.trained - score
    if lead <= max(_LEAD, _CERTAIN * error):
        return []
    what = "accuracy" if isinstance(found.figures, Figures) else "R2"
    write = _percent if what == "accuracy" else "{:.3g}".format
    text = (
        f"overfitting: {what} is {write(found.trained)} on the rows trained on and only "
        f"{write(score)} on others"
    )
    return [Doubt("overfitting", text)]


def _no_better(found: Assessment, figures: Figures) -> list[Doubt]:
    rows = [each.rows for each in figures.classes]
    most = max(figures.classes, key=lambda each: each.rows)
    majority = next((rival for rival in found.rivals if rival.lead is not None), None)
    if majority is None or majority.lead is None or majority.lead_error is None:
        return []
    if majority.lead > majority.lead_error:
        return []
    share = _percent(max(rows) / sum(rows))
    return [Doubt("majority", f"no better than always saying {most.label!r}, right in {share}")]


def _rare(figures: Figures) -> list[Doubt]:
    total, n_classes = figures.rows, len(figures.classes)
    rare = [each for each in figures.classes if 0 < each.rows < _RARE * total / n_classes]
    if not rare:
        return []
    worst: ClassFigures = min(rare, key=lambda each: each.recall)
    found = f"{_percent(worst.recall)} +- {_percent(worst.recall_error)}"
    text = (
        f"class {worst.label!r} is rare, {worst.rows} of {total} rows, and {found} of it is found: "
        "look at precision and recall and not at accuracy"
    )
    return [Doubt("imbalance", text)]


def _duplicates(found: Assessment, codes: FloatArray, parts: Sequence[Part]) -> list[Doubt]:
    among = [is_among(codes[judged], codes[trained]) for trained, judged in parts]
    is_equal: BoolArray = np.concatenate([np.zeros(0, bool), *among])
    count, total = int(is_equal.sum()), len(is_equal)
    if count < _EQUAL * total or not count:
        return []
    text = f"{count} of {total} {found.origin} are equal to rows that were trained on"
    if len(found.is_right) == total and count < total:
        text += f"; accuracy without them is {_percent(float(found.is_right[~is_equal].mean()))}"
    return [Doubt("duplicates", text)]
