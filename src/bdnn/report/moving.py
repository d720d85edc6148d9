"""What happens where raw values change: importances, and how far rows are safe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.errors import BDNNError
from bdnn.evaluation.importance import importances
from bdnn.report.charts import Panel, draw
from bdnn.report.drawings import draw_bars
from bdnn.report.html import Html, figure, joined, table, tag
from bdnn.report.subject import LabelledRows, Subject
from bdnn.robustness import PerturbationSet, certify

_MOST_COLUMNS, _MOST_ROWS, _MOST_POINTS = 15, 300, 60


def _which(rows: LabelledRows) -> str:
    """The rows that are looked at."""
    is_cut = len(rows.codes) > _MOST_ROWS
    return f"The first {_MOST_ROWS} of {rows.name}" if is_cut else rows.name


def important(subject: Subject) -> Html | None:
    """Columns by how often another value changes the answer."""
    rows = subject.rows
    if rows is None:
        return None
    y = None if subject.is_number else rows.y
    found = importances(subject.model, rows.codes[:_MOST_ROWS], y if y is None else y[:_MOST_ROWS])
    moving = [each for each in found if each.flips]
    told = [
        (e.column, e.flips, f"{e.flips:.4g}" if subject.is_number else f"{100 * e.flips:.1f} %")
        for e in moving[:_MOST_COLUMNS]
    ]
    what = "by how much answers move" if subject.is_number else "how often the answer changes"
    title = f"Another value of the column: {what}"
    numbers = table(["column", what], [[name, text] for name, _, text in told])
    note = f"{_which(rows)}; a row gets each value of the column."
    left = len(found) - len(moving)
    if left:
        note += f" Of {left} columns no value changes an answer."
    parts = [tag("p", note)]
    return joined([*parts, figure(draw_bars(told, title), title, numbers)] if told else parts)


def safe(subject: Subject) -> Html | None:
    """Certified accuracy against the radius, and the rows that the shortest moves change."""
    rows = subject.rows
    if rows is None or subject.is_number:
        return None
    X, y = rows.codes[:_MOST_ROWS], rows.y[:_MOST_ROWS]
    try:
        found = certify(PerturbationSet.create(subject.model, X, y))
        levels, accuracy = found.curve()
        at_risk = [
            str(replace(each, row=int(rows.places[each.row]) + 1)) for each in found.at_risk()
        ]
    except BDNNError as problem:
        return tag("p", str(problem))
    kept = np.unique(np.linspace(0, len(levels) - 1, _MOST_POINTS).astype(int))
    points = [(float(levels[k]), float(accuracy[k])) for k in kept]
    title = "Certified accuracy: rows that are right whatever moves by up to the radius"
    drawing = draw(
        [Panel("", {"certified": points})],
        x_label="radius (scaled units, each value)",
        y_label="accuracy",
        title=title,
    )
    numbers = table(["radius", "certified accuracy"], [[f"{a:.4g}", f"{b:.4g}"] for a, b in points])
    return joined(
        [
            tag("p", f"{_which(rows)}. {found.sentence}"),
            figure(drawing, title, numbers),
            tag("h3", "Rows most at risk"),
            tag("p", "Rows of the table are counted from 1."),
            tag("ul", *(tag("li", text) for text in at_risk)),
        ]
    )
